"""Ghosts in a real browser: a race against a replay."""

import pytest
from playwright.async_api import Page

from samedeal.wire import messages as m
from support.browser import IN_BROWSER, give_name, resign, window
from support.servers import Server, begin_together, racers, resign_all

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


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
    await page.wait_for_selector(".end .ghosts")
    assert await page.locator(".end .ghosts li").count() == 2
