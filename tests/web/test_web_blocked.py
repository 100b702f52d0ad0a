"""What a browser or a network blocks: storage, and single files of the page."""

import pytest
from playwright.async_api import Browser

from support.browser import IN_BROWSER, open_page
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


@pytest.mark.parametrize(("button", "wanted"), [("Join", "#ready"), ("Watch", ".standings")])
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


async def test_other_pages_work_without_storage(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.add_init_script(BLOCK_STORAGE)
        for path in ("/", "/daily", "/verify", "/rules/corners", "/practice/corners:1"):
            await tab.page.goto(server.url + path)
            await tab.page.wait_for_selector("footer:not([hidden])", state="attached")
        assert not tab.errors


@pytest.mark.parametrize("file", ["celebration.js", "analysis.js"])
async def test_invitation_opens_without_the_files_that_it_does_not_need(
    file: str, server: Server, chromium: Browser
) -> None:
    async with open_page(chromium) as tab:
        await tab.page.route(f"**/{file}", lambda route: route.abort())
        await tab.page.goto(f"{server.url}/r/{server.create('corners')}")
        await tab.page.wait_for_selector("#name, h1:text-is('Connection failed')")
        assert await tab.page.locator("#name").count() == 1


async def test_page_waits_for_a_file_that_the_server_refuses(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.route("**/lobby.js", lambda route: route.fulfill(status=429, headers={"Retry-After": "1"}))
        await tab.page.goto(f"{server.url}/r/{server.create('corners')}")
        await tab.page.wait_for_selector("text=A part of this page could not be loaded")
        await tab.page.unroute("**/lobby.js")
        await tab.page.wait_for_selector("#name")


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
