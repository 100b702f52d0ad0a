"""Ghosts in a real browser: a race against a replay."""

from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import browser_marks, open_page, page_browser, page_server
from support.servers import Server, racers

pytestmark = browser_marks()
server, chromium = page_server, page_browser


async def test_replay_page_opens_a_race_against_its_racers(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="225", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        for player in players:
            await player.join(race_id)
            await player.ask(m.Ready)
        for player in players:
            await player.dealt()
        await players[0].ask(m.Move, move="r2", ply=0)
        for player in players:
            await player.ask(m.Resign)
    await server.replay(race_id)
    async with open_page(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race_id}")
        await page.click("button:text-is('Race against this')")
        await page.fill("#name", "cy")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".ghosts li:has-text('ada'):has-text('1/48'):has-text('resigned')")
        assert await page.locator(".side ol.standings li").all_inner_texts() != []
        assert await page.locator("ol.standings", has_text="ada").count() == 0
        assert await page.locator(".ghosts li").count() == 2
        await page.click("button:text-is('Resign')")
        await page.click("dialog button:text-is('Yes')")
        await page.wait_for_selector(".end .ghosts")
        assert await page.locator(".end .ghosts li").count() == 2
        assert not watched.errors
