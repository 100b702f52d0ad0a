"""A match on the page: the form offers it, the lobby names it, and the results say who has won it."""

import pytest
from playwright.async_api import Page

from samedeal.wire import messages as m
from support.browser import (
    IN_BROWSER,
    check_layout,
    join_race,
    open_as,
    places_of,
    resign,
    tap,
    wait_for_deal,
    wait_for_ply,
)
from support.servers import Racer, Server, racers

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def win(page: Page, bo: Racer, race_id: str) -> None:
    """Let the page make one move and resign, after Bo has resigned without one."""
    await bo.begin(race_id)
    await wait_for_deal(page)
    await tap(page, *places_of((bo.board.moves or [])[0]))
    await wait_for_ply(page, 1)
    await bo.ask(m.Resign)
    await resign(page)


async def test_the_winner_of_a_match_is_named(server: Server, page: Page) -> None:
    async with racers(server, "bo") as (bo,):
        await page.goto(server.url)
        await page.click("summary:text-is('Custom race')")
        await page.select_option("#game", "the-edge")
        await page.select_option("#best_of", "3")
        await check_layout(page)
        await page.click("button:text-is('Create a race')")
        await open_as(page)
        terms = ".terms > summary:has-text('best of 3')"
        await page.click(terms)
        await page.wait_for_selector("dt:text-is('Match') + dd:text-is('best of 3: the first to win 2 races')")
        await join_race(page, server, server.create("the-edge", best_of=3, start_delay_ms=0))
        for score in (
            "ada 1 : 0 bo · best of 3",
            "ada 2 : 0 bo · ada wins the match",
            "ada 3 : 0 bo · ada wins the match",
        ):
            assert await page.is_visible(terms)
            await win(page, bo, page.url.rpartition("/")[2])
            await page.wait_for_selector("button:text-is('Rematch')")
            await page.wait_for_selector(f".duel:has-text('{score}')")
            title = "You win the match 2 : 0. You beat bo!" if "2 : 0" in score else "You beat bo!"
            await page.wait_for_selector(f"h1:text-is('{title}')")
            await check_layout(page)
            await page.click("button:text-is('Rematch')")
            await page.wait_for_selector("#ready:text-is('Cancel ready')")
            await page.wait_for_selector(f".duel:has-text('{score}')")


async def test_a_deal_of_the_day_and_a_race_for_one_are_no_match(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("summary:text-is('Custom race')")
    await page.select_option("#best_of", "5")
    await page.select_option("#deal", "daily")
    assert await page.is_disabled("#best_of")
    await page.select_option("#deal", "")
    await page.click("button:text-is('Play this alone')")
    await page.wait_for_selector("dt:text-is('Undo')", state="attached")
    assert await page.locator("dt:text-is('Match')").count() == 0


async def test_more_players_have_a_table_that_names_the_match(server: Server, page: Page) -> None:
    await page.goto(server.url)
    row = {"place": 1, "bot": False, "points": 1.5, "races": 3, "wins": 1}
    table = [row | {"player": name, "name": name} for name in ("ada", "bo", "cy")]
    for winners, match in (({}, "best of 5"), ({"5": "bo"}, "bo wins the match"), ({"3": "bo"}, "best of 5")):
        evening = {"races": ["a", "b", "c"], "table": table, "best_of": winners}
        for compact, text in ((False, f"This evening · {match}"), (True, f"1. cy 1.5 · {match}")):
            shown = await page.evaluate(
                """async ([evening, compact]) => {
                    const { showEvening } = await import("/page/evening.js");
                    const element = document.createElement("section");
                    showEvening(element, evening, { bestOf: 5, compact });
                    return element.textContent;
                }""",
                [evening, compact],
            )
            assert text in shown
