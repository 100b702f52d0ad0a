"""Filtered deals on the page: the form offers the grades that a game has, and a long search is shown."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal.computer.deal_filters import GRADES, has_grades
from samedeal.games.catalogue import GAMES
from support.browser import IN_BROWSER, check_layout, find_violations, give_name, open_as, open_page, wait_for_deal
from support.gated_worker import Gate
from support.gates import gate
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
__all__ = ["gate"]


async def test_the_form_offers_the_grades_of_a_game(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("summary:text-is('Custom race')")
    for slug, game in GAMES.items():
        await page.select_option("#game", slug)
        offered = await page.locator("#filter option").evaluate_all("all => all.map(({ value }) => value)")
        assert (set(GRADES) <= set(offered)) == has_grades(game)
        assert len(offered) == len(set(offered))


async def test_a_hard_deal_is_requested_and_named_in_the_lobby(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("summary:text-is('Custom race')")
    await page.select_option("#game", "kings-in-the-corners")
    await page.select_option("#filter", "hard/1")
    await page.select_option("#game", "gallery")
    assert await page.input_value("#filter") == "hard/1", "the choice is kept"
    await check_layout(page)
    await page.select_option("#deal", "daily")
    assert not await page.is_visible("#filter")
    await page.select_option("#deal", "")
    await page.click("button:text-is('Create a race')")
    await open_as(page)
    await page.wait_for_selector(".terms > summary:has-text('hard, fair shuffle')")
    _, body = server.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")
    assert json.loads(body)["header"]["options"]["filter"] == "hard/1"


class GatedServer(Server):
    """A server whose searches wait until the test releases them."""

    program = ("-m", "support.gated_server")


async def test_a_search_that_takes_longer_than_the_countdown_is_shown(
    gate: Gate, tmp_path: Path, chromium: Browser
) -> None:
    with GatedServer(data_dir=tmp_path / "data") as gated:
        async with open_page(chromium) as tab:
            page = tab.page
            race = gated.create("corners", filter="certified/1", max_racers=1, start_delay_ms=0)
            await page.goto(f"{gated.url}/r/{race}")
            await give_name(page, "ada")
            await page.wait_for_selector(".countdown:text-is('Finding a deal…')")
            assert not await find_violations(page)
            gate.allow(9)
            await wait_for_deal(page)
            assert tab.errors == []
