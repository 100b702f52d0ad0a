"""Columns that are partly face down, and cards that move together, on the page."""

import asyncio

import pytest
from playwright.async_api import Page, Route

from samedeal.games.klondike import Klondike
from samedeal.solver.solve import solve
from support.browser import FINISHED, IN_BROWSER, box_of, check_layout, drag, tap, window
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SHOWN = """(place) => [...document.querySelectorAll(`[data-place=${place}] .card`)].map(
    (card) => card.dataset.card ?? "??")"""


async def open_position(page: Page, quiet: Server, seed: str, moves: int) -> Klondike:
    """Open a practice deal of Klondike after some moves of a solution. Return the position."""
    position = Klondike.from_seed(seed)
    line = solve(position, 200).line[:moves]
    for move in line:
        position = position.after(move)
    await page.goto(f"{quiet.url}/practice/klondike:{seed}#{','.join(line)}")
    await page.wait_for_selector(f".table[data-ply='{moves}']")
    return position


@window(844, 390)
async def test_all_cards_of_a_run_go_ahead_and_the_next_card_is_turned_up(quiet: Server, page: Page) -> None:
    before = await open_position(page, quiet, "31", 100)
    after = before.after("c7c4")
    answered = asyncio.Event()

    async def withhold(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    await page.route("**/board*", withhold)
    await tap(page, "c7", "c4")
    await page.wait_for_selector("[data-place=c7] .moving")
    assert await page.locator(".moving").count() == before.count("c7", "c4") == 6
    await page.evaluate(FINISHED)
    ahead = [await box_of(page.locator(".moving").nth(index)) for index in (0, 5)]
    answered.set()
    await page.wait_for_selector(".table[data-ply='101']")
    await page.evaluate(FINISHED)
    cards = page.locator("[data-place=c4] .card")
    there = [await box_of(cards.nth(index)) for index in (2, 7)]
    for early, late in zip(ahead, there, strict=True):
        assert (early["x"], early["y"]) == pytest.approx((late["x"], late["y"]), abs=early["height"] / 2)
    for place in ("c4", "c7"):
        assert await page.evaluate(SHOWN, place) == list(after.view()[place])


async def test_cards_come_back_from_foundations_and_three_cards_of_the_waste_are_shown(
    quiet: Server, page: Page
) -> None:
    position = (await open_position(page, quiet, "31", 100)).after("c7c4")
    assert await page.evaluate(SHOWN, "waste") == list(position.view()["waste"][-3:])
    await tap(page, "c7", "c4")
    await page.wait_for_selector(".table[data-ply='101']")
    await drag(page, "f3", "c7")
    await page.wait_for_selector(".table[data-ply='102']")
    assert await page.evaluate(SHOWN, "c7") == list(position.after("f3c7").view()["c7"])
    await page.keyboard.press("u")
    await page.wait_for_selector(".table[data-ply='101']")
    assert await page.evaluate(SHOWN, "c7") == list(position.view()["c7"])
    await check_layout(page)
