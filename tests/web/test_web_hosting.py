"""The host on the page, the ready clock, and races for one."""

import asyncio

import pytest
from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import IN_BROWSER, check_layout, give_name, open_page, solo, take_seat, wait_for_deal
from support.servers import Server, racers

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def test_the_host_removes_a_player_and_starts_without_the_idle_one(server: Server, chromium: Browser) -> None:
    async with open_page(chromium, 320, 568) as host, open_page(chromium) as guest, open_page(chromium) as idle:
        page = host.page
        await take_seat(page, server, solo(server, "corners"), "Ada")
        await wait_for_deal(page)  # a race for one starts by itself
        await page.goto(server.url)
        await page.click("summary:text-is('Custom race')")
        await page.click("button:text-is('Create a race')")
        await page.wait_for_selector("#ready")
        for other, name in ((guest, "Bo"), (idle, "Cy")):
            await other.page.goto(page.url)
            await other.page.wait_for_selector("h1:has-text('Ada invites you to Corner Stones')")
            await give_name(other.page, name)
            await other.page.wait_for_selector("text=Ada is the host.")
            assert await other.page.locator("button:text-is('Start now')").is_hidden()
            assert await other.page.locator("button:text-is('Remove')").count() == 0
        async with racers(server, "Di") as (di,):
            race_id = page.url.rpartition("/")[2]
            await di.join(race_id)
            await page.click("button[aria-label='Remove Di']")
            await page.click("dialog button[value=no]")
            await page.click("button[aria-label='Remove Di']")
            await page.click("dialog button[value=yes]")
            await page.wait_for_selector("button[aria-label='Remove Di']", state="detached")
            await di.connect(server)
            assert isinstance(await di.join(race_id), m.Problem)
        assert await page.locator("button:text-is('Start now')").is_disabled()
        await guest.page.click("#ready")
        await page.wait_for_selector("button:text-is('Start now'):enabled")
        await check_layout(page)
        await page.click("#ready")
        for watched in (host, guest, idle):
            await watched.page.wait_for_selector(".ready-clock:has-text('the race starts')")
        await page.click("button:text-is('Start now')")
        await asyncio.gather(*(wait_for_deal(watched.page) for watched in (host, guest)))
        await idle.page.wait_for_selector("h1:text-is('Your seat was released')")
        await idle.page.wait_for_selector("text=The race has started without you.")
        await idle.page.click("button:text-is('Watch')")
        await idle.page.wait_for_selector(".standings")
        assert not host.errors
        assert not guest.errors
