"""The overlay for video streams shows a race without controls, on a transparent ground."""

import asyncio

import pytest
from playwright.async_api import Browser, Page, Route

from samedeal.wire import messages as m
from support.browser import browser_marks, find_violations, open_page, overflow, page_browser, page_server
from support.servers import Racer, Server, racers

pytestmark = browser_marks()
server, chromium = page_server, page_browser

CONTROLS = "button, input, select, summary, [href]:not(link)"


async def start(race_id: str, *players: Racer) -> None:
    for player in players:
        await player.join(race_id)
    for player in players:
        await player.ask(m.Ready)
    for player in players:
        await player.until(lambda view: view.stage == "running")


async def shown(page: Page, text: str) -> None:
    await page.get_by_text(text, exact=True).first.wait_for(timeout=240_000)


@pytest.mark.parametrize("theme", ["dark", "light", "plain", "unknown"])
async def test_overlay_follows_a_race_to_its_end(theme: str, server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0)
    async with open_page(chromium, 1280, 720) as watched, racers(server, "ada", "bo") as (ada, bo):
        page = watched.page
        await page.goto(f"{server.url}/o/{race_id}?theme={theme}")
        await shown(page, "Waiting for racers")
        await start(race_id, ada, bo)
        await shown(page, "0/48")
        assert await page.locator(".standings li").count() == 2
        assert await page.locator(".boards figure").count() == 0
        assert await page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgba(0, 0, 0, 0)"
        visible = [await control.is_visible() for control in await page.locator(CONTROLS).all()]
        assert True not in visible
        assert await find_violations(page) == []
        for width in (1280, 320):
            await page.set_viewport_size({"width": width, "height": 720})
            assert await overflow(page) == 0
        for player in (ada, bo):
            await player.ask(m.Resign)
        await shown(page, "Finished")
        await shown(page, "resigned")
        assert watched.errors == []
        assert watched.foreign_urls(server) == []


async def test_overlay_shows_open_tables(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, spectators="open")
    async with open_page(chromium, 1280, 720) as watched, racers(server, "ada", "bo", "cy", "di") as players:
        page = watched.page
        await page.goto(f"{server.url}/o/{race_id}")
        await start(race_id, *players)
        await page.wait_for_selector(".boards .table", timeout=240_000)
        assert sorted(await page.locator("figcaption").all_inner_texts()) == ["ada", "bo", "cy", "di"]
        await players[0].move("draw")
        await page.wait_for_selector('figure:has(bdi:text-is("ada")) [data-place="waste"] .card', timeout=240_000)
        height = await page.evaluate("document.documentElement.scrollHeight")
        assert height <= 720, "four tables fit a video of 720 lines"
        for player in players:
            await player.ask(m.Resign)
        await shown(page, "Finished")
        assert await page.locator(".boards figure").count() == 0
        assert watched.errors == []


async def test_overlay_shows_nothing_that_the_race_hides(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, max_racers=1, spectators="after")
    async with open_page(chromium) as watched, racers(server, "ada") as (ada,):
        page = watched.page
        await page.goto(f"{server.url}/o/{race_id}")
        await ada.begin(race_id)
        await page.wait_for_selector(".clock:text-matches('[0-9]:[0-9]')", timeout=240_000)
        assert await page.locator(".standings li").count() == 0
        await ada.ask(m.Resign)
        await shown(page, "ada")
        assert watched.errors == []


async def test_overlay_reconnects(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1")
    requests = 0

    async def fail_twice(route: Route) -> None:
        nonlocal requests
        requests += 1
        await (route.abort() if requests <= 2 else route.continue_())

    async with open_page(chromium) as watched, racers(server, "ada") as (ada,):
        await watched.page.route("**/events", fail_twice)
        await watched.page.goto(f"{server.url}/o/{race_id}")
        await shown(watched.page, "Waiting for racers")
        await ada.join(race_id)
        await shown(watched.page, "ada")
        assert requests == 3


async def test_overlay_of_an_unknown_race_says_so(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as watched:
        await watched.page.goto(f"{server.url}/o/no-such-race-1")
        await asyncio.wait_for(watched.page.wait_for_selector("h1:text('Not found')"), 240)
