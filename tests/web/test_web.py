"""The page in a real browser: races by tap, by key and by drag, watched, replayed, and fit for everybody."""

import re
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from support.browser import (
    BROWSER,
    WINS,
    browser,
    dealt,
    made,
    neighbours,
    opened,
    overflow,
    seated,
    tab,
    tap,
    tap_all,
    taps,
    walk,
)
from support.servers import Server, racers

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no browser is installed (chromium)"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.asyncio(loop_scope="module"),
]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
SIZES = ((320, 568), (390, 844), (768, 1024), (1440, 900))
BOXES = "[...document.querySelectorAll('.pile, .keys button')].filter((one) => !one.hidden)"
BOXES += ".map((one) => one.getBoundingClientRect().toJSON())"
MAX_BYTES = 150_000
SOLO: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(data_dir=tmp_path_factory.mktemp("page")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with browser() as running:
        yield running


def solo(server: Server, slug: str, **options: Any) -> str:
    """A race of one on the deal of the recorded win."""
    return server.create(slug, seed=WINS[slug]["seed"], **SOLO | options)


async def serious(page: Page) -> list[str]:
    """What axe finds on a page that keeps people out."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE)
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {fault['help']}: {[node['html'][:160] for node in fault['nodes'][:3]]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


# Whole races.


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_a_whole_race_is_won_by_tapping(slug: str, server: Server, chromium: Browser) -> None:
    race = solo(server, slug)
    async with opened(chromium) as watched:
        await seated(watched.page, server, race)
        await dealt(watched.page)
        await tap_all(watched.page, WINS[slug]["moves"])
        await watched.page.wait_for_selector("text=/Won in /")
        await watched.page.wait_for_selector("text=Verified: every move")
        assert not watched.faults
        assert not watched.foreign(server)
    replay = await server.replay(race)
    assert replay.standings[0].outcome == "won"


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_a_whole_race_is_won_by_keyboard(slug: str, server: Server, chromium: Browser) -> None:
    race = solo(server, slug)
    async with opened(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/r/{race}")
        await page.wait_for_selector("#name:focus")
        await page.keyboard.type("ada")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#ready")
        await page.focus("#ready")
        await page.keyboard.press("Enter")
        await dealt(page)
        moves, ways = WINS[slug]["moves"], await neighbours(page)
        for ply, move in enumerate(moves, start=1):
            if move in ("draw", "deal", "redeal"):
                await page.keyboard.press("d")
            else:
                for place in taps(move):
                    ways = await walk(page, place, ways)
                    await page.keyboard.press("Enter")
                await page.keyboard.press("m")  # does nothing unless there are two ways to go on
            if ply < len(moves):
                await made(page, ply)
        await page.wait_for_selector("text=/Won in /")
        assert not watched.faults


# Tables.


async def test_a_card_is_dragged_and_one_dragged_amiss_goes_back(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium, 1024, 768) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        source, target = taps(WINS["corner-stones"]["moves"][0])
        await drag(page, source, "u1" if target != "u1" else "u2")
        await page.wait_for_selector(f"#status:text('{source} cannot go to')")
        await drag(page, source, target)
        await made(page, 1)
        assert not watched.faults


async def drag(page: Page, source: str, target: str) -> None:
    await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished))")
    card = page.locator(f'[data-place="{source}"] .card').last
    start, end = await card.bounding_box(), await page.locator(f'[data-place="{target}"]').bounding_box()
    assert start
    assert end
    await page.mouse.move(start["x"] + 15, start["y"] + 15)
    await page.mouse.down()
    await page.mouse.move(start["x"] + 30, start["y"] + 30, steps=3)
    await page.mouse.move(end["x"] + 15, end["y"] + 15, steps=5)
    await page.mouse.up()


async def test_a_double_tap_sends_a_card_home(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium) as watched:
        await seated(watched.page, server, race)
        await dealt(watched.page)
        source, _ = taps(WINS["corner-stones"]["moves"][0])
        await tap(watched.page, source)
        await tap(watched.page, source)
        await made(watched.page, 1)


async def test_undo_and_restart_and_a_refusal_in_words(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    first, *_ = WINS["corner-stones"]["moves"]
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, [first])
        await made(page, 1)
        await page.click("button:text-is('Undo')")
        await made(page, 2)
        await tap_all(page, [first], first=2)
        await made(page, 3)
        await page.click("text=Restart")
        await page.click("dialog >> text=No")
        await page.click("text=Restart")
        await page.click("dialog >> text=Yes")
        await made(page, 4)
        assert "attempt 2" in await page.inner_text(".rail")
        # What the page does not offer, the server refuses, and the page says why.
        await tap(page, "u1")
        assert "cannot move" in await page.inner_text("#status")


# Coming and going.


async def test_a_reload_in_the_middle_finds_the_table_as_it_was(server: Server, chromium: Browser) -> None:
    race = solo(server, "gallery")
    moves = WINS["gallery"]["moves"]
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, moves[:6])
        await made(page, 6)
        await page.reload()
        await page.wait_for_selector('.table[data-ply="6"]')
        await tap_all(page, moves[6:9], first=6)
        await made(page, 9)
        assert not watched.faults


async def test_a_second_tab_takes_the_seat_and_the_first_says_so(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as first:
        await seated(first.page, server, race)
        await dealt(first.page)
        second = await tab(first.page.context)
        await second.page.goto(f"{server.url}/r/{race}")
        await dealt(second.page)
        await first.page.wait_for_selector("text=Continued in another window")
        await tap_all(second.page, ["r2"])
        await made(second.page, 1)
        await first.page.click("text=Take it back")
        await first.page.wait_for_selector('.table[data-ply="1"]')
        await second.page.wait_for_selector("text=Continued in another window")


async def test_a_server_that_was_away_comes_back_to_the_same_race(tmp_path: Path, chromium: Browser) -> None:
    with Server(data_dir=tmp_path / "data") as server:
        race = server.create("corners", seed=WINS["corners"]["seed"], **SOLO)
        async with opened(chromium) as watched:
            await seated(watched.page, server, race)
            await dealt(watched.page)
            port = server.port
            server.kill()
            await watched.page.wait_for_selector("text=Reconnecting")
            server.start(port)
            await watched.page.wait_for_selector(".dot.up")
            await tap_all(watched.page, ["r2"])
            await made(watched.page, 1)


async def test_a_device_that_wakes_has_another_line_at_once(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        async with page.expect_websocket():
            await page.evaluate("window.dispatchEvent(new Event('online'))")
        await tap_all(page, ["r2"])
        await made(page, 1)
        assert not watched.faults


async def test_two_race_on_a_sealed_deal_and_rivals_are_seen_only_as_counts(server: Server, chromium: Browser) -> None:
    race = server.create("corners", start_delay_ms=1000)
    async with opened(chromium) as watched, racers(server, "bo") as (bo,):
        page = watched.page
        await seated(page, server, race)
        await bo.begin(race)
        await dealt(page)
        assert "bo" in await page.inner_text(".rail")
        assert await page.locator(".table").count() == 1
        await page.click("button:text-is('Resign')")
        await page.click("dialog >> text=Yes")
        await bo.ask(m.Resign)
        await page.wait_for_selector("text=/1st of 2/")
        await page.wait_for_selector("text=Verified: every move")
        await page.wait_for_selector("text=/you and bo|You and bo/")
        assert not watched.faults


async def test_a_full_race_offers_to_look_on(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as watched, racers(server, "bo") as (bo,):
        await bo.begin(race)
        page = watched.page
        await page.goto(f"{server.url}/r/{race}")
        await page.wait_for_selector("text=You look on")
        await page.wait_for_selector("text=Tables are shown when the race is over")
        assert "bo" in await page.inner_text(".rail")
        assert not watched.faults


async def test_a_guest_without_a_seat_looks_on_and_may_hide_how_far_the_others_are(
    server: Server, chromium: Browser
) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as watched, racers(server, "bo") as (bo,):
        page = watched.page
        await seated(page, server, solo(server, "gallery"))
        await bo.begin(race)
        await page.goto(f"{server.url}/r/{race}")
        await page.wait_for_selector("text=You look on")
        assert await page.locator(".rail progress").is_visible()
        await page.click(".likings summary")
        await page.select_option("#liking-rivals", "false")
        assert await page.locator(".rail progress").is_hidden()


async def test_tables_of_an_open_race_can_be_looked_on_at(server: Server, chromium: Browser) -> None:
    race = server.create("corners", seed="7", max_racers=2, start_delay_ms=0, spectators="open")
    async with opened(chromium) as watched, racers(server, "ada", "bo") as (ada, bo):
        page = watched.page
        await page.goto(f"{server.url}/w/{race}")
        await page.wait_for_selector("text=You look on")
        for racer in (ada, bo):
            await racer.join(race)
        await ada.ask(m.Ready)
        await bo.ask(m.Ready)
        for racer, count in ((ada, 3), (bo, 1)):
            await racer.until(lambda view: view.stage == "running")
            for _ in range(count):
                await racer.move((racer.board.moves or [])[0])
        await page.wait_for_selector('.table[data-ply="3"]')
        await page.click(".rail button:has-text('bo')")
        await page.wait_for_selector('.table[data-ply="1"]')
        await bo.move((bo.board.moves or [])[0])
        await page.wait_for_selector('.table[data-ply="2"]')
        assert not await serious(page)
        assert not watched.faults


async def test_who_has_only_looked_on_is_asked_for_a_name_with_the_first_seat(
    server: Server, chromium: Browser
) -> None:
    watched_race, race = server.create("corners"), server.create("corners")
    async with opened(chromium) as watched:
        await watched.page.goto(f"{server.url}/w/{watched_race}")
        await watched.page.wait_for_selector(".dot.up")
        await watched.page.goto(f"{server.url}/r/{race}")
        await watched.page.wait_for_selector("#name")
        assert await watched.page.input_value("#name") == ""


# Replays.


async def test_a_replay_is_scrubbed_and_a_linked_move_is_shown(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    moves = WINS["corners"]["moves"]
    async with racers(server, "bo") as (bo,):
        await bo.begin(race)
        for move in moves:
            await bo.move(move)
    await server.replay(race)
    async with opened(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race}#m12")
        await page.wait_for_selector(f"text=/move 12 of {len(moves)}: {re.escape(moves[11])}/")
        await page.keyboard.press("ArrowRight")
        await page.wait_for_selector("text=/move 13 of/")
        assert page.url.endswith("#m13")
        await page.keyboard.press("End")
        await page.wait_for_selector(f"text=/move {len(moves)} of/")
        assert "48/48" in await page.inner_text(".tables figcaption")
        box = await page.locator(".scrubber").bounding_box()
        assert box
        await page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
        await page.wait_for_selector("text=The deal")
        await page.evaluate("location.hash = '#m3'")
        await page.wait_for_selector("text=/move 3 of/")
        await page.wait_for_selector("text=Verified: every move")
        await page.click("button:text-is('Play')")
        await page.wait_for_selector(f"text=/move {len(moves)} of/")
        assert not watched.faults


async def test_two_racers_are_compared_on_one_clock(server: Server, chromium: Browser) -> None:
    race = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        for racer in (ada, bo):
            await racer.join(race)
        await ada.ask(m.Ready)
        await bo.ask(m.Ready)
        for racer, count in ((ada, 5), (bo, 2)):
            await racer.until(lambda view: view.stage == "running")
            for _ in range(count):
                await racer.move((racer.board.moves or [])[0])
            await racer.ask(m.Resign)
    await server.replay(race)
    async with opened(chromium, 1440, 900) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race}")
        await page.wait_for_selector(".tables .table")
        await page.click(".side li:not(.chosen) button")
        assert await page.locator(".tables .table").count() == 2
        await page.keyboard.press("End")
        assert await page.locator(".tables figcaption .count").all_inner_texts()
        assert not watched.faults


# Fit for everybody.


async def pages_of(server: Server) -> dict[str, str]:
    """Every kind of page, with something on it, and what is there when it stands."""
    race = solo(server, "corner-stones")
    async with racers(server, "bo") as (bo,):
        await bo.begin(race)
        for move in WINS["corner-stones"]["moves"][:10]:
            await bo.move(move)
        await bo.ask(m.Resign)
    await server.replay(race)
    waiting = server.create("gallery")
    return {
        "/": "text=Deals of the day",
        f"/r/{waiting}": "#name",
        f"/w/{waiting}": "text=You look on",
        f"/r/{race}": "text=Verified: every move",
        f"/replay/{race}#m5": "text=Verified: every move",
        "/rules/gallery": ".rules h1",
        "/r/no-such-race-1": "text=This race was not found",
    }


@pytest.mark.parametrize("size", SIZES)
async def test_the_page_of_the_interfaces_is_read_at_every_size(
    size: tuple[int, int], server: Server, chromium: Browser
) -> None:
    """Without a script, with nothing wider than the window, and every link within it leads somewhere."""
    for scheme in ("light", "dark"):
        async with opened(chromium, *size, color_scheme=scheme) as watched:
            page = watched.page
            await page.goto(server.url + "/docs")
            assert await page.evaluate("document.documentElement.scrollWidth") <= size[0]
            assert await page.evaluate("document.scripts.length") == 0
            lost = "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))"
            assert await page.evaluate(lost + ".filter((id) => !document.getElementById(id))") == []
            for text in ("POST /api/v1/races", "/api/v1/deals/corners:{seed}/par", "illegal-move", "4009"):
                assert text in await page.inner_text("main")
            assert not await serious(page)
            assert watched.faults == []
            assert watched.foreign(server) == []


async def test_axe_finds_nothing_serious_on_any_page(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        for address, there in (await pages_of(server)).items():
            await watched.page.goto("about:blank")  # the same page with another fragment is not loaded anew
            await watched.page.goto(server.url + address)
            await watched.page.wait_for_selector(there)
            await watched.page.click(".likings summary")
            for scheme in ("light", "dark"):
                await watched.page.select_option("#liking-theme", scheme)
                assert not await serious(watched.page), (address, scheme)


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_axe_finds_nothing_serious_at_a_table(slug: str, server: Server, chromium: Browser) -> None:
    race = solo(server, slug)
    async with opened(chromium, 320, 568) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, WINS[slug]["moves"][:4])
        await made(page, 4)
        await page.click(".more summary")
        for scheme in ("light", "dark"):
            await page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
            assert not await serious(page), scheme


async def test_nothing_overflows_and_nothing_comes_from_elsewhere(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        page = watched.page
        for address, there in (await pages_of(server)).items():
            await page.goto("about:blank")
            await page.goto(server.url + address)
            await page.wait_for_selector(there)
            for width, height in SIZES:
                await page.set_viewport_size({"width": width, "height": height})
                assert await overflow(page) <= 0, (address, width)
        assert [fault for fault in watched.faults if "no-such-race" not in fault] == []
        assert not watched.foreign(server)


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_every_table_fits_every_window_with_room_to_tap(slug: str, server: Server, chromium: Browser) -> None:
    race = solo(server, slug)
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        for width, height in (*SIZES, (844, 390)):
            await page.set_viewport_size({"width": width, "height": height})
            assert await overflow(page) <= 0, width
            for box in await page.evaluate(BOXES):
                assert box["width"] >= 24, (width, box)
                assert box["height"] >= 24, (width, box)
                assert box["left"] >= 0, (width, box)
                assert box["right"] <= width, (width, box)


async def test_the_whole_page_is_small(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium) as watched:
        await seated(watched.page, server, race)
        await dealt(watched.page)
        assert sum(watched.fetched.values()) < MAX_BYTES


async def test_what_happens_is_said(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, ["r2"])
        await made(page, 1)
        await page.wait_for_selector("#status:text('to f')")
        await page.click(".more summary")
        await page.click("text=Say board")
        said = await page.inner_text("#status")
        assert "stock: " in said
        assert "face down" in said
        assert await page.locator('[data-place="r1"]').get_attribute("aria-label") == await page.evaluate(
            "document.querySelector('[data-place=r1]').ariaLabel"
        )


async def test_a_race_that_is_not_there_is_told_so(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        for path in ("/r/no-such-race-1", "/replay/no-such-race-1", "/rules/no-such-game"):
            response = await watched.page.goto(server.url + path)
            assert response
            assert response.status == 404
            await watched.page.wait_for_selector("h1:text('Not here')")
            assert await watched.page.locator("text=To the front page").count() == 1
    status, body = server.get("/r/no-such-race-1")
    assert status == 404
    assert b'"code":"not-found"' in body


async def test_a_deal_of_the_day_is_sealed_after_the_race_and_the_page_says_until_when(
    server: Server, chromium: Browser
) -> None:
    async with opened(chromium) as watched:
        page = watched.page
        await page.goto(server.url)
        await page.click('[aria-label="Play the deal of the day of Corners"]')
        await page.fill("#name", "ada")
        await page.click("text=Take a seat")
        await page.click("#ready")
        await dealt(page)
        await page.click("button:text-is('Resign')")
        await page.click("dialog >> text=Yes")
        await page.wait_for_selector("text=Others may still play this deal of the day")
        await page.wait_for_selector("text=/1. ada: \\d+ of 48, resigned/")
        assert await page.locator("a:text-is('Replay')").is_hidden()
        assert not watched.faults
        await page.goto(page.url.replace("/r/", "/replay/"))
        await page.wait_for_selector("h1:text('Still sealed')")


async def test_a_pile_that_is_held_shows_all_its_cards(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium, 320, 568) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        box = await page.locator('[data-place="l1"]').bounding_box()
        assert box
        await page.mouse.move(box["x"] + 9, box["y"] + 9)
        await page.mouse.down()
        await page.wait_for_selector(".spread:visible")
        cards = await page.eval_on_selector_all(".spread .card", "(all) => all.map((one) => one.dataset.card)")
        await page.mouse.up()
        await page.wait_for_selector(".spread", state="hidden")
        assert await page.locator(".picked").count() == 0
        lying = await page.eval_on_selector_all("[data-place=l1] .card", "(all) => all.map((one) => one.dataset.card)")
        assert len(cards) == 8
        assert cards == lying


async def test_how_one_likes_the_page_is_kept(server: Server, chromium: Browser) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    async with opened(chromium, color_scheme="light") as watched:
        page = watched.page
        await page.goto(server.url)
        light = await page.evaluate(ground)
        await page.click(".likings summary")
        await page.select_option("#liking-theme", "dark")
        dark = await page.evaluate(ground)
        assert dark != light
        await page.select_option("#liking-suits", "two")
        await page.reload()
        assert await page.evaluate(ground) == dark
        assert await page.evaluate("document.documentElement.dataset.suits") == "two"
