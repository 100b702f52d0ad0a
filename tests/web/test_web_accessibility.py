"""All pages in a real browser: accessibility, layout at every window size, and download size."""

import asyncio

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from support.browser import (
    IN_BROWSER,
    SHIFTS,
    Tab,
    check_shift,
    check_themes,
    create_challenge,
    give_name,
    open_page,
    open_row,
    overflow,
    resign,
    solo,
    stored_guest,
    wait_for_deal,
)
from support.club_servers import found
from support.servers import Server, racers
from support.vectors import WINS

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
PHONE = (390, 844)
SIZES = ((1440, 900), (768, 1024), (320, 568), PHONE)
KEEP_SECTIONS_OF_EACH_KIND = """() => {
    const seen = new Set();
    for (const section of document.querySelectorAll("main > section")) {
        const all = [...section.querySelectorAll("*")];
        const kinds = all.map(({ tagName, className, parentElement }) => [parentElement.tagName, tagName, className]);
        const added = kinds.map(String).filter((kind) => !seen.has(kind));
        if (!added.length) section.remove();
        for (const kind of added) seen.add(kind);
    }
}"""
"""Removes sections that contain no new kind of element: axe takes long for 8,000 elements."""


PAGES = {
    "/": "text=Deal of the day",
    "/r/{waiting}": "#name",
    "/w/{waiting}": "text=You are watching",
    "/r/{over}": ".rows summary:has-text('Verified ✓')",
    "/replay/{over}#m5": "text=Verified ✓ Every move",
    "/c/{challenge}": "button:text-is('Play')",
    "{invitation}": "button:text-is('Join the club')",
    "/p/{player}": "h2:text-is('Newest races')",
    "/rules/gallery": ".rules h1",
    "/daily": ".daily",
    "/practice/gallery:811": ".practice",
    "/verify": "#replay",
    "/login#K7MP-X3QR-TW9D": "#code",
    "/r/no-such-race-1": "text=This race was not found",
}
"""The path of every kind of page, with a selector for its content."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def made(server: Server) -> dict[str, str]:
    """Return what the paths name."""
    race_id = solo(server, "corner-stones")
    async with racers(server, "bo") as (bo,):
        challenge = create_challenge(server, bo, "gallery")
        invitation = (found(server, bo.token or "").invitation or "").removeprefix(server.url)
        await bo.begin(race_id)
        for move in WINS["corner-stones"]["moves"][:10]:
            await bo.move(move)
        await bo.ask(m.Resign)
    await server.replay(race_id)
    ids = {"waiting": server.create("gallery"), "over": race_id, "player": bo.player}
    return ids | {"challenge": challenge, "invitation": invitation}


async def test_api_reference_fits_every_size(server: Server, page: Page, tab: Tab) -> None:
    """It uses no script, is not wider than the window, and has no broken internal links."""
    await page.goto(server.url + "/docs")
    assert await page.evaluate("document.scripts.length") == 0
    broken = "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))"
    assert await page.evaluate(broken + ".filter((id) => !document.getElementById(id))") == []
    for text in ("POST /api/v1/races", "/api/v1/deals/corners:{seed}/par", "illegal-move", "4009"):
        assert text in await page.inner_text("main")
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.evaluate(KEEP_SECTIONS_OF_EACH_KIND)
    await check_themes(page)
    assert tab.foreign_urls(server) == []


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_accessible_fits_every_window_stays_in_place_and_loads_nothing_else(
    path: str, made: dict[str, str], server: Server, page: Page, tab: Tab
) -> None:
    tab.refusals = {404}
    await page.add_init_script(SHIFTS)
    for width, height in ((1440, 900), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        await page.goto("about:blank")  # changing only the fragment does not reload the page
        await page.goto(server.url + path.format(**made))
        await page.wait_for_selector(PAGES[path])
        await check_shift(page)
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        assert await overflow(page) <= 0, width
    await page.click(".preferences > button")
    await check_themes(page)
    assert not tab.foreign_urls(server)


async def test_club_is_accessible_fits_every_window_and_stays_in_place(server: Server, page: Page) -> None:
    async with racers(server, "bo") as (bo,):
        club = found(server, bo.token or "").club
        await page.goto(f"{server.url}/healthz")
        await page.evaluate(stored_guest(bo))
    await page.add_init_script(SHIFTS)
    await page.goto(f"{server.url}/g/{club}")
    await page.wait_for_selector("section[aria-label='Invite friends']")
    await check_shift(page)
    for summary in ("QR code", "Manage the club"):
        await page.click(f"summary:text-is('{summary}')")
    await page.wait_for_selector("svg.qr")
    for width, height in (*SIZES, (844, 390)):
        await page.set_viewport_size({"width": width, "height": height})
        assert await overflow(page) <= 0, width
    await check_themes(page)


@pytest.mark.parametrize("size", [PHONE, (1440, 900)])
async def test_every_moment_of_a_race_is_accessible_and_stays_in_place(
    size: tuple[int, int], quiet: Server, chromium: Browser
) -> None:
    race_id = quiet.create("corners", max_racers=3, start_delay_ms=2000)
    async with open_page(chromium, *size) as tab, racers(quiet, "bo", "cy") as (bo, cy):
        page = tab.page

        async def check(selector: str) -> None:
            await page.wait_for_selector(selector)
            if size == PHONE:
                await check_themes(page)
            await check_shift(page)
            await page.evaluate("window.shift = 0")

        await page.add_init_script(SHIFTS)
        await bo.join(race_id)
        await page.goto(f"{quiet.url}/r/{race_id}")
        await check("#name:focus")
        await give_name(page)
        await check("#ready")
        await page.click("button:text-is('Practise while you wait')")
        await check(".practising .pile")
        assert await page.is_visible(".practising button:text-is('Undo')")
        await page.click("button:text-is('Back to the lobby')")
        for racer in (bo, cy):
            await racer.join(race_id)
            await racer.ask(m.Ready)
        await check(".ready-clock:has-text('Get ready within')")
        await page.click("#ready")
        await check(".countdown:not(:empty)")
        await asyncio.gather(bo.dealt(), cy.dealt())
        await wait_for_deal(page)
        await check(".pile.lit")
        await bo.ask(m.Resign)
        await page.wait_for_selector(".standings li.done:has-text('bo')", state="attached")
        await cy.ask(m.Resign)
        await resign(page)
        await check(".rows summary:has-text('Verified ✓')")
        await bo.ask(m.Again)
        await check(".next .who:has-text('bo wants a rematch.')")
        for title in ("Could it be solved?", "Verified ✓", "Scores"):
            await open_row(page, title)
        if size == PHONE:
            await check_themes(page)
        await page.click("button:text-is('Join the rematch')")
        await check("#ready:text-is('Cancel ready')")
        assert not tab.errors
