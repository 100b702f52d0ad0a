"""The moments of a race on the page, from states made up here: early end, head start, new leader and drag."""

from typing import Any

import pytest
from playwright.async_api import Page

from support.browser import (
    IN_BROWSER,
    open_drawer,
    prevent_long_presses,
    solo,
    start_race,
    tap_moves,
    wait_for_ply,
    wait_until,
    window,
)
from support.servers import Server
from support.vectors import WINS

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]

OPEN_RACE = """async (board) => {
    const { PlayPage } = await import("/page/play.js");
    const { games } = await (await fetch("/api/v1/games")).json();
    const standing = (seat, name, place, home) =>
        ({ seat, name, place, home, goal: 48, progress: home / 48, attempts: 1, outcome: "playing", done: false });
    const view = { seat: 1, stage: "running", head_start: 2, ...(board && { board }) };
    const connection = { view, ghosts: [], watching: 0, status: "up", leftMs: 90_000, closingMs: null, waitsMs: null };
    window.tones = [];
    const race = {
        game: games.find(({ slug }) => slug === "corners"),
        header: { head_start: { player: "p2", ms: 10_000 }, options: {} },
        connection,
        evening: document.createElement("section"),
        reactions: { symbols: new Map(), element: document.createElement("div") },
        caller: { play: (tones) => window.tones.push(tones) },
    };
    window.show = (changes, ...homes) => {
        const places = homes.map((home) => 1 + homes.filter((other) => other > home).length);
        const standings = homes.map((home, at) => standing(at + 1, ["Ada", "Ben"][at], places[at], home));
        Object.assign(connection, { standings, mine: standings[0] }, changes);
        window.play ??= new PlayPage(race);
        document.querySelector("main").replaceChildren(window.play.element);
        window.play.update(view);
        window.play.tick(connection.leftMs);
        return document.querySelector(".note").textContent.replaceAll("\\u00a0", " ");
    };
}"""
BOARD = {"table": {}, "outcome": "stuck", "home": 3, "attempt": 1, "ply": 9, "undo": True, "restart": True, "moves": []}


async def show(page: Page, changes: dict[str, Any], *homes: int) -> str:
    """Show a race of Ada, whose page it is, and Ben with some cards home. Return the prompt."""
    text: str = await page.evaluate("([changes, homes]) => show(changes, ...homes)", [changes, list(homes)])
    return text


async def test_the_prompt_counts_down_to_the_early_end_and_says_what_prevents_it(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.evaluate(OPEN_RACE, {**BOARD, "guidance": {"ending": "nothing fits"}})
    assert await show(page, {}, 3, 3) == "nothing fits. You can undo or restart. "
    for ms, seconds in ((9_500, 10), (4_000, 4)):
        text = await show(page, {"closingMs": ms}, 3, 3)
        assert text == f"Everyone is stuck. The race ends in {seconds} s, unless you undo or restart."
    assert await show(page, {"closingMs": None}, 3, 3) == "nothing fits. You can undo or restart. "


async def test_racers_wait_for_the_head_start_of_another_one(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.evaluate(OPEN_RACE, None)
    assert await show(page, {"waitsMs": 6_500}, 0, 0) == "Ben starts 10 s ahead. You get your cards in 7 s."
    assert await page.inner_text(".countdown") == "7"


async def test_a_new_leader_is_felt_unless_that_is_turned_off(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.evaluate(OPEN_RACE, {**BOARD, "outcome": "playing", "guidance": {}})
    tones = "window.tones.length"
    await show(page, {}, 0, 0)
    await show(page, {}, 1, 0)
    await show(page, {}, 1, 1)
    assert await page.evaluate(tones) == 0, "the first leader is no news, nor is a tie"
    await show(page, {}, 1, 2)
    assert await page.evaluate(tones) == 1
    await show(page, {}, 3, 2)
    assert await page.evaluate(tones) == 2
    assert await page.inner_text("#status") == "You take the lead"
    await open_drawer(page, "Settings")
    await page.uncheck("#preference-effects")
    await page.keyboard.press("Escape")
    await show(page, {}, 3, 4)
    assert await page.evaluate(tones) == 2


@window(1024, 768)
async def test_a_dragged_card_shows_what_lies_below_until_it_is_back(server: Server, page: Page) -> None:
    moves = WINS["corner-stones"]["moves"]
    await start_race(page, server, solo(server, "corner-stones"))
    below = "document.querySelectorAll('[data-place=l1] .card.open').length"
    assert await page.evaluate(below) == 1
    box = await page.locator('[data-place="l1"] .card').last.bounding_box()
    assert box
    await page.mouse.move(box["x"] + 15, box["y"] + 15)
    await prevent_long_presses(page)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 60, box["y"] + 200, steps=4)
    assert await page.evaluate(below) == 2
    await page.mouse.up()
    await wait_until(page, f"{below} === 1")
    await tap_moves(page, moves[:1])
    await wait_for_ply(page, 1)
