"""What a browser or a network blocks: storage, and single files of the page."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Route

from support.browser import IN_BROWSER, SOLO, open_page
from support.forged_replays import played
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
BLOCK_STORAGE = """
    for (const name of ["localStorage", "sessionStorage"]) {
        Object.defineProperty(window, name, { get() {
            throw new DOMException(`Failed to read the '${name}' property from 'Window'`, "SecurityError");
        } });
    }
    for (const name of ["error", "unhandledrejection"]) {
        addEventListener(name, (event) => {
            document.documentElement.dataset.failure = String(event.reason ?? event.message);
        });
    }
"""
"""Do as a browser that blocks all cookies: reading either storage throws."""


@pytest.mark.parametrize(("button", "wanted"), [("Take a seat", "#ready"), ("Just watch", ".standings")])
async def test_races_can_be_entered_without_storage(
    button: str, wanted: str, server: Server, chromium: Browser
) -> None:
    async with open_page(chromium) as tab:
        page = tab.page
        await page.add_init_script(BLOCK_STORAGE)
        await page.goto(f"{server.url}/r/{server.create('corners')}")
        await page.fill("#name", "ada")
        await page.click(f"button:text-is('{button}')")
        await page.wait_for_selector(f"{wanted}, html[data-failure]", state="attached")
        assert await page.get_attribute("html", "data-failure") is None


async def test_other_pages_work_without_storage(quiet: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.add_init_script(BLOCK_STORAGE)
        for path in ("/", "/daily", "/verify", "/rules/corners", "/practice/corners:1"):
            await tab.page.goto(quiet.url + path)
            await tab.page.wait_for_selector("footer:not([hidden])", state="attached")
        assert not tab.errors


@pytest.mark.parametrize("path", ["/", "/r/{}", "/replay/{}"])
async def test_page_opens_without_the_modules_that_it_does_not_preload(
    path: str, server: Server, chromium: Browser
) -> None:
    async with open_page(chromium) as tab:
        race = (await played(server, "corners")).header.race if "replay" in path else server.create("corners")
        url = server.url + path.format(race)
        preloaded = set(re.findall(r'modulepreload".* href="(.*?)"', await (await tab.page.request.get(url)).text()))

        async def serve(route: Route) -> None:
            await (route.continue_() if urlsplit(route.request.url).path in preloaded else route.abort())

        await tab.page.route(re.compile(r"\.m?js$"), serve)
        await tab.page.goto(url)
        await tab.page.wait_for_selector("footer:not([hidden])", state="attached")
        assert await tab.page.locator("h1:text-is('Connection failed')").count() == 0


async def test_page_waits_for_a_file_that_the_server_refuses(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.route("**/play.js", lambda route: route.fulfill(status=429, headers={"Retry-After": "1"}))
        await tab.page.goto(f"{server.url}/r/{server.create('corners', **SOLO)}")
        await tab.page.click("button:text-is('Play')")
        await tab.page.wait_for_selector("text=A part of this page could not be loaded")
        await tab.page.unroute("**/play.js")
        await tab.page.wait_for_selector(".race .tools")


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("home.js", "h1:text-is('Reload this page') ~ .row button:text-is('Reload')"),
        ("custom_race.js", "[role=alert]:has-text('a newer version of this page') button:text-is('Reload')"),
        ("play.js", ".race .tools"),
    ],
)
async def test_page_that_misses_a_file_after_an_upgrade_offers_to_reload_or_reloads(
    file: str, wanted: str, server: Server, chromium: Browser
) -> None:
    """A race reloads by itself."""
    async with open_page(chromium) as tab:

        async def send_version(route: Route) -> None:
            if file == "play.js":
                await tab.page.unroute("**/play.js")
            await route.fulfill(body="0123456789abcdef")

        await tab.page.route(f"**/{file}", lambda route: route.fulfill(status=404))
        await tab.page.route("**/page/version", send_version)
        await tab.page.goto(f"{server.url}/r/{server.create('corners', **SOLO)}" if file == "play.js" else server.url)
        if file == "play.js":
            await tab.page.click("button:text-is('Play')")
        if file == "custom_race.js":
            await tab.page.click("summary:text-is('Custom race')")
        await tab.page.wait_for_selector(wanted)


async def test_page_says_so_if_its_first_file_is_missing(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.route("**/main.js", lambda route: route.abort())
        await tab.page.goto(server.url, wait_until="domcontentloaded")
        await tab.page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
        await tab.page.wait_for_selector("text=This page is taking a while to load")


@pytest.mark.parametrize(
    "fault", ["setTimeout(() => { throw Error('broken') })", "void Promise.reject(Error('broken'))"]
)
async def test_page_shows_errors_that_nothing_handles(fault: str, server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.goto(server.url)
        await tab.page.wait_for_selector("footer:not([hidden])", state="attached")
        await tab.page.evaluate(fault)
        await tab.page.wait_for_selector("[role=alert]:has-text('Something went wrong: broken')")
        assert await tab.page.is_visible("[role=alert] button:text-is('Reload')")
