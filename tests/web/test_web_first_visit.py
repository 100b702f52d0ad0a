"""A first visit to the page, in a new browser without a name: names, hosts, and the rules."""

import pytest
from playwright.async_api import Browser

from support.browser import IN_BROWSER, open_page
from support.servers import Server

pytestmark = IN_BROWSER


async def test_a_guest_enters_a_name_once_and_is_offered_the_rules(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        page = tab.page
        for known in ("", "ada"):
            await page.goto(f"{server.url}/r/{server.create('corners')}")
            await page.wait_for_selector("#name")
            assert await page.input_value("#name") == known
            assert await page.get_attribute("main a:text-is('Rules of Corners')", "href") == "/rules/corners"
            await page.fill("#name", "ada")
            await page.click("button:text-is('Join')")
            await page.wait_for_selector("#ready")
            await page.wait_for_selector(".standings:has-text('ada (you)')")
        assert not tab.errors


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="C-2, P-F6")
async def test_who_races_a_friend_is_the_host_and_invites_by_name(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as ada, open_page(chromium) as bo:
        await ada.page.goto(server.url)
        await ada.page.click("button:text-is('Race a friend')")
        await ada.page.fill("#name", "ada")
        await ada.page.keyboard.press("Enter")
        await ada.page.wait_for_selector("#ready")
        await bo.page.goto(ada.page.url)
        await bo.page.wait_for_selector("#name")
        assert (await bo.page.inner_text("h1")).startswith("ada invites you")
        await bo.page.fill("#name", "bo")
        await bo.page.click("button:text-is('Join')")
        await bo.page.wait_for_selector("#ready")
        await ada.page.wait_for_selector("button:text-is('Start now')")
