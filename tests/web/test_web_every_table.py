"""The table of every game in a real browser: readable cards, large targets, its text, and a layout that stays still."""

from typing import Any

import pytest
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from samedeal_cli.render.text_table import with_cards
from support.browser import (
    IN_BROWSER,
    Tab,
    box_of,
    check_themes,
    drag,
    open_drawer,
    overflow,
    places_of,
    solo,
    start_race,
    tap,
    tap_moves,
    wait_for_ply,
    window,
)
from support.servers import Server
from support.vectors import WINS

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
MAX_BYTES = 150_000
SIZES = ((390, 844), (844, 390), (768, 1024), (1440, 900))

FAULTS = """() => {
    const faults = [];
    const box = (element) => element.getBoundingClientRect();
    const isVisible = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { parentElement: element, data } = walker.currentNode;
        const size = parseFloat(getComputedStyle(element).fontSize);
        if (data.trim() && isVisible(element) && size > 0 && size < 12) faults.push(`${size} px: ${data}`);
    }
    const overlap = (one, other) => one.left < other.right - 0.5 && other.left < one.right - 0.5
        && one.top < other.bottom - 0.5 && other.top < one.bottom - 0.5;
    const badges = [...document.querySelectorAll(".table .count")].filter(isVisible);
    for (const index of [...document.querySelectorAll(".table .index")].filter(isVisible)) {
        const [card, rank, suit] = [index.closest(".card"), index.querySelector("b"), index.querySelector("svg")];
        const name = `${card.dataset.card} on ${card.closest(".pile")?.dataset.place}`;
        for (const badge of badges) if (overlap(box(index), box(badge))) faults.push(`${name}: covered by a badge`);
        const size = (each) => parseFloat(getComputedStyle(each).fontSize);
        const top = card.parentElement.querySelector(".open .index");
        if (top && size(index) > size(top)) faults.push(`${name}: a larger index than that of the top card`);
        const next = card.nextElementSibling?.matches(".card") ? box(card.nextElementSibling) : null;
        for (const part of [rank, suit]) {
            if (next && overlap(box(part), next)) faults.push(`${name}: covered by the next card`);
            const [inner, outer] = [box(part), box(card)];
            if (inner.left < outer.left - 1 || inner.right > outer.right + 1) faults.push(`${name}: clipped`);
        }
    }
    const [table, piles] = [box(document.querySelector(".table")), [...document.querySelectorAll(".pile")].map(box)];
    const left = Math.min(...piles.map((pile) => pile.left)) - table.left;
    const right = table.right - Math.max(...piles.map((pile) => pile.right));
    if (Math.max(left, right) > 24) faults.push(`felt wider than the cards: ${left}, ${right}`);
    return faults;
}"""
BOXES = """() => [...document.querySelectorAll(".table, .pile, .keys button, .side li")].map((element, index) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return [element.dataset.place ?? index, ...[left, top, width, height].map(Math.round)];
})"""
TARGETS = "[...document.querySelectorAll('.pile, .keys button')].filter((element) => !element.hidden)"
TARGETS += ".map((element) => element.getBoundingClientRect().toJSON())"
PLACES = "(piles) => piles.map((pile) => pile.dataset.place)"
DULL = ".pile:not(.lit, .picked):has(.card:not(.back))"


async def boxes(page: Page) -> list[list[Any]]:
    measured: list[list[Any]] = await page.evaluate(BOXES)
    return measured


OTHER_NOTE = """() => {
    const [refusal, usual] = document.querySelector(".note").children;
    refusal.className = refusal.textContent = "";
    usual.textContent = "A note that takes two lines. ".repeat(2);
}"""


async def note(page: Page, part: str = "strong") -> str:
    """Return the text below the table, without the variation selectors of suits."""
    return (await page.inner_text(f".note {part}")).replace("\ufe0e", "")


async def note_heights(page: Page) -> list[float]:
    """Check that the text below the table is on the screen at every size, and return its heights."""
    heights = []
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        box = await box_of(page.locator(".note"))
        assert 0 < box["y"] < box["y"] + box["height"] < height
        heights.append(box["height"])
    return heights


async def check_readable(page: Page, move: str) -> None:
    """With a selection: no text is under 12 px, nothing covers an index, and the felt is no wider than its cards."""
    if len(places_of(move)) > 1:
        await tap(page, places_of(move)[0])
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        assert await page.evaluate(FAULTS) == [], width
        assert await overflow(page) <= 0, width
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.keyboard.press("Escape")


async def check_targets(page: Page) -> None:
    for width, height in (*SIZES, (320, 568)):
        await page.set_viewport_size({"width": width, "height": height})
        assert await overflow(page) <= 0, width
        for box in await page.evaluate(TARGETS):
            assert box["width"] >= 24, (width, box)
            assert box["height"] >= 24, (width, box)
            assert box["left"] >= 0, (width, box)
            assert box["right"] <= width, (width, box)


async def check_nothing_shifts(page: Page, slug: str, move: str) -> None:
    """A selection, a refusal and another note leave the table and the buttons where they are."""
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        before = await boxes(page)
        if len(places_of(move)) > 1:
            await tap(page, places_of(move)[0])
            assert await page.locator(".picked").count() == 1
            assert await boxes(page) == before, width
            await page.keyboard.press("Escape")
        await attempt_illegal_move(page, slug)
        assert await boxes(page) == before, width
        await page.evaluate(OTHER_NOTE)
        assert await boxes(page) == before, width


@pytest.mark.parametrize("slug", sorted(GAMES))
@window(reduced_motion="reduce")
async def test_a_table_is_readable_says_what_to_do_and_stays_still(
    slug: str, server: Server, page: Page, tab: Tab
) -> None:
    """Its text says what to do, and keeps its height when it changes. The page of a race is small."""
    moves: list[str] = WINS[slug]["moves"]
    await start_race(page, server, solo(server, slug))
    assert sum(tab.fetched.values()) < MAX_BYTES
    game, heights = GAMES[slug].from_seed(WINS[slug]["seed"]), await note_heights(page)
    assert await note(page, ".facts") == " · ".join(game.facts)
    await check_targets(page)
    shifts_at = 0 if slug == "gallery" else 1  # some refusals need a taken place, others a legal move
    for ply, move in enumerate(moves[:12]):
        if ply < 3:
            assert await note(page) == with_cards(game.instruction)
            assert await note_heights(page) == heights
        if ply == 0:
            await check_readable(page, move)
        if ply == shifts_at:
            await check_nothing_shifts(page, slug, move)
            await page.reload()
            await page.wait_for_selector(f'.table[data-ply="{ply}"]')
        await tap_moves(page, [move], ply)
        await wait_for_ply(page, ply + 1)
        game = game.after(move)
    await check_readable(page, moves[12])
    if slug == "gallery":
        assert await page.locator("h1").count() == 1
        for name in ("Rules", "More"):
            await open_drawer(page, name)
            await check_themes(page)
            await page.keyboard.press("Escape")


async def attempt_illegal_move(page: Page, slug: str) -> None:
    """Drag a card to a place that does not take it, or tap one that cannot be played, until the page says why."""
    await page.wait_for_function("!document.querySelector('.waiting')")
    lit = await page.eval_on_selector_all("button.pile.lit", PLACES)
    if slug in ("corner-stones", "freecell"):
        await tap(page, lit[-1])
        await drag(page, lit[-1], (await page.eval_on_selector_all(DULL, PLACES))[0])
    else:
        dull = await page.eval_on_selector_all(DULL, PLACES)
        await tap(page, next(place for place in dull if place[0] in "rabcdt"))
    await page.wait_for_selector(".note .refused")
    assert (await page.inner_text("#status")).strip() == await page.inner_text(".note .refused")
