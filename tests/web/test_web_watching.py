"""Watching a race on the page: all open tables at once, or one of them."""

import pytest
from playwright.async_api import Page

from support.browser import IN_BROWSER, check_layout, window
from support.servers import Server, begin_together, racers, resign_all

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@window(320, 568)
async def test_spectators_see_all_open_tables_or_the_one_they_choose(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, spectators="open")
    async with racers(server, "ada", "bo", "cy") as players:
        await page.goto(f"{server.url}/w/{race_id}")
        await begin_together(race_id, players)
        await page.wait_for_selector(".boards figure:nth-child(3)")
        assert await page.locator(".boards figcaption").all_text_contents() == ["ada", "bo", "cy"]
        assert await page.locator(".field > .table:visible").count() == 0
        await players[1].move("draw")
        await page.wait_for_selector(".boards [aria-label='Table of bo'][data-ply='1']")
        for width in (320, 1280):
            await page.set_viewport_size({"width": width, "height": 568})
            await check_layout(page)
        await page.click(".side li:has-text('bo') button")
        await page.wait_for_selector(".field > .table[data-ply='1']:visible")
        assert not await page.is_visible(".boards")
        await page.click(".side li:has-text('bo') button")
        await page.wait_for_selector(".boards figure:nth-child(3):visible")
        await resign_all(players)
        await page.wait_for_selector("text=share 1st place")


async def test_spectators_of_a_race_without_open_tables_see_none(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        await page.goto(f"{server.url}/w/{race_id}")
        await begin_together(race_id, players)
        await page.wait_for_selector("text=Tables are shown when the race is over.")
        assert await page.locator(".boards figure").count() == 0
