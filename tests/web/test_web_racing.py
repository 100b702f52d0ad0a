"""Racing in a real browser: taps, keys, drags, undo and announcements."""

import asyncio

import pytest
from playwright.async_api import Browser, Page

from samedeal.games.catalogue import GAMES
from support.browser import (
    WINS,
    arrow_key_targets,
    browser_marks,
    join_race,
    move_focus,
    open_page,
    page_browser,
    page_server,
    places_of,
    solo,
    tap,
    tap_moves,
    wait_for_deal,
    wait_for_ply,
)
from support.servers import Server

pytestmark = browser_marks()
server, chromium = page_server, page_browser

KEYS_FIRST = {"corner-stones": 60}
"""Games with so many moves that one race is won by both: how many moves are made by keyboard, before the taps."""


@pytest.mark.parametrize("slug", sorted(GAMES.keys() - KEYS_FIRST.keys()))
async def test_race_can_be_won_by_tapping(slug: str, server: Server, chromium: Browser) -> None:
    race_id = solo(server, slug)
    async with open_page(chromium, reduced_motion="reduce") as watched:
        await join_race(watched.page, server, race_id)
        await wait_for_deal(watched.page)
        await tap_moves(watched.page, WINS[slug]["moves"])
        await watched.page.wait_for_selector("text=/Won in /")
        await watched.page.wait_for_selector("text=Verified ✓ Every move")
        assert not watched.errors
        assert not watched.foreign_urls(server)
    replay = await server.replay(race_id)
    assert replay.standings[0].outcome == "won"


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_race_can_be_won_by_keyboard(slug: str, server: Server, chromium: Browser) -> None:
    race_id = solo(server, slug)
    async with open_page(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/r/{race_id}")
        await page.wait_for_selector("#name:focus")
        await page.keyboard.type("ada")
        await page.keyboard.press("Enter")
        await wait_for_deal(page)
        moves, targets = WINS[slug]["moves"], await arrow_key_targets(page)
        by_keyboard = KEYS_FIRST.get(slug, len(moves))
        for ply, move in enumerate(moves[:by_keyboard], start=1):
            if move in ("draw", "deal", "redeal"):
                await page.keyboard.press("d")
            else:
                for place in places_of(move):
                    targets = await move_focus(page, place, targets)
                    await page.keyboard.press("Enter")
                await page.keyboard.press("m")  # has no effect unless the move is a prefix of another
            if ply < len(moves):
                await wait_for_ply(page, ply)
        await tap_moves(page, moves[by_keyboard:], first=by_keyboard)
        await page.wait_for_selector("text=/Won in /")
        assert not watched.errors


async def test_dragged_card_moves_or_returns_if_the_move_is_illegal(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corner-stones")
    async with open_page(chromium, 1024, 768) as watched:
        page = watched.page
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        source, target = places_of(WINS["corner-stones"]["moves"][0])
        await drag(page, source, "u1" if target != "u1" else "u2")
        await page.wait_for_selector(".bubble:visible")
        assert await page.inner_text("#status") == await page.inner_text(".bubble")
        await drag(page, source, target)
        await wait_for_ply(page, 1)
        assert not watched.errors


async def drag(page: Page, source: str, target: str) -> None:
    await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished))")
    card = page.locator(f'[data-place="{source}"] .card').last
    start, end = await card.bounding_box(), await page.locator(f'[data-place="{target}"]').bounding_box()
    assert start
    assert end
    await page.mouse.move(start["x"] + 15, start["y"] + 15)
    await page.mouse.down()
    await page.mouse.move(start["x"] + 30, start["y"] + 30, steps=3)
    await page.mouse.move(end["x"] + 15, end["y"] + 15, steps=5)
    await page.mouse.up()


async def test_double_tap_sends_a_card_home(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corner-stones")
    async with open_page(chromium) as watched:
        await join_race(watched.page, server, race_id)
        await wait_for_deal(watched.page)
        source, _ = places_of(WINS["corner-stones"]["moves"][0])
        await tap(watched.page, source)
        await tap(watched.page, source)
        await wait_for_ply(watched.page, 1)


async def test_undo_restart_and_impossible_tap(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corner-stones")
    first, *_ = WINS["corner-stones"]["moves"]
    async with open_page(chromium) as watched:
        page = watched.page
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        await tap_moves(page, [first])
        await wait_for_ply(page, 1)
        await page.click("button:text-is('Undo')")
        await wait_for_ply(page, 2)
        await tap_moves(page, [first], first=2)
        await wait_for_ply(page, 3)
        await page.click("text=Restart")
        await page.click("dialog >> text=No")
        await page.click("text=Restart")
        await page.click("dialog >> text=Yes")
        await wait_for_ply(page, 4)
        assert "attempt 2" in await page.inner_text(".standings")
        await tap(page, "u1")
        assert "cannot move" in await page.inner_text("#status")


async def test_moves_and_the_board_are_announced(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corners")
    async with open_page(chromium) as watched:
        page = watched.page
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        await tap_moves(page, ["r2"])
        await wait_for_ply(page, 1)
        await page.wait_for_selector("#status:text('to f')")
        await page.click(".more summary")
        await page.click("text=Read board")
        announcement = await page.inner_text("#status")
        assert "stock: " in announcement
        assert "face down" in announcement
        assert await page.locator('[data-place="r1"]').get_attribute("aria-label") == await page.evaluate(
            "document.querySelector('[data-place=r1]').ariaLabel"
        )


async def test_holding_a_pile_shows_all_its_cards(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corner-stones")
    async with open_page(chromium, 320, 568) as watched:
        page = watched.page
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        box = await page.locator('[data-place="l1"]').bounding_box()
        assert box
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


async def test_preferences_survive_a_reload(server: Server, chromium: Browser) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    async with open_page(chromium, color_scheme="light") as watched:
        page = watched.page
        await page.goto(server.url)
        light = await page.evaluate(ground)
        await page.click(".preferences summary")
        await page.select_option("#preference-theme", "dark")
        dark = await page.evaluate(ground)
        assert dark != light
        await page.select_option("#preference-suits", "two")
        await page.reload()
        assert await page.evaluate(ground) == dark
        assert await page.evaluate("document.documentElement.dataset.suits") == "two"


SHARE = """navigator.share = async ({ text }) => { window.shared = text; };
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });"""


async def test_result_is_copied_and_shared_as_the_server_words_it(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="a deal of its own", max_racers=1, start_delay_ms=0)  # so par is public
    async with open_page(chromium) as watched:
        page = watched.page
        await page.add_init_script(SHARE)
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        await page.click("button:text-is('Resign')")
        await page.click("dialog >> text=Yes")
        link = f"{server.url}/r/{race_id}"
        await page.wait_for_selector(".par-chart", timeout=240_000)
        async with asyncio.timeout(240):
            while "% of the computer" not in (copied := await copy_result(page)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert copied.startswith("Same Deal · Corners · 0 of 48 home · better than ")
        assert copied.endswith(f" ▁▁▁▁▁▁▁▁\n{link}\n")
        assert copied.encode() == server.get(f"/api/v1/races/{race_id}/card.txt?seat=1")[1]
        await page.click("button:text-is('Share')")
        assert await page.evaluate("window.shared") == copied
        assert not watched.errors


async def copy_result(page: Page) -> str:
    await page.click("button:text-is('Copy result')")
    copied: str = await page.evaluate("window.copied")
    return copied


async def test_daily_results_are_shown_while_the_replay_is_sealed(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as watched:
        page = watched.page
        await page.goto(server.url)
        await page.click('[aria-label="Play the Corners deal of the day"]')
        await page.fill("#name", "ada")
        await page.click("button:text-is('Join')")
        await wait_for_deal(page)
        await page.click("button:text-is('Resign')")
        await page.click("dialog >> text=Yes")
        await page.wait_for_selector("text=Others can still play this deal of the day")
        await page.wait_for_selector("text=/1. ada: \\d+ of 48, resigned/")
        assert await page.locator("a:text-is('Replay')").is_hidden()
        assert not watched.errors
        await page.goto(page.url.replace("/r/", "/replay/"))
        await page.wait_for_selector("h1:text('Not available yet')")
