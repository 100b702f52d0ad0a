"""A browser for the tests of the page: real Chromium, and what a person does with a table in it."""

import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Error, Page, Response, async_playwright

from support.servers import Server

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WINS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["wins"]


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
    """A new window with a memory of its own, that can be touched."""
    window = await browser.new_context(viewport={"width": width, "height": height}, has_touch=True, **context)
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
        # Par is refused while others race the same open deal: that is no fault of the page.
        if response.status >= 400 and not response.url.endswith("/par"):
            watched.faults.append(f"{response.status}: {response.url}")
        with suppress(Error):  # the page may be closed before the sizes of its last answers are known
            sizes = await response.request.sizes()
            watched.fetched[response.url] = sizes["responseBodySize"] + sizes["responseHeadersSize"]

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
    await page.evaluate(
        """(ply) => new Promise((done, failed) => {
            const word = [...document.querySelectorAll("button")].find((one) => one.textContent === "Make this move");
            if (word && !word.hidden) word.click();
            const table = document.querySelector(".table");
            const look = () => Number(table.dataset.ply) >= ply && done();
            new MutationObserver(look).observe(table, { attributes: true });
            setTimeout(() => failed(new Error(`there was no move ${ply}`)), 20000);
            look();
        })""",
        ply,
    )


async def tap(page: Page, *places: str) -> None:
    """A finger on piles, without the waiting for things to stand still that a click of Playwright comes with."""
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


async def tap_all(page: Page, moves: list[str], first: int = 0) -> None:
    """Makes moves by tapping; the last may be the end of the race, where there is no table any more."""
    for ply, move in enumerate(moves, start=first + 1):
        await tap(page, *taps(move))
        if ply - first < len(moves):
            await made(page, ply)


async def neighbours(page: Page) -> dict[str, dict[str, str]]:
    """Where each arrow key leads from each pile."""
    found: dict[str, dict[str, str]] = await page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".pile")].map((pile) => [pile.dataset.place,
            Object.fromEntries(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => {
                pile.focus();
                pile.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
                return [key, document.activeElement.dataset.place];
            }))]))"""
    )
    return found


def way(ways: dict[str, dict[str, str]], start: str, end: str) -> list[str]:
    """The fewest arrow keys from one pile to another."""
    reached: dict[str, list[str]] = {start: []}
    for place in (order := [start]):
        for key, following in ways[place].items():
            if following not in reached:
                reached[following] = [*reached[place], key]
                order.append(following)
    return reached[end]


async def walk(page: Page, place: str, ways: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Moves the focus to a pile with the arrow keys, as one would who sees where it lies. Answers with where they lead.

    Where piles have grown since that was found out, they may lead elsewhere.
    """
    for _ in range(5):
        here: str | None = await page.evaluate("document.activeElement.dataset.place ?? null")
        if here == place:
            return ways
        if here is None:
            await page.focus(".pile[tabindex='0']")
            continue
        for key in way(ways, here, place):
            await page.keyboard.press(key)
        if await page.evaluate("document.activeElement.dataset.place") != place:
            ways = await neighbours(page)
            await page.focus(f'[data-place="{here}"]')
    raise AssertionError(f"{place} cannot be reached by arrow keys")


async def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    wider: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider
