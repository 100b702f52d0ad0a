"""A real Chromium for tests of the page, with the actions of a user at a table."""

import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, FloatRect, Locator, Page, Request, Response, async_playwright

from support.move_buttons import complete
from support.node import WEB
from support.servers import Racer, Server, racers
from support.vectors import WINS
from support.waiting import LIMIT_S, until

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
SOLO: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}
AWAY_S = 31
"""How long the server of these tests holds a seat, in seconds."""
TIMEOUT_MS = LIMIT_S * 1000
"""How long tests wait for the page."""
HOLD_MS = next(line for line in (WEB / "table.js").read_text().splitlines() if line.startswith("const HOLD_MS ="))
"""The line of the page that says how long a press on a pile takes that shows the pile."""
COPY = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
NO_SHARE = "Object.defineProperty(navigator, 'share', { value: undefined })"
MAX_SHIFT = 0.02
"""How much a page may shift while it loads."""
SHIFTS = """
    window.shift = 0;
    new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value;
    }).observe({ type: "layout-shift", buffered: true });
"""
"""A script that adds up the layout shifts of a page, except those that follow an input."""
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
FINISHED = "Promise.all(document.getAnimations().map((one) => one.finished))"


needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="Chromium is not installed (on Debian: apt-get install chromium)"
)
"""Skips a test where there is no browser, except on CI, where it then fails (see conftest.py)."""


IN_BROWSER = [needs_browser, pytest.mark.asyncio(loop_scope="session")]
"""The marks of tests in a browser."""


@dataclass
class Tab:
    """A page that records its errors and downloads."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requested: set[str] = field(default_factory=set)
    fetched: dict[str, int] = field(default_factory=dict)
    """Bytes downloaded, by URL."""
    refusals: set[int] = field(default_factory=set)
    """The HTTP statuses that are not recorded as errors."""

    def on_request(self, request: Request) -> None:
        self.requested.add(request.url)

    def on_console(self, kind: str, text: str) -> None:
        """Record console errors, except failed requests, which are recorded with the response."""
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.errors.append(text)

    def foreign_urls(self, server: Server) -> list[str]:
        """Return the requested URLs of other servers."""
        return [url for url in self.requested if not url.startswith(server.url)]


@asynccontextmanager
async def launch_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as play:
        # The sandbox does not work for root in a container.
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        chromium = await play.chromium.launch(executable_path=BROWSER, args=arguments)
        try:
            yield chromium
        finally:
            await chromium.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an embedded store, for all tests. A test that finds a race by its deal uses a deal of its own."""
    with Server(data_dir=tmp_path_factory.mktemp("page"), connections_per_address="0", away_s=f"{AWAY_S}") as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """A browser for all tests."""
    async with launch_browser() as launched:
        yield launched


@pytest_asyncio.fixture(loop_scope="session")
async def tab(chromium: Browser, request: pytest.FixtureRequest) -> AsyncIterator["Tab"]:
    """A page in a browser context of its own, with the options of `window`. It must not record errors."""
    async with open_page(chromium, **getattr(request, "param", {})) as opened:
        yield opened
        assert opened.errors == [], opened.errors


@pytest.fixture
def page(tab: "Tab") -> Page:
    """The page of the tab."""
    return tab.page


def window(width: int = 390, height: int = 844, **context: Any) -> pytest.MarkDecorator:
    """Return the mark of a test that needs a window of another size, or other options of the browser context."""
    return pytest.mark.parametrize("tab", [{"width": width, "height": height, **context}], indirect=True, ids=["page"])


@asynccontextmanager
async def open_page(browser: Browser, width: int = 390, height: int = 844, **context: Any) -> AsyncIterator[Tab]:
    """Open a page in a new browser context with touch support.

    There is no service worker unless `service_workers` is "allow": Playwright cannot intercept its requests.
    """
    context = {"service_workers": "block"} | context
    window = await browser.new_context(viewport={"width": width, "height": height}, has_touch=True, **context)
    try:
        yield await new_tab(window)
    finally:
        await window.close()


async def new_tab(window: Any) -> Tab:
    """Open another tab in a browser context."""
    page: Page = await window.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    watched = Tab(page)

    async def record(response: Response) -> None:
        # The server refuses these while others race on the same open deal; this is not an error of the page.
        refused = response.status >= 400 and response.status not in watched.refusals
        if refused and not response.url.endswith(("/par", "/analysis")):
            watched.errors.append(f"{response.status}: {response.url}")
        with suppress(Error):  # the page may close before the sizes of its last responses are available
            sizes = await response.request.sizes()
            watched.fetched[response.url] = sizes["responseBodySize"] + sizes["responseHeadersSize"]

    page.on("request", watched.on_request)
    page.on("response", record)
    page.on("pageerror", lambda error: watched.errors.append(f"error: {error}"))
    page.on("console", lambda message: watched.on_console(message.type, message.text))
    return watched


async def give_name(page: Page, name: str = "ada") -> None:
    """Fill in the form that a player without a name sees."""
    await page.fill("#name", name)
    await page.press("#name", "Enter")


async def open_as(page: Page, name: str = "ada") -> None:
    """Answer the question for a name that a new player gets before opening a race with others."""
    await page.fill("dialog #name", name)
    await page.keyboard.press("Enter")


async def take_seat(page: Page, server: Server, race_id: str, name: str = "ada") -> None:
    """Join a race by its link, and wait for the seat.

    A page that is left earlier has not stored its player yet.
    """
    await page.goto(f"{server.url}/r/{race_id}")
    await give_name(page, name)
    await page.wait_for_selector(".standings:has-text('(you)')", state="attached")


async def join_race(page: Page, server: Server, race_id: str, name: str = "ada") -> None:
    """Take a seat and get ready; in a race for one, the page does that by itself."""
    await take_seat(page, server, race_id, name)
    _, view = server.get(f"/api/v1/races/{race_id}")
    if json.loads(view)["header"]["options"].get("max_racers") != 1:
        await page.click("#ready")


async def start_race(page: Page, server: Server, race_id: str, name: str = "ada") -> None:
    """Join a race and wait for the deal."""
    await join_race(page, server, race_id, name)
    await wait_for_deal(page)


def stored_guest(player: Racer, path: str = "") -> str:
    """Return a script that makes a player the guest of a browser, on a server below a path."""
    guest = {"name": player.name, "token": player.token, "player": player.player}
    return f"localStorage.setItem('samedeal{path}.guest', {json.dumps(json.dumps(guest))})"


async def start_after(page: Page, server: Server, race_id: str, moves: list[str], name: str = "ada") -> None:
    """Make the first moves of a race on a chosen seed without the page, which then takes over the seat."""
    async with racers(server, name) as (player,):
        await player.begin(race_id)
        for move in moves:
            await player.move(move)
        await page.goto(f"{server.url}/healthz")  # not a page, which could already ask for a name
        await page.evaluate(stored_guest(player, urlsplit(server.url).path))
        await page.goto(f"{server.url}/r/{race_id}")
        await page.wait_for_selector(f'.table[data-ply="{len(moves)}"]')


async def open_drawer(page: Page, name: str) -> None:
    """Open what a race shows only on request: "Reactions", "Rules" or "More"."""
    await page.click(f"button[aria-label='{name}']")


async def resign(page: Page) -> None:
    await open_drawer(page, "More")
    await page.click("button:text-is('Resign…')")
    await page.click("dialog button[value=yes]")


async def open_row(page: Page, title: str) -> None:
    """Open a row of the results, such as "Scores"."""
    await page.click(f".rows summary:has-text('{title}')")


async def verified(page: Page) -> None:
    """Wait until the results say that the race is verified."""
    await page.wait_for_selector(".rows summary:has-text('Verified ✓')")


def solo(server: Server, slug: str, **options: Any) -> str:
    """Create a race for one player on the deal of the recorded win. Return its id."""
    return server.create(slug, seed=WINS[slug]["seed"], **SOLO | options)


def create_challenge(server: Server, creator: Racer, *games: str) -> str:
    """Create a challenge with a deal of each game. Return its id."""
    token = {"Authorization": f"Bearer {creator.token}"}
    deals = [{"game": game, "options": {"filter": "any"}} for game in games]
    challenge: str = json.loads(server.get("/api/v1/challenges", {"deals": deals}, **token)[1])["challenge"]
    status, _ = server.get(f"/api/v1/challenges/{challenge}/nonce", {"nonce": "5e" * 32}, method="PUT", **token)
    assert status == 200
    return challenge


async def find_violations(page: Page, *rules: str) -> list[str]:
    """Return the serious and critical accessibility violations that axe finds, of all its rules or some."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    result = await page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{violation['id']}: {violation['help']}: {[node['html'][:160] for node in violation['nodes'][:3]]}"
        for violation in result["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


async def check_themes(page: Page) -> None:
    """Assert that axe finds no violation in the light theme, and no low contrast in the dark one."""
    await page.emulate_media(color_scheme="dark")
    assert not await find_violations(page, "color-contrast"), page.url
    await page.emulate_media(color_scheme="light")
    assert not await find_violations(page)


async def check_shift(page: Page) -> None:
    """Assert that the page, which has run SHIFTS, did not shift while it loaded or changed."""
    assert await page.evaluate(f"{PAINTED}.then(() => window.shift)") < MAX_SHIFT, page.url


async def check_layout(page: Page) -> None:
    """Assert that axe finds no violation, and that the page is not wider than the window."""
    assert not await find_violations(page)
    assert await overflow(page) <= 0


async def wait_until(page: Page, condition: str) -> None:
    """Wait until a JavaScript expression or its promise is true. The page does not permit Playwright's own way."""
    await until(lambda: page.evaluate(condition), condition)


async def wait_for_deal(page: Page) -> None:
    """Wait for the table before the first move."""
    await page.wait_for_selector('.table[data-ply="0"]')


def places_of(move: str) -> list[str]:
    """Return the places to tap for a move."""
    plain = move.partition(":")[0]
    if not re.fullmatch(r"([a-z]\d[+-]?|w)+", plain):
        return [] if plain == "home" else ["stock"]
    return ["waste" if name == "w" else name for name in re.findall(r"[a-z]\d|w", plain)]


async def wait_for_ply(page: Page, ply: int) -> None:
    """Wait until the given number of moves has been made, pressing "Make this move" if necessary."""
    await page.evaluate(
        """(ply) => new Promise((done, failed) => {
            const button = document.querySelector('button[aria-label="Make this move"]');
            if (button && !button.hidden) button.click();
            const table = document.querySelector(".table");
            const look = () => Number(table.dataset.ply) >= ply && done();
            new MutationObserver(look).observe(table, { attributes: true });
            setTimeout(() => failed(new Error(`move ${ply} was not made`)), 20000);
            look();
        })""",
        ply,
    )


async def tap(page: Page, *places: str) -> None:
    """Tap piles without waiting for animations, as Playwright's click does."""
    middles = await page.evaluate(
        """(places) => places.map((place) => {
            const pile = document.querySelector(`[data-place="${place}"]`);
            pile.scrollIntoView({ block: "nearest" });
            return pile;
        }).map((pile) => pile.getBoundingClientRect()).map(({ left, top }) => [left + 12, top + 12])""",
        places,
    )
    for x, y in middles:
        await page.touchscreen.tap(x, y)


async def box_of(element: Locator) -> FloatRect:
    """Return the place and the size of a visible element."""
    box = await element.bounding_box()
    assert box
    return box


async def prevent_long_presses(page: Page) -> None:
    """From now on, no press on a pile is a long one, however slow the machine is."""
    await page.evaluate(
        f"""(timeout => {{
            {HOLD_MS}
            window.setTimeout = (call, ms, ...rest) => timeout(call, ms === HOLD_MS ? 1e9 : ms, ...rest);
        }})(setTimeout)"""
    )


async def drag(page: Page, source: str, target: str) -> None:
    """Drag the last card of a pile to another pile with the mouse."""
    await prevent_long_presses(page)
    await page.evaluate(FINISHED)
    start = await box_of(page.locator(f'[data-place="{source}"] .card').last)
    end = await box_of(page.locator(f'[data-place="{target}"]'))
    await page.mouse.move(start["x"] + 15, start["y"] + 15)
    await page.mouse.down()
    await page.mouse.move(start["x"] + 30, start["y"] + 30, steps=3)
    await page.mouse.move(end["x"] + 15, end["y"] + 15, steps=5)
    await page.mouse.up()


async def tap_moves(page: Page, moves: list[str], first: int = 0) -> None:
    """Make moves by tapping. Does not wait for the last one, after which the table may be gone."""
    for ply, move in enumerate(moves, start=first + 1):
        await tap(page, *places_of(move))
        await complete(page, move)
        if ply - first < len(moves):
            await wait_for_ply(page, ply)


async def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    wider: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider
