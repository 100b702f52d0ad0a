"""The front page: the games, the button to race a friend, today's deals, and the lists of races."""

import json

import pytest
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from support.browser import IN_BROWSER, find_violations, open_as, overflow, wait_for_deal
from support.servers import Server, begin_together, racers, resign_all

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SIZES = ((320, 568), (390, 844), (844, 390), (768, 1024), (1440, 900))
MAX_SHIFT = 0.02
SHIFTS = """
    window.shift = 0;
    new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) window.shift += value;
    }).observe({ type: "layout-shift", buffered: true });
"""
CARDS_OUTSIDE = """() => [...document.querySelectorAll(".miniature")].filter((miniature) => {
    const box = miniature.getBoundingClientRect();
    return [...miniature.querySelectorAll(".card")].map((card) => card.getBoundingClientRect()).some(
        ({ left, right, top, bottom }) =>
            left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1);
}).length"""


async def test_each_game_has_a_picture_its_pitch_and_two_buttons(server: Server, page: Page) -> None:
    await page.goto(server.url)
    for game in GAMES.values():
        tile = page.locator(".tiles li").filter(has=page.locator(f"h3:text-is('{game.title}')"))
        assert game.pitch in await tile.inner_text()
        assert await tile.locator(".miniature[aria-hidden] .card").count() >= 8
        assert await tile.locator(f"button[aria-label='Race a friend at {game.title}']").is_visible()
        assert await tile.locator(f"button[aria-label='Play alone: {game.title}']").is_visible()
    assert not await find_violations(page)
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        assert await page.evaluate(CARDS_OUTSIDE) == 0, width
        assert await overflow(page) <= 0, width


async def test_one_tap_opens_a_race_and_its_lobby(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("button:text-is('Race a friend')")
    await open_as(page)
    await page.wait_for_selector("#ready")
    first = page.url
    await page.goto(server.url)
    await page.click("button[aria-label='Race a friend at Gallery']")
    await page.wait_for_selector("#ready")  # the name is known
    await page.goto(server.url)
    await page.click("button:text-is('Race a friend')")
    await page.wait_for_selector("#ready")
    assert await page.inner_text("h1") == "Gallery", "the game of the last race"
    assert page.url != first


async def test_play_alone_deals_at_once(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("button[aria-label='Play alone: Corner Stones']")
    await page.wait_for_selector(".start button:text-is('Play')")
    race_id = page.url.rpartition("/")[2]
    assert race_id not in await page.inner_text("body")
    assert await page.locator("button:text-is('Watch')").count() == 0
    assert await page.input_value("#name") == " ".join(word.capitalize() for word in race_id.split("-")[:2])
    assert not await find_violations(page)
    assert await overflow(page) <= 0
    await page.click("button:text-is('Play')")
    await wait_for_deal(page)
    _, view = server.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")
    assert json.loads(view)["header"]["options"]["unlisted"]


async def test_open_and_running_races_have_lists_of_their_own(server: Server, page: Page) -> None:
    waiting = server.create("the-edge")
    running = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
    empty = server.create("the-edge")
    async with racers(server, "ada", "bo") as players, racers(server, "cy") as (cy,):
        await cy.join(waiting)
        await begin_together(running, players)
        await page.goto(server.url)
        lists = {name: page.locator(f"section[aria-label='{name}']") for name in ("Open races", "Running now")}
        await lists["Running now"].locator(f"li:has-text('{running}, 2 racing')").wait_for()
        await lists["Open races"].locator(f"li:has-text('{waiting}, 1 of 8 seats taken')").wait_for()
        assert waiting not in await lists["Running now"].inner_text()
        assert empty not in await lists["Open races"].inner_text()
        assert running not in await lists["Open races"].inner_text()
        await page.click(f"a[aria-label='Watch Corners, {running}']")
        await page.wait_for_selector("text=watching")
        await resign_all(players)


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_shifts_while_the_lists_load(size: tuple[int, int], server: Server, page: Page) -> None:
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    await page.add_init_script(SHIFTS)
    await page.goto(server.url)
    await page.wait_for_selector("footer:not([hidden])", state="attached")
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert await page.evaluate("window.shift") < MAX_SHIFT


async def test_the_front_page_says_so_if_the_lists_are_unavailable(server: Server, page: Page) -> None:
    for path in ("daily", "races", "replays"):
        await page.route(f"**/api/v1/{path}?*", lambda route: route.abort())
    await page.goto(server.url)
    await page.wait_for_selector("section[aria-label='Open races']:has-text('Cannot connect to the server.')")
    await page.wait_for_selector("section[aria-label='Deals of the day']:has-text('Cannot connect to the server.')")
    assert await page.is_visible("button[aria-label='Race a friend at Gallery']")
