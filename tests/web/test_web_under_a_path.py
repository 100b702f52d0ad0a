"""The page under the path of a public URL, with a proxy that removes the path and without one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal import codec
from support.browser import (
    COPY,
    IN_BROWSER,
    NO_SHARE,
    open_as,
    open_page,
    solo,
    start_after,
    tap_moves,
    wait_for_ply,
    wait_until,
    window,
)
from support.forged_replays import played
from support.servers import Server
from support.under_a_path import PATH, ServerUnderPath
from support.vectors import WINS
from web.test_web_offline import visit

pytestmark = [*IN_BROWSER, pytest.mark.tier(3)]


@pytest.fixture(scope="module", params=[None, "nginx"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ServerUnderPath(tmp_path_factory.mktemp("path"), request.param) as running:
        yield running


async def test_every_page_loads_only_from_below_the_path(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners")
    paths = ["", "/", f"/r/{race_id}", f"/w/{race_id}", f"/o/{race_id}", "/rules", "/rules/gallery", "/fairness"]
    for path in [*paths, "/daily", "/login", "/verify", "/docs", "/practice/corners:1"]:
        async with open_page(chromium) as tab:
            await tab.page.goto(server.url + path)
            if path != "/docs":
                await tab.page.wait_for_selector("footer:not([hidden])", state="attached")
            hrefs = await tab.page.locator("a[href], link[href]").evaluate_all("all => all.map(({ href }) => href)")
            assert tab.errors == [], path
            assert tab.foreign_urls(server) == []
            assert [href for href in hrefs if not href.startswith(f"{server.url}/") and "#" not in href] == [], path


async def test_race_under_a_path_is_played_reloaded_shared_and_replayed(server: Server, page: Page) -> None:
    moves = WINS["the-edge"]["moves"]
    race_id = solo(server, "the-edge")
    await page.add_init_script(NO_SHARE)
    await page.add_init_script(COPY)
    await start_after(page, server, race_id, moves[:-4])
    await tap_moves(page, moves[-4:-1], first=len(moves) - 4)
    await wait_for_ply(page, len(moves) - 1)
    await page.reload()
    await page.wait_for_selector(f'.table[data-ply="{len(moves) - 1}"]')
    await tap_moves(page, moves[-1:], first=len(moves) - 1)
    await page.wait_for_selector("h1:text('You solved it in')")
    await page.wait_for_selector("text=digests received during the race match", state="attached")
    keys = await page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]")
    assert [key for key in keys if not key.startswith(f"samedeal{PATH}.")] == []
    assert f"samedeal{PATH}.guest" in keys
    await page.click("button:text-is('Copy result')")
    await wait_until(page, "window.copied")
    assert (await page.evaluate("window.copied")).endswith(f"\n{server.url}/r/{race_id}\n")
    await page.click("a:text-is('Watch the replay')")
    await page.wait_for_url(f"{server.url}/replay/{race_id}")
    await page.wait_for_selector("text=genuine", state="attached")
    await page.click("#top a.brand")
    await page.wait_for_url(f"{server.url}/")
    await page.wait_for_selector(f"main a[href='{PATH}/replay/{race_id}'], main a[href='{PATH}/daily']")


async def test_race_opened_under_a_path_has_its_link(server: Server, page: Page) -> None:
    await page.add_init_script(NO_SHARE)
    await page.add_init_script(COPY)
    await page.goto(server.url)
    await page.click("button:text-is('Race a friend')")
    await open_as(page)
    await page.wait_for_url(f"{server.url}/r/*")
    await page.click("button:text-is('Copy link')")
    assert await page.evaluate("window.copied") == page.url
    await page.click("button[aria-label='QR code']")
    await wait_until(page, "document.querySelector('img.qr').naturalWidth > 0")


@window(service_workers="allow")
async def test_page_works_offline_under_a_path_and_leaves_other_caches(
    server: Server, page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(codec.encode(await played(server, "gallery"), "json"))
    active = f"navigator.serviceWorker.ready.then(() => Boolean(localStorage.getItem('samedeal{PATH}.server.keys')))"
    await page.goto(f"{server.url}/api/v1/games")  # starts no service worker: it would remove caches too early
    await page.evaluate(
        "Promise.all(['other', `samedeal-${'0'.repeat(16)}`, `samedeal/cards-${'0'.repeat(16)}`,"
        " `samedeal/cards-2-${'0'.repeat(16)}`].map((name) => caches.open(name)))"
    )
    await visit(page, server, "/", active)
    worker = await page.evaluate("navigator.serviceWorker.ready.then(({ scope }) => scope)")
    assert worker == f"{server.url}/"
    await page.context.set_offline(True)
    await page.reload()
    await page.wait_for_selector("#facts:has-text('Offline')")
    await page.click("#facts a:text-is('Verify a file')")
    await page.set_input_files("#replay", file)
    await page.wait_for_selector(".verdict:text-is('Genuine, signed by this server')")
    await wait_until(page, "caches.keys().then((names) => names.length === 4)")
    names = await page.evaluate("caches.keys()")
    assert {"other", f"samedeal-{'0' * 16}", f"samedeal/cards-2-{'0' * 16}"} < set(names)
    assert f"samedeal/cards-{'0' * 16}" not in names
