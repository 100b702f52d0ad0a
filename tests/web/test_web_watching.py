"""Watching a race on the page: all open tables at once, or one of them."""

from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import browser_marks, find_violations, open_page, overflow, page_browser, page_server
from support.servers import Server, racers

pytestmark = browser_marks()
server, chromium = page_server, page_browser


async def test_spectators_see_all_open_tables_or_the_one_they_choose(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, spectators="open")
    async with open_page(chromium, 320, 568) as watched, racers(server, "ada", "bo", "cy") as players:
        page = watched.page
        await page.goto(f"{server.url}/w/{race_id}")
        for player in players:
            await player.join(race_id)
        for player in players:
            await player.ask(m.Ready)
        for player in players:
            await player.until(lambda view: view.stage == "running")
        await page.wait_for_selector(".boards figure:nth-child(3)")
        assert await page.locator(".boards figcaption").all_text_contents() == ["ada", "bo", "cy"]
        assert await page.locator(".field > .table:visible").count() == 0
        await players[1].move("draw")
        await page.wait_for_selector(".boards [aria-label='Table of bo'][data-ply='1']")
        for width in (320, 1280):
            await page.set_viewport_size({"width": width, "height": 568})
            assert await overflow(page) <= 0
            assert not await find_violations(page)
        await page.click(".side li:has-text('bo') button")
        await page.wait_for_selector(".field > .table[data-ply='1']:visible")
        assert not await page.is_visible(".boards")
        await page.click(".side li:has-text('bo') button")
        await page.wait_for_selector(".boards figure:nth-child(3):visible")
        for player in players:
            await player.ask(m.Resign)
        await page.wait_for_selector("text=Race over")
        assert watched.errors == []


async def test_spectators_of_a_race_without_open_tables_see_none(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0)
    async with open_page(chromium) as watched, racers(server, "ada", "bo") as players:
        await watched.page.goto(f"{server.url}/w/{race_id}")
        for player in players:
            await player.join(race_id)
        for player in players:
            await player.ask(m.Ready)
        await watched.page.wait_for_selector("text=Tables are shown when the race is over.")
        assert await watched.page.locator(".boards figure").count() == 0
