"""Versions of the page: its files never change, and an open page notices a deployment."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Request

from support.browser import IN_BROWSER, Tab, open_page, solo, start_after, tap_moves, wait_for_ply
from support.servers import Server
from support.updated_server import UpdatedServer
from support.vectors import WINS

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
VERSION = re.compile(r"/page/([0-9a-f]{16})/")


async def loaded_version(page: Page) -> str:
    source = await page.get_attribute("script[type=module]", "src")
    assert source
    match = VERSION.search(source)
    assert match
    return match[1]


async def downloaded(page: Page) -> list[str]:
    """Return the files of the page that were not taken from the browser's cache."""
    transfers = "performance.getEntriesByType('resource').filter(({ transferSize }) => transferSize)"
    urls: list[str] = await page.evaluate(f"{transfers}.map(({{ name }}) => name)")
    return [url for url in urls if VERSION.search(url)]


def is_version_request(request: Request) -> bool:
    return request.url.endswith("/page/version")


@pytest.mark.parametrize("path", ["/", "/r/{}", "/w/{}", "/verify"])
async def test_every_page_preloads_exactly_the_modules_that_it_loads_first(
    path: str, server: Server, page: Page, tab: Tab
) -> None:
    await page.goto(server.url + path.format(server.create("corners")))
    await page.wait_for_selector("footer:not([hidden])")
    names = "document.querySelectorAll('link[rel=modulepreload]')"
    preloaded = set(await page.evaluate(f"[...{names}].map(({{ href }}) => href)"))
    loaded = {url for url in tab.requested if url.endswith(("js", "mjs"))}
    # On /verify, a worker loads modules, too; spectators load the results in the background.
    assert preloaded <= loaded if path.startswith(("/w/", "/verify")) else preloaded == loaded, path
    assert all(VERSION.search(url) for url in preloaded)


async def test_second_visit_requests_no_files(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.wait_for_selector("footer:not([hidden])")
    assert await downloaded(page)
    await page.goto(f"{server.url}/?again")
    await page.wait_for_selector("footer:not([hidden])")
    assert await downloaded(page) == []


async def test_open_page_finishes_its_race_on_the_new_version_and_reloads(tmp_path: Path, chromium: Browser) -> None:
    moves = WINS["the-edge"]["moves"]
    old = Server(data_dir=tmp_path)
    async with open_page(chromium) as watched:
        page = watched.page
        with old:
            race_id = solo(old, "the-edge")
            await start_after(page, old, race_id, moves[:-3])
            before = await loaded_version(page)
        asked = asyncio.ensure_future(page.wait_for_event("requestfinished", is_version_request))
        with UpdatedServer(data_dir=tmp_path).start(old.port):
            await asked
            await tap_moves(page, moves[-3:-1], first=len(moves) - 3)
            await wait_for_ply(page, len(moves) - 1)
            assert await loaded_version(page) == before
            await tap_moves(page, moves[-1:], first=len(moves) - 1)
            await page.wait_for_selector("h1:text('You solved it in')")
            await page.wait_for_function(f"!document.querySelector('script[src*=\"{before}\"]')")
            await page.wait_for_selector("h1:text('You solved it in')")
            await page.wait_for_selector("text=digests received during the race match", state="attached")
            assert await loaded_version(page) != before
    # While the server was down, requests failed.
    assert not [error for error in watched.errors if "ERR_CONNECTION" not in error]


async def test_open_lobby_reloads_with_the_new_version_and_keeps_its_seat(tmp_path: Path, chromium: Browser) -> None:
    old = Server(data_dir=tmp_path)
    async with open_page(chromium) as watched:
        page = watched.page
        with old:
            await page.goto(f"{old.url}/r/{old.create('corners')}")
            await page.fill("#name", "ada")
            await page.click("button:text-is('Take a seat')")
            await page.wait_for_selector("#ready")
            before = await loaded_version(page)
        with UpdatedServer(data_dir=tmp_path).start(old.port):
            await page.wait_for_selector(f"html:not(:has(script[src*='{before}']))", state="attached")
            await page.wait_for_selector("#ready")
            await page.wait_for_selector(".standings:has-text('ada (you)')")
            assert await page.locator(".standings li").count() == 1


async def test_page_of_an_old_version_still_loads_its_other_modules(tmp_path: Path, page: Page) -> None:
    old = Server(data_dir=tmp_path)
    with old:
        await page.goto(old.url)
        await page.wait_for_selector("footer:not([hidden])")
    with UpdatedServer(data_dir=tmp_path).start(old.port):
        before = await loaded_version(page)
        exports = await page.evaluate(f"import('/page/{before}/verifier.js').then(Object.keys)")
        assert exports == ["checkReplay", "startVerifier"]
