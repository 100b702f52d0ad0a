"""The page with a server that is newer than the page: what it does not know does no harm, or it says so."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, WebSocketRoute

from samedeal.wire import messages as m
from support.browser import BROWSER, browser, dealt, opened, seated
from support.saved_store import replay_file
from support.servers import Server, racers

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no browser is installed (chromium)"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.asyncio(loop_scope="module"),
]
SOLO: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}


@pytest.fixture(scope="module")
def server(store_url: str) -> Iterator[Server]:
    with Server(store_url) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with browser() as running:
        yield running


async def newer(page: Page, **fields: Any) -> None:
    """From now on the server says more than it does: each message has these fields, and others come in between."""

    def between(page_end: WebSocketRoute) -> None:
        server_end = page_end.connect_to_server()

        def said(message: str | bytes) -> None:
            content = json.loads(message)
            if content["t"] == "view":
                content |= {"mood": {"calm": True}} | fields
            if "header" in content:
                content["header"]["teams"] = 2
                content["header"]["options"] |= {"filter": "certified/1", "spectators": "friends", "handicap": 3}
            page_end.send('{"t":"chat","text":"hello"}')
            page_end.send(json.dumps(content))

        server_end.on_message(said)

    await page.route_web_socket("**/ws", between)


async def test_unknown_messages_fields_and_choices_do_no_harm(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        await newer(watched.page)
        await seated(watched.page, server, server.create("corners", seed="1", **SOLO))
        await dealt(watched.page)
        assert watched.faults == []


async def test_an_unknown_choice_for_onlookers_is_shown_as_it_is(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        await newer(watched.page)
        await watched.page.goto(f"{server.url}/r/{server.create('corners', seed='2')}")
        await watched.page.fill("#name", "ada")
        await watched.page.click("text=Take a seat")
        await watched.page.wait_for_selector(".terms dd:text-is('friends')")
        assert watched.faults == []


async def test_an_unknown_stage_asks_for_a_newer_page(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        await newer(watched.page, stage="paused")
        await watched.page.goto(f"{server.url}/w/{server.create('corners', seed='3')}")
        await watched.page.wait_for_selector("h1:text('Reload this page')")
        assert await watched.page.locator("text=“paused”").count() == 1
        # The page keeps updating its clock every 200 ms; wait for one update, which must not fail.
        await watched.page.evaluate("new Promise((done) => setTimeout(done, 250))")
        assert watched.faults == []


async def test_a_replay_in_a_newer_format_is_named(server: Server, chromium: Browser) -> None:
    race = server.create("corners", seed="4", **SOLO)
    async with racers(server, "bo") as (bo,):
        await bo.begin(race)
        await bo.move((bo.board.moves or [])[0])
        await bo.ask(m.Resign)
    await server.replay(race, timeout_s=60)
    replay = replay_file(1, "sealed", "json").read_bytes().replace(b"samedeal.replay/1", b"samedeal.replay/2")

    async def answered(route: Route) -> None:
        await route.fulfill(body=replay, content_type="application/json")

    async def verified(route: Route) -> None:
        await route.fulfill(json={"ok": True, "facts": [], "known_key": True, "key": "0" * 64})

    async with opened(chromium) as watched:
        await watched.page.route("**/api/v1/replays/*.json", answered)
        await watched.page.route("**/api/v1/verify", verified)
        await watched.page.goto(f"{server.url}/replay/{race}")
        await watched.page.wait_for_selector("text=in the format samedeal.replay/2; this page reads samedeal.replay/1")
