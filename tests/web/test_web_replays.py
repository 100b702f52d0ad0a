"""The replay page in a real browser."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import Page, Route

from samedeal import codec
from samedeal.replays.replay import read
from samedeal.wire import messages as m
from support.browser import IN_BROWSER, Tab, give_name, open_row, resign, solo, window
from support.forged_replays import altered, forged, played
from support.servers import Server, begin_together, racers, resign_all
from support.vectors import WINS
from support.waiting import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@window(1024, 768)
async def test_replay_seeks_to_a_linked_move_and_by_scrubber(server: Server, page: Page) -> None:
    race_id = solo(server, "corners")
    moves = WINS["corners"]["moves"]
    async with racers(server, "bo") as (bo,):
        await bo.begin(race_id)
        for move in moves:
            await bo.move(move)
    await server.replay(race_id)
    await page.goto(f"{server.url}/replay/{race_id}#m12")
    await page.wait_for_selector(f"text=/move 12 of {len(moves)}: 5♥/")
    await page.keyboard.press("ArrowRight")
    await page.wait_for_selector("text=/move 13 of/")
    assert page.url.endswith("#m13")
    await page.press(".scrubber", "End")
    await page.wait_for_selector(f"text=/move {len(moves)} of/")
    assert "48/48" in await page.inner_text(".boards figcaption")
    box = await page.locator(".scrubber").bounding_box()
    assert box
    await page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    await page.wait_for_selector("text=The deal")
    await page.evaluate("location.hash = '#m3'")
    await page.wait_for_selector("text=/move 3 of/")
    await page.wait_for_selector("text=Verified ✓ Every move")
    await page.click("button:text-is('Play')")
    await page.wait_for_selector(f"text=/move {len(moves)} of/")


@window(1024, 768)
async def test_keys_outside_the_player_keep_their_meaning(server: Server, page: Page) -> None:
    race_id = solo(server, "corners")
    async with racers(server, "bo") as (bo,):
        await bo.begin(race_id)
        await bo.move(WINS["corners"]["moves"][0])
        await bo.ask(m.Resign)
    await server.replay(race_id)
    await page.goto(f"{server.url}/replay/{race_id}")
    await page.wait_for_selector(".checks .verdict")
    await page.press("#skip", "Space")
    assert not await page.is_checked("#skip")
    assert await page.inner_text(".player .first") == "Play"
    await page.evaluate("document.activeElement.blur()")

    async def scrolls(key: str, to: str) -> bool:
        await page.keyboard.press(key)
        return bool(await page.evaluate(to))

    # More than once: content that arrives above while a browser scrolls moves the end of its scrolling.
    await until(lambda: scrolls("End", "scrollY > 0"))
    assert await page.inner_text(".player .note") == "The deal"
    await until(lambda: scrolls("Home", "scrollY === 0"))


async def both_outcomes(page: Page) -> dict[str, str]:
    """Return the outcome of each check on the page."""
    await page.wait_for_selector(".checks .verdict")
    lines = await page.locator(".checks > p").all_inner_texts()
    return dict(line.split(": ", 1) for line in lines if line.startswith("Checked by "))


async def serve_replay(page: Page, race_id: str, content: bytes) -> None:
    """Let the page get another replay of a race."""

    async def send(route: Route) -> None:
        await route.fulfill(body=content, content_type="application/json")

    await page.route(f"**/api/v1/replays/{race_id}.json", send)


@pytest.mark.parametrize("kind", ["true", "altered", "forged"])
async def test_browser_and_server_verify_the_replay(kind: str, server: Server, page: Page) -> None:
    replay = await played(server, "the-edge", filter="certified/1" if kind == "true" else "any")
    n, other = altered(replay)
    content, label, verdict = {
        "true": (codec.encode(replay, "json"), "genuine, signed by this server", "Verified ✓ Every move"),
        "altered": (json.dumps(other).encode(), "not genuine", "Verification failed ✗"),
        "forged": (
            codec.encode(forged(replay), "json"),
            "consistent, but signed with an unknown key",
            "Not signed with a key of this server ✗",
        ),
    }[kind]
    await serve_replay(page, replay.header.race, content)
    await page.goto(f"{server.url}/replay/{replay.header.race}")
    assert await both_outcomes(page) == {
        "Checked by your browser, not by us": label,
        "Checked by this server": label,
    }
    assert verdict in await page.inner_text(".checks .verdict")
    text = await page.locator(".checks").text_content() or ""
    assert ("✓ key this server publishes the key" in text) is (kind != "forged")
    assert (f"✗ moves entry {n}" in text) is (kind == "altered")
    assert "do not agree" not in text


async def test_contradicting_checks_are_pointed_out(server: Server, page: Page) -> None:
    replay = await played(server, "gallery")
    failed = {"name": "moves", "holds": False, "entry": 3, "note": "no"}
    answer: dict[str, Any] = {"ok": False, "outcome": "refused", "facts": [failed]}

    async def send(route: Route) -> None:
        await route.fulfill(json=answer)

    await page.route("**/api/v1/verify", send)
    await page.goto(f"{server.url}/replay/{replay.header.race}")
    assert await both_outcomes(page) == {
        "Checked by your browser, not by us": "genuine, signed by this server",
        "Checked by this server": "not genuine",
    }
    assert await page.locator("text=Your browser and this server do not agree").count() == 1
    assert await page.locator(".verdict.good").count() == 0


async def test_browser_verifies_while_the_server_refuses_to(server: Server, page: Page, tab: Tab) -> None:
    tab.refusals = {413}
    replay = await played(server, "gallery")

    async def refuse(route: Route) -> None:
        await route.fulfill(status=413, json={"code": "too-large", "detail": "It takes too long."})

    await page.route("**/api/v1/verify", refuse)
    await page.goto(f"{server.url}/replay/{replay.header.race}")
    assert await both_outcomes(page) == {
        "Checked by your browser, not by us": "genuine, signed by this server",
        "Checked by this server": "It takes too long.",
    }
    assert "Verified ✓ Every move" in await page.inner_text(".checks .verdict")


async def test_signature_is_checked_by_the_server_only(server: Server, page: Page) -> None:
    replay = await played(server, "corners")

    async def without_signatures(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, body=f"delete Crypto.prototype.subtle;\n{await response.text()}")

    await page.route("**/verifier_worker.js", without_signatures)
    await page.goto(f"{server.url}/replay/{replay.header.race}")
    assert await both_outcomes(page) == {
        "Checked by your browser, not by us": "not checked: signature",
        "Checked by this server": "genuine, signed by this server",
    }
    text = await page.inner_text(".checks")
    assert "Verified ✓ by this server, but not completely by your browser." in text
    assert "Your browser checked everything except the signature, for which it is too old." in text
    assert "This server says that the signature is genuine." in text


async def test_rewritten_race_contradicts_the_digests_of_a_spectator(server: Server, page: Page) -> None:
    race_id = solo(server, "corners")

    async def rewrite(route: Route) -> None:
        response = await route.fetch()
        body = await response.body()
        await route.fulfill(response=response, body=codec.encode(forged(read(body)), "json") if response.ok else body)

    async with racers(server, "bo") as (bo,):
        await page.route(f"**/api/v1/replays/{race_id}.json", rewrite)
        await page.goto(f"{server.url}/w/{race_id}")
        await page.wait_for_selector("text=You are watching")
        await bo.begin(race_id)
        await bo.move((bo.board.moves or [])[0])
        await bo.ask(m.Resign)
        outcomes = await both_outcomes(page)
        assert outcomes["Checked by your browser, not by us"] == "not genuine"
        assert re.search(r"✗ receipts entry \d+", await page.locator(".checks").text_content() or "")
        assert outcomes["Checked by this server"] == "consistent, but signed with an unknown key"
        assert "Verification failed ✗" in await page.inner_text(".checks .verdict")


@window(1024, 768)
async def test_replay_page_opens_a_race_against_its_racers(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="225", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        await begin_together(race_id, players)
        await players[0].ask(m.Move, move="r2", ply=0)
        await resign_all(players)
    await server.replay(race_id)
    await page.goto(f"{server.url}/replay/{race_id}")
    await page.click("button:text-is('Race against this')")
    await page.wait_for_selector(".start:has-text('You race the ghosts of')")
    await give_name(page, "cy")
    await page.wait_for_selector(".ghosts li:has-text('ada'):has-text('1/48'):has-text('resigned')")
    assert await page.locator(".side ol.standings li").all_inner_texts() != []
    assert await page.locator("ol.standings", has_text="ada").count() == 0
    assert await page.locator(".ghosts li").count() == 2
    await resign(page)
    await open_row(page, "Scores")
    await page.wait_for_selector(".end .ghosts")
    assert await page.locator(".end .ghosts li").count() == 2
