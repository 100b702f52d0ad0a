"""The page and a newer server: it ignores what it does not know, or asks for a reload."""

import json
from typing import Any

import pytest
from playwright.async_api import Page, Route, WebSocketRoute

from samedeal.replays.replay import FORMATS
from samedeal.wire import messages as m
from support.browser import IN_BROWSER, SOLO, take_seat, wait_for_deal
from support.saved_replays import replay_file
from support.servers import Server, racers

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def simulate_newer_server(page: Page, **fields: Any) -> None:
    """Add fields to the server's messages, and send messages of an unknown type."""

    def intercept(page_end: WebSocketRoute) -> None:
        server_end = page_end.connect_to_server()

        def on_message(message: str | bytes) -> None:
            content = json.loads(message)
            if content["t"] == "view":
                content |= {"mood": {"calm": True}} | fields
            if "header" in content:
                content["header"]["teams"] = 2
                content["header"]["options"] |= {"filter": "certified/1", "spectators": "friends", "handicap": 3}
            page_end.send('{"t":"chat","text":"hello"}')
            page_end.send(json.dumps(content))

        server_end.on_message(on_message)

    await page.route_web_socket("**/ws/*", intercept)


async def test_unknown_messages_and_fields_are_ignored_and_options_shown_as_they_are(
    server: Server, page: Page
) -> None:
    await simulate_newer_server(page)
    await take_seat(page, server, server.create("corners", seed="2"), "ada")
    await page.wait_for_selector(".terms dd:text-is('friends')", state="attached")
    await page.goto(f"{server.url}/r/{server.create('corners', seed='1', **SOLO)}")
    await page.click("button:text-is('Play')")
    await wait_for_deal(page)


async def test_unknown_stage_asks_for_a_reload(server: Server, page: Page) -> None:
    await simulate_newer_server(page, stage="paused")
    await page.goto(f"{server.url}/w/{server.create('corners', seed='3')}")
    await page.wait_for_selector("h1:text('Reload this page')")
    assert await page.locator("text=“paused”").count() == 1
    # The page keeps updating its clock every 200 ms; wait for one update, which must not fail.
    await page.evaluate("new Promise((done) => setTimeout(done, 250))")


async def test_newer_replay_format_is_named(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="4", **SOLO)
    async with racers(server, "bo") as (bo,):
        await bo.begin(race_id)
        await bo.move((bo.board.moves or [])[0])
        await bo.ask(m.Resign)
    await server.replay(race_id)
    replay = replay_file(1, "sealed", "json").read_bytes().replace(b"samedeal.replay/1", b"samedeal.replay/5")

    async def send_replay(route: Route) -> None:
        await route.fulfill(body=replay, content_type="application/json")

    async def send_verification(route: Route) -> None:
        await route.fulfill(json={"ok": True, "outcome": "verified", "facts": []})

    await page.route("**/api/v1/replays/*.json", send_replay)
    await page.route("**/api/v1/verify", send_verification)
    await page.goto(f"{server.url}/replay/{race_id}")
    text = f"in the format samedeal.replay/5, and this program reads {', '.join(FORMATS.values())}"
    await page.wait_for_selector(f"text={text}")
    await page.wait_for_selector("text=Your browser cannot read this replay ✗")
    await page.wait_for_selector("text=Checked by this server: genuine, signed by this server")
