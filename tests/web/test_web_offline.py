"""The page without a connection: the service worker keeps the page, and never a response of the API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page

from samedeal import codec
from support.browser import IN_BROWSER, Tab, check_layout, solo, start_race, wait_until, window
from support.forged_replays import played
from support.servers import Server, racers
from support.updated_server import UpdatedServer

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
ACTIVE = "navigator.serviceWorker.ready.then(() => Boolean(localStorage.getItem('samedeal.server.keys')))"


async def visit(page: Page, server: Server, path: str = "/", active: str = ACTIVE) -> None:
    """Open a page, and wait until it could be opened without a connection."""
    await page.goto(server.url + path)
    await page.wait_for_selector("footer:not([hidden])")
    await wait_until(page, active)


@pytest_asyncio.fixture(loop_scope="session")
async def listed_race(server: Server) -> AsyncIterator[None]:
    """A race that waits for a second racer, for the front page."""
    async with racers(server, "bo") as (bo,):
        await bo.join(solo(server, "corners", unlisted=False, max_racers=2))
        yield


@pytest.mark.usefixtures("listed_race")
@window(320, 568, service_workers="allow")
async def test_page_opens_offline_says_so_and_verifies_a_file(
    server: Server, page: Page, tab: Tab, tmp_path: Path
) -> None:
    replay = await played(server, "gallery")
    file = tmp_path / "replay.json"
    file.write_bytes(codec.encode(replay, "json"))
    await visit(page, server)
    assert await page.locator("main a[href^='/r/']").count() > 0
    await page.context.set_offline(True)
    await page.reload()
    await page.wait_for_selector("#facts:has-text('Offline')")
    await page.wait_for_selector("text=Cannot connect to the server")
    assert await page.locator("main a[href^='/r/'], main a[href^='/w/']").count() == 0
    await check_layout(page)
    await page.click("#facts a:text-is('Verify a file')")
    await page.set_input_files("#replay", file)
    await page.wait_for_selector(".verdict:text-is('Genuine, signed by this server')")
    await page.goto(f"{server.url}/r/unknown-race-1")
    await page.wait_for_selector("text=Cannot connect to the server. Trying again…")
    tab.refusals = {404}
    await page.context.set_offline(False)
    await page.wait_for_selector("h1:text-is('Not found')")
    await page.goto(server.url)
    await page.wait_for_selector("main a[href^='/r/']")
    assert await page.locator("#facts:has-text('Offline')").count() == 0


@window(service_workers="allow")
async def test_api_responses_and_the_socket_bypass_the_service_worker(server: Server, page: Page) -> None:
    await visit(page, server)
    await page.reload()
    await wait_until(page, "navigator.serviceWorker.controller !== null")
    cached = await page.evaluate(
        """async () => {
            const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
            const requests = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
            return requests.map(({ url }) => new URL(url).pathname);
        }"""
    )
    assert "/" in cached
    assert [path for path in cached if path != "/" and not path.startswith("/page/")] == []
    await page.context.set_offline(True)
    outcome = await page.evaluate("fetch('/api/v1/games').then(() => 'response', () => 'failed')")
    assert outcome == "failed"
    await page.context.set_offline(False)
    await start_race(page, server, solo(server, "corners"))


@window(service_workers="allow")
async def test_deployment_replaces_the_cached_page(tmp_path: Path, page: Page) -> None:
    old = Server(data_dir=tmp_path)
    names = "caches.keys()"
    with old:
        await visit(page, old)
        await page.reload()
        before = await page.evaluate(names)
    with UpdatedServer(data_dir=tmp_path).start(old.port):
        await page.reload()
        await page.wait_for_selector("footer:not([hidden])")
        source = await page.get_attribute("script[type=module]", "src")
        assert source
        assert before[0].removeprefix("samedeal-") not in source
        await wait_until(page, "navigator.serviceWorker.ready.then(({ waiting }) => waiting !== null)")
        # The new service worker takes over when the last page has closed.
        await page.goto("about:blank")
        await page.goto(old.url, wait_until="commit")  # on a busy machine, loading can wait for the new service worker
        await wait_until(page, f"{names}.then((names) => names.length === 1 && names[0] !== '{before[0]}')")
        await page.context.set_offline(True)
        await page.reload()
        await page.wait_for_selector("#facts:has-text('Offline')")
        assert await page.get_attribute("script[type=module]", "src") == source
