"""A browser for the tests of the page: real Chromium, and what a person does with a table in it."""

import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, Response, async_playwright

from servers import Server

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WINS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors.json").read_text())["wins"]


@dataclass
class Watched:
    """A page with all that went wrong on it, and all that it fetched."""

    page: Page
    faults: list[str] = field(default_factory=list)
    fetched: dict[str, int] = field(default_factory=dict)
    """Bytes of each address."""

    def heard(self, kind: str, text: str) -> None:
        """What the page says to those who develop it; answers with a status of failure are noted where they come in."""
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.faults.append(text)

    def foreign(self, server: Server) -> list[str]:
        """The addresses that do not belong to the server."""
        return [url for url in self.fetched if not url.startswith(server.url)]


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as play:
        # In a container there is no sandbox for the superuser.
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        chromium = await play.chromium.launch(executable_path=BROWSER, args=arguments)
        try:
            yield chromium
        finally:
            await chromium.close()


@asynccontextmanager
async def opened(browser: Browser, width: int = 390, height: int = 844, **context: Any) -> AsyncIterator[Watched]:
    """A new window with a memory of its own."""
    window = await browser.new_context(viewport={"width": width, "height": height}, **context)
    try:
        yield await tab(window)
    finally:
        await window.close()


async def tab(window: Any) -> Watched:
    """A page of a window, watched."""
    page: Page = await window.new_page()
    page.set_default_timeout(20_000)
    watched = Watched(page)

    async def note(response: Response) -> None:
        sizes = await response.request.sizes()
        watched.fetched[response.url] = sizes["responseBodySize"] + sizes["responseHeadersSize"]
        # Par is refused while others race the same open deal: that is no fault of the page.
        if response.status >= 400 and not response.url.endswith("/par"):
            watched.faults.append(f"{response.status}: {response.url}")

    page.on("response", note)
    page.on("pageerror", lambda error: watched.faults.append(f"error: {error}"))
    page.on("console", lambda message: watched.heard(message.type, message.text))
    return watched


async def seated(page: Page, server: Server, race: str, name: str = "ada") -> None:
    """Takes a seat by the link and is ready."""
    await page.goto(f"{server.url}/r/{race}")
    await page.fill("#name", name)
    await page.click("text=Take a seat")
    await page.click("#ready")


async def dealt(page: Page) -> None:
    await page.wait_for_selector('.table[data-ply="0"]')


def taps(move: str) -> list[str]:
    """The places that one taps to make a move."""
    if re.fullmatch(r"[a-z]\d[a-z]\d", move):
        return [move[:2], move[2:]]
    if re.fullmatch(r"([a-z]\d[+-]?)+", move):
        return re.findall(r"[a-z]\d", move)
    return ["waste" if move == "w" else "stock"]


async def made(page: Page, ply: int) -> None:
    """Waits until so many moves have been made; a group that others begin with too takes a word to make it."""
    word = page.locator("button", has_text="Make this move")
    if await word.is_visible():
        await word.click()
    await page.wait_for_selector(f'.table[data-ply="{ply}"]')


async def tap_all(page: Page, moves: list[str], first: int = 0) -> None:
    """Makes moves by tapping; the last may be the end of the race, where there is no table any more."""
    for ply, move in enumerate(moves, start=first + 1):
        for place in taps(move):
            await page.click(f'[data-place="{place}"]', position={"x": 12, "y": 12})
        if ply - first < len(moves):
            await made(page, ply)


async def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    wider: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider
