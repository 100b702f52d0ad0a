"""Guidance on the page: what to do now, why an attempt ended, and marks on piles."""

import re

import pytest
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from support.browser import (
    IN_BROWSER,
    SOLO,
    find_violations,
    open_row,
    resign,
    start_race,
    tap_moves,
    wait_for_ply,
)
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
LOSS = ["b2", "c2", "b3", "c3", "a4", "d2", "d3", "a2", "d1", "c1", "a3", "d4", "b1", "c4", "a1"]
"""Moves that lose the deal the-edge:1: there is no free cell for the jack of diamonds."""
MARKS = {"home": "home", "jammed": "jammed", "only": "nothing else can be played"}


async def test_the_end_states_its_cause_and_the_comparison_with_the_computer(server: Server, page: Page) -> None:
    race_id = server.create("the-edge", seed="1", **SOLO)
    await start_race(page, server, race_id)
    await tap_moves(page, LOSS)
    await wait_for_ply(page, len(LOSS))
    note = await page.inner_text(".note strong")
    assert note.replace("\ufe0e", "") == "No free cell for J♦. You can restart."
    await resign(page)
    cause = await page.inner_text(".end .cause")
    assert cause.replace("\ufe0e", "") == "No free cell for J♦"
    await open_row(page, "Could it be solved?")
    await page.wait_for_selector("text=/^You did .* of its games|^The computer did better/")


async def test_gallery_marks_are_shown_and_described(server: Server, page: Page) -> None:
    moves = ["deal"] * 6
    game = GAMES["gallery"].from_seed("1")
    race_id = server.create("gallery", seed="1", **SOLO)
    seen = set[str]()
    await start_race(page, server, race_id)
    for ply, move in enumerate(moves, start=1):
        await page.keyboard.press("d")
        await wait_for_ply(page, ply)
        game = game.after(move)
        piles = "[...document.querySelectorAll('.pile')].map((pile) => [pile.dataset.place, "
        piles += "pile.dataset.mark, pile.getAttribute('aria-label')])"
        shown = await page.evaluate(piles)
        assert {place: mark for place, mark, _ in shown if mark} == game.marks
        for place, mark, label in shown:
            named = re.search(r", (home|jammed|nothing else can be played)$", label)
            assert (named[1] if named else None) == MARKS.get(mark), place
        seen |= set(game.marks.values())
    assert seen == set(MARKS)
    assert not await find_violations(page)
