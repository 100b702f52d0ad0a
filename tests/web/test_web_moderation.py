"""The page in a real browser: players who are kicked or banned learn why."""

from pathlib import Path

import pytest
from playwright.async_api import Page

from samedeal_cli.net.admin_api import AdminApi
from support.browser import IN_BROWSER, solo, start_race, wait_for_deal
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def test_page_shows_why_a_player_is_kicked_and_banned(server: Server, page: Page) -> None:
    administrator = AdminApi("http://127.0.0.1", path=Path(server._env["SAMEDEAL_DATA_DIR"]) / "admin.sock")
    await start_race(page, server, solo(server, "corners"), "mallory")
    administrator.post("kick", subject="mallory", reason="please be kind")
    await page.wait_for_selector("text=An administrator has closed your connection: please be kind")
    await page.reload()
    await wait_for_deal(page)
    administrator.post("bans", subject="mallory", reason="insults")
    await page.wait_for_selector("h1:text-is('Connection closed')")
    await page.wait_for_selector("text=/You are banned until .* UTC: insults/")
    await page.reload()
    await page.wait_for_selector("text=/You are banned until .* UTC: insults/")
