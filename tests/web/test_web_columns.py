"""Columns that are partly face down, and cards that move together, on the page."""

import asyncio
from collections.abc import Iterator

import pytest
from playwright.async_api import Page, Route

from samedeal.games.klondike import Klondike
from samedeal.solver.solve import solve
from support.browser import FINISHED, IN_BROWSER, check_layout, drag, tap, window
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SHOWN = """(place) => [...document.querySelectorAll(`[data-place=${place}] .card`)].map(
    (card) => card.dataset.card ?? "??")"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for these tests only: nobody can practise a deal that others race on, as other tests do."""
    with Server(data_dir=tmp_path_factory.mktemp("columns"), connections_per_address="0") as running:
        yield running


async def open_position(page: Page, server: Server, seed: str, moves: int) -> Klondike:
    """Open a practice deal of Klondike after some moves of a solution. Return the position."""
    position = Klondike.from_seed(seed)
    line = solve(position, 200).line[:moves]
    for move in line:
        position = position.after(move)
    await page.goto(f"{server.url}/practice/klondike:{seed}#{','.join(line)}")
    await page.wait_for_selector(f".table[data-ply='{moves}']")
    return position


@window(844, 390)
async def test_all_cards_of_a_run_go_ahead_and_the_next_card_is_turned_up(server: Server, page: Page) -> None:
    before = await open_position(page, server, "31", 100)
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
    ahead = [await page.locator(".moving").nth(index).bounding_box() for index in (0, 5)]
    answered.set()
    await page.wait_for_selector(".table[data-ply='101']")
    await page.evaluate(FINISHED)
    cards = page.locator("[data-place=c4] .card")
    there = [await cards.nth(index).bounding_box() for index in (2, 7)]
    for early, late in zip(ahead, there, strict=True):
        assert early
        assert late
        assert (early["x"], early["y"]) == pytest.approx((late["x"], late["y"]), abs=early["height"] / 2)
    for place in ("c4", "c7"):
        assert await page.evaluate(SHOWN, place) == list(after.view()[place])


async def test_cards_come_back_from_foundations_and_three_cards_of_the_waste_are_shown(
    server: Server, page: Page
) -> None:
    position = (await open_position(page, server, "31", 100)).after("c7c4")
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
