"""A real Chromium for tests of the page, with the actions of a user at a table."""

import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, Page, Request, Response, async_playwright

from support.servers import Server

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
WINS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["wins"]
SOLO: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}


needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser is installed (chromium)")
"""Skips a test where there is no browser, except on CI, where it then fails (see conftest.py)."""


def browser_marks() -> list[pytest.MarkDecorator]:
    """Return the marks of tests in a browser."""
    return [needs_browser, pytest.mark.asyncio(loop_scope="module")]


@dataclass
class Tab:
    """A page that records its errors and downloads."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requested: set[str] = field(default_factory=set)
    fetched: dict[str, int] = field(default_factory=dict)
    """Bytes downloaded, by URL."""

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


@pytest.fixture(scope="module")
def page_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an embedded store, for all tests of a module."""
    with Server(data_dir=tmp_path_factory.mktemp("page")) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page_browser() -> AsyncIterator[Browser]:
    """A browser for all tests of a module."""
    async with launch_browser() as chromium:
        yield chromium


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
    page.set_default_timeout(120_000)
    watched = Tab(page)

    async def record(response: Response) -> None:
        # The server refuses these while others race on the same open deal; this is not an error of the page.
        if response.status >= 400 and not response.url.endswith(("/par", "/analysis")):
            watched.errors.append(f"{response.status}: {response.url}")
        with suppress(Error):  # the page may close before the sizes of its last responses are available
            sizes = await response.request.sizes()
            watched.fetched[response.url] = sizes["responseBodySize"] + sizes["responseHeadersSize"]

    page.on("request", watched.on_request)
    page.on("response", record)
    page.on("pageerror", lambda error: watched.errors.append(f"error: {error}"))
    page.on("console", lambda message: watched.on_console(message.type, message.text))
    return watched


async def join_race(page: Page, server: Server, race_id: str, name: str = "ada") -> None:
    """Join a race by its link and get ready; in a race for one, the page does that by itself."""
    await page.goto(f"{server.url}/r/{race_id}")
    await page.fill("#name", name)
    await page.click("button:text-is('Join')")
    _, view = server.get(f"/api/v1/races/{race_id}")
    if json.loads(view)["header"]["options"].get("max_racers") != 1:
        await page.click("#ready")


def solo(server: Server, slug: str, **options: Any) -> str:
    """Create a race for one player on the deal of the recorded win. Return its id."""
    return server.create(slug, seed=WINS[slug]["seed"], **SOLO | options)


async def find_violations(page: Page) -> list[str]:
    """Return the serious and critical accessibility violations that axe finds."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    result = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {violation['help']}: {[node['html'][:160] for node in violation['nodes'][:3]]}"
        for violation in result["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


async def wait_for_deal(page: Page) -> None:
    await page.wait_for_selector('.table[data-ply="0"]')


def places_of(move: str) -> list[str]:
    """Return the places to tap for a move."""
    if re.fullmatch(r"[a-z]\d[a-z]\d", move):
        return [move[:2], move[2:]]
    if re.fullmatch(r"([a-z]\d[+-]?)+", move):
        return re.findall(r"[a-z]\d", move)
    return ["waste" if move == "w" else "stock"]


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


async def tap_moves(page: Page, moves: list[str], first: int = 0) -> None:
    """Make moves by tapping. Does not wait for the last one, after which the table may be gone."""
    for ply, move in enumerate(moves, start=first + 1):
        await tap(page, *places_of(move))
        if ply - first < len(moves):
            await wait_for_ply(page, ply)


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


async def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    wider: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider
