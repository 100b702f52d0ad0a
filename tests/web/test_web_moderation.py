"""The page in a real browser: players who are kicked or banned learn why."""

from pathlib import Path

from playwright.async_api import Browser

from samedeal_cli.net.admin_api import AdminApi
from support.browser import browser_marks, join_race, open_page, page_browser, page_server, solo, wait_for_deal
from support.servers import Server

pytestmark = browser_marks()
server, chromium = page_server, page_browser


async def test_page_shows_why_a_player_is_kicked_and_banned(server: Server, chromium: Browser) -> None:
    administrator = AdminApi("http://127.0.0.1", path=Path(server._env["SAMEDEAL_DATA_DIR"]) / "admin.sock")
    async with open_page(chromium) as watched:
        page = watched.page
        await join_race(page, server, solo(server, "corners"), "eve")
        await wait_for_deal(page)
        administrator.post("kick", subject="eve", reason="please be kind")
        await page.wait_for_selector("text=An administrator has closed your connection: please be kind")
        await page.reload()
        await wait_for_deal(page)
        administrator.post("bans", subject="eve", reason="insults")
        await page.wait_for_selector("h1:text-is('Connection closed')")
        await page.wait_for_selector("text=/You are banned until .* UTC: insults/")
        await page.reload()
        await page.wait_for_selector("text=/You are banned until .* UTC: insults/")
