"""Server bots on the page: racers choose their level, which the lobby and the race show."""

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from support.browser import IN_BROWSER, check_layout, open_page, overflow, take_seat
from support.servers import Server, racers
from support.sessions import viewed

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def tags(page: Page) -> list[str]:
    """Return the marks of the bots in the standings, as a screen reader reads them."""
    return await page.locator(".standings .tag").all_text_contents()


async def test_a_player_adds_bots_of_each_level_with_the_keyboard(server: Server, chromium: Browser) -> None:
    async with open_page(chromium, 320, 568) as watched, racers(server, "Bo") as (bo,):
        page, race = watched.page, server.create("corners", seed="225", start_delay_ms=0)
        await take_seat(page, server, race, "Ada")
        group = page.get_by_role("group", name="Add a bot:")
        expert = group.get_by_role("button", name="Expert")
        await expert.press("Enter")
        await page.wait_for_selector(".standings li:has-text('Joker'):has-text('expert bot'):has-text('ready')")
        await page.wait_for_selector("button:text-is('Expert')[aria-disabled=true]:focus")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#status:text-is('Joker, the expert bot, is already in this race.')")
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Space")
        await page.wait_for_selector(".standings li:has-text('Deuce'):has-text('beginner bot')")
        await check_layout(page)
        await bo.join(race)
        viewed(await bo.ask(m.Bot))
        await page.wait_for_selector(".standings li:has-text('Trey'):has-text('regular bot')")
        await page.click("#ready")
        await bo.begin(race)
        await page.wait_for_selector(".race .standings li:has-text('Joker')")
        assert sorted(await tags(page)) == ["beginner bot", "expert bot", "regular bot"]
        await bo.move("r2")
        await page.wait_for_selector(".standings li:has-text('Bo') progress[value='1']")  # by progress, without a view
        assert sorted(await tags(page)) == ["beginner bot", "expert bot", "regular bot"]
        assert await overflow(page) <= 0
        async with open_page(chromium, 1280, 720) as overlay:
            await overlay.page.goto(f"{server.url}/o/{race}")
            await overlay.page.wait_for_selector(".standings li:has-text('Joker'):has-text('expert bot')")
            assert overlay.errors == []
        assert watched.errors == []
