"""Racing in a real browser: taps, keys, drags, undo and announcements."""

import pytest
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from support.browser import (
    IN_BROWSER,
    SOLO,
    Tab,
    box_of,
    drag,
    find_violations,
    open_drawer,
    open_row,
    places_of,
    resign,
    solo,
    start_after,
    start_race,
    tap,
    tap_moves,
    verified,
    wait_for_ply,
    wait_until,
    window,
)
from support.move_buttons import complete
from support.servers import Server
from support.vectors import WINS
from support.waiting import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@pytest.mark.tier(1)
@pytest.mark.parametrize("slug", sorted(GAMES.keys() - {"corner-stones"}))
@window(reduced_motion="reduce")
async def test_race_can_be_won_by_tapping(slug: str, server: Server, page: Page, tab: Tab) -> None:
    race_id, moves = solo(server, slug), WINS[slug]["moves"]
    await start_after(page, server, race_id, moves[:-20])
    await tap_moves(page, moves[-20:], len(moves) - 20)
    await page.wait_for_selector("h1:text-matches('^You solved it in ')")
    await open_row(page, "Scores")
    all_of_it = "score 0" if GAMES[slug].counted == "left" else f"{GAMES[slug].goal}/{GAMES[slug].goal}"
    assert await page.inner_text(".standings .own .count") == all_of_it
    assert await page.evaluate("document.querySelector('.standings .own progress').position") == 1
    await verified(page)
    assert not tab.foreign_urls(server)
    replay = await server.replay(race_id)
    assert replay.standings[0].outcome == "won"


async def arrow_key_targets(page: Page) -> dict[str, dict[str, str]]:
    """Return the pile that each arrow key leads to, for each pile."""
    targets: dict[str, dict[str, str]] = await page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".pile")].map((pile) => [pile.dataset.place,
            Object.fromEntries(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => {
                pile.focus();
                pile.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
                return [key, document.activeElement.dataset.place];
            }))]))"""
    )
    return targets


def shortest_path(targets: dict[str, dict[str, str]], start: str, end: str) -> list[str]:
    """Return the shortest sequence of arrow keys from one pile to another."""
    reached: dict[str, list[str]] = {start: []}
    for place in (order := [start]):
        for key, following in targets[place].items():
            if following not in reached:
                reached[following] = [*reached[place], key]
                order.append(following)
    return reached[end]


async def move_focus(page: Page, place: str, targets: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Move the focus to a pile with the arrow keys.

    `targets` are the results of `arrow_key_targets`. They change when piles grow, so this returns the current ones.
    """
    for _ in range(5):
        here: str | None = await page.evaluate("document.activeElement.dataset.place ?? null")
        if here == place:
            return targets
        if here is None:
            await page.focus(".pile[tabindex='0']")
            continue
        for key in shortest_path(targets, here, place):
            await page.keyboard.press(key)
        if await page.evaluate("document.activeElement.dataset.place") != place:
            targets = await arrow_key_targets(page)
            await page.focus(f'[data-place="{here}"]')
    raise AssertionError(f"{place} cannot be reached by arrow keys")


@pytest.mark.parametrize("slug", ["corners", "gallery", "the-edge"])
@window(1024, 768)
async def test_race_can_be_won_by_keyboard(slug: str, server: Server, page: Page) -> None:
    moves = WINS[slug]["moves"]
    first = max(0, len(moves) - 12)
    await start_after(page, server, solo(server, slug), moves[:first])
    targets = await arrow_key_targets(page)
    for ply, move in enumerate(moves[first:], start=first + 1):
        if move in ("draw", "deal", "redeal"):
            await page.keyboard.press("d")
        elif move == "home":
            await page.keyboard.press("+")
        else:
            for place in places_of(move):
                targets = await move_focus(page, place, targets)
                await page.keyboard.press("Enter")
            await complete(page, move)
            await page.keyboard.press("m")  # has no effect unless the move is a prefix of another
        if ply < len(moves):
            await wait_for_ply(page, ply)
    await page.wait_for_selector("h1:text-matches('^You solved it in ')")


@window(1024, 768)
async def test_dragged_card_moves_or_returns_if_the_move_is_illegal(server: Server, page: Page) -> None:
    race_id = solo(server, "corner-stones")
    await start_race(page, server, race_id)
    source, target = places_of(WINS["corner-stones"]["moves"][0])
    instruction = await page.inner_text(".note strong")
    await drag(page, source, "u1" if target != "u1" else "u2")
    await page.wait_for_selector(".note .refused")
    assert await page.inner_text("#status") == await page.inner_text(".note")
    await page.wait_for_selector(".note .refused", state="detached")
    assert await page.inner_text(".note strong") == instruction, "only for a moment"
    await drag(page, source, target)
    await wait_for_ply(page, 1)


async def test_double_tap_home_undo_restart_and_impossible_tap(server: Server, page: Page) -> None:
    race_id = solo(server, "corner-stones")
    first, *_ = WINS["corner-stones"]["moves"]
    await start_race(page, server, race_id)
    await tap(page, *places_of(first)[:1] * 2)
    await wait_for_ply(page, 1)
    await page.click("button:text-is('Undo')")
    await wait_for_ply(page, 2)
    await tap_moves(page, [first], first=2)
    await wait_for_ply(page, 3)
    for answer in ("Cancel", "Restart"):
        await open_drawer(page, "More")
        await page.click("button:text-is('Restart…')")
        await page.click(f"dialog button:text-is('{answer}')")
    await wait_for_ply(page, 4)
    await page.click(".strip")
    assert "attempt 2" in await page.inner_text(".standings")
    await page.keyboard.press("Escape")
    await tap(page, "u1")
    assert "cannot move" in await page.inner_text("#status")


async def test_moves_and_the_board_are_announced(server: Server, page: Page) -> None:
    race_id = solo(server, "corners")
    await start_race(page, server, race_id)
    await tap_moves(page, ["r2"])
    await wait_for_ply(page, 1)
    await page.wait_for_selector("#status:text('to f')")
    await open_drawer(page, "More")
    await page.click("[aria-label='Read aloud'] button:text-is('Board')")
    announcement = await page.inner_text("#status")
    assert "stock: " in announcement
    assert "face down" in announcement


@window(320, 568)
async def test_holding_a_pile_shows_all_its_cards(server: Server, page: Page) -> None:
    race_id = solo(server, "corner-stones")
    await start_race(page, server, race_id)
    box = await box_of(page.locator('[data-place="l1"]'))
    await page.mouse.move(box["x"] + 9, box["y"] + 9)
    await page.mouse.down()
    await page.wait_for_selector(".spread:visible")
    cards = await page.eval_on_selector_all(".spread .card", "(all) => all.map((one) => one.dataset.card)")
    await page.mouse.up()
    await page.wait_for_selector(".spread", state="hidden")
    assert await page.locator(".picked").count() == 0
    lying = await page.eval_on_selector_all("[data-place=l1] .card", "(all) => all.map((one) => one.dataset.card)")
    assert len(cards) == 8
    assert cards == lying


@window(390, 844, reduced_motion="reduce")
async def test_the_clock_is_visible_in_the_last_half_minute(server: Server, page: Page) -> None:
    await start_race(page, server, solo(server, "corners", limit_ms=29_000))
    await page.wait_for_selector(".clock.late", state="attached")
    assert await page.is_visible(".clock.late")


@window(color_scheme="light")
async def test_preferences_survive_a_reload(server: Server, page: Page) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    await page.goto(server.url)
    light = await page.evaluate(ground)
    await page.click(".preferences > button")
    await page.select_option("#preference-theme", "dark")
    dark = await page.evaluate(ground)
    assert dark != light
    await page.select_option("#preference-suits", "two")
    await page.reload()
    await wait_until(page, f"{ground} === '{dark}'")
    assert await page.evaluate("document.documentElement.dataset.suits") == "two"


SHARE = """navigator.share = async ({ text }) => { window.shared = text; };
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });"""


async def test_result_is_copied_shared_and_compared_with_the_computer(server: Server, page: Page) -> None:
    race_id = server.create("the-edge", seed="a deal of its own", **SOLO)  # so par is public
    await page.add_init_script(SHARE)
    await start_race(page, server, race_id)
    await resign(page)
    link = f"{server.url}/r/{race_id}"
    await open_row(page, "Could it be solved?")
    await page.wait_for_selector(".par-chart")
    assert not await page.evaluate("sessionStorage.getItem('samedeal.last')")  # a race for one has no rematch
    copied = ""

    async def has_pace() -> bool:
        nonlocal copied
        await page.click("button:text-is('Copy result')")
        copied = await page.evaluate("window.copied")
        return "▁▁" in copied

    await until(has_pace, "the pace")
    assert copied == f"Same Deal · The Edge · 0 of 52 ▁▁▁▁▁▁▁▁\n{link}\n", "worse than the computer is no boast"
    assert copied.encode() == server.get(f"/api/v1/races/{race_id}/card.txt?seat=1")[1]
    await page.click("button:text-is('Share')")
    assert await page.evaluate("window.shared") == copied
    await page.goto(f"{server.url}/replay/{race_id}")
    label = await page.get_attribute(".par-chart [role=img]", "aria-label") or ""
    assert label.startswith("Cards home in the computer's games. ")
    assert label.endswith(" ada: 0.")
    games = sum(int(part.split(": ")[1].split(" ")[0]) for part in label.split(". ")[1].split(", "))
    assert f"played this deal {games} times" in await page.inner_text(".par p >> nth=0")
    assert await page.locator(".par-chart .own").count() == 1
    assert (await page.inner_text(".par-chart .mark")).strip("▾ ") == "ada"
    assert not await find_violations(page)


COUNT_MOVES = """
    window.moves = 0;
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
        if (JSON.parse(data).t === "move") window.moves += 1;
        send.call(this, data);
    };
"""
PRESS = """async (key) => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code: "KeyD", bubbles: true }));
    await new Promise((done) => setTimeout(done));
    return window.moves;
}"""


async def test_key_for_draw_works_on_every_keyboard(server: Server, page: Page) -> None:
    await page.add_init_script(COUNT_MOVES)
    await start_race(page, server, solo(server, "corners"))
    for ply, key in enumerate("Dв", start=1):
        assert await page.evaluate(PRESS, key) == ply
        await wait_for_ply(page, ply)
