"""All pages in a real browser: accessibility, layout at every window size, and download size."""

import pytest
from playwright.async_api import Browser

from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from support.browser import (
    WINS,
    browser_marks,
    find_violations,
    join_race,
    open_page,
    overflow,
    page_browser,
    page_server,
    solo,
    tap_moves,
    wait_for_deal,
    wait_for_ply,
)
from support.servers import Server, racers

pytestmark = browser_marks()
server, chromium = page_server, page_browser
SIZES = ((320, 568), (390, 844), (768, 1024), (1440, 900))
BOXES = "[...document.querySelectorAll('.pile, .keys button')].filter((element) => !element.hidden)"
BOXES += ".map((element) => element.getBoundingClientRect().toJSON())"
MAX_BYTES = 150_000


async def pages_of(server: Server) -> dict[str, str]:
    """Return the path of every kind of page, with a selector for its content."""
    race_id = solo(server, "corner-stones")
    async with racers(server, "bo") as (bo,):
        await bo.begin(race_id)
        for move in WINS["corner-stones"]["moves"][:10]:
            await bo.move(move)
        await bo.ask(m.Resign)
    await server.replay(race_id)
    waiting = server.create("gallery")
    return {
        "/": "text=Deals of the day",
        f"/r/{waiting}": "#name",
        f"/w/{waiting}": "text=You are watching",
        f"/r/{race_id}": "text=Verified ✓ Every move",
        f"/replay/{race_id}#m5": "text=Verified ✓ Every move",
        f"/p/{bo.player}": "h2:text-is('Newest races')",
        "/rules/gallery": ".rules h1",
        "/verify": "#replay",
        "/login#K7MP-X3QR-TW9D": "#code",
        "/r/no-such-race-1": "text=This race was not found",
    }


async def test_api_reference_fits_every_size(server: Server, chromium: Browser) -> None:
    """It uses no script, is not wider than the window, and has no broken internal links."""
    async with open_page(chromium) as watched:
        page = watched.page
        await page.goto(server.url + "/docs")
        assert await page.evaluate("document.scripts.length") == 0
        broken = "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))"
        assert await page.evaluate(broken + ".filter((id) => !document.getElementById(id))") == []
        for text in ("POST /api/v1/races", "/api/v1/deals/corners:{seed}/par", "illegal-move", "4009"):
            assert text in await page.inner_text("main")
        for width, height in SIZES:
            await page.set_viewport_size({"width": width, "height": height})
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            assert not await find_violations(page)
        assert watched.errors == []
        assert watched.foreign_urls(server) == []


async def test_axe_finds_no_violations_on_any_page(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as watched:
        for address, selector in (await pages_of(server)).items():
            await watched.page.goto("about:blank")  # changing only the fragment does not reload the page
            await watched.page.goto(server.url + address)
            await watched.page.wait_for_selector(selector)
            await watched.page.click(".preferences summary")
            for scheme in ("light", "dark"):
                await watched.page.select_option("#preference-theme", scheme)
                assert not await find_violations(watched.page), (address, scheme)


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_axe_finds_no_violations_at_a_table(slug: str, server: Server, chromium: Browser) -> None:
    race_id = solo(server, slug)
    async with open_page(chromium, 320, 568) as watched:
        page = watched.page
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        await tap_moves(page, WINS[slug]["moves"][:4])
        await wait_for_ply(page, 4)
        await page.click(".more summary")
        for scheme in ("light", "dark"):
            await page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
            assert not await find_violations(page), scheme


async def test_no_page_overflows_or_loads_foreign_resources(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as watched:
        page = watched.page
        for address, selector in (await pages_of(server)).items():
            await page.goto("about:blank")
            await page.goto(server.url + address)
            await page.wait_for_selector(selector)
            for width, height in SIZES:
                await page.set_viewport_size({"width": width, "height": height})
                assert await overflow(page) <= 0, (address, width)
        assert [fault for fault in watched.errors if "no-such-race" not in fault] == []
        assert not watched.foreign_urls(server)


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_table_fits_every_window_with_large_targets(slug: str, server: Server, chromium: Browser) -> None:
    race_id = solo(server, slug)
    async with open_page(chromium) as watched:
        page = watched.page
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        for width, height in (*SIZES, (844, 390)):
            await page.set_viewport_size({"width": width, "height": height})
            assert await overflow(page) <= 0, width
            for box in await page.evaluate(BOXES):
                assert box["width"] >= 24, (width, box)
                assert box["height"] >= 24, (width, box)
                assert box["left"] >= 0, (width, box)
                assert box["right"] <= width, (width, box)


async def test_race_page_downloads_under_150_kb(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corner-stones")
    async with open_page(chromium) as watched:
        await join_race(watched.page, server, race_id)
        await wait_for_deal(watched.page)
        assert sum(watched.fetched.values()) < MAX_BYTES
