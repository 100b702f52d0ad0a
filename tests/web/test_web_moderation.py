"""Moderation on the page: why a player was removed, and reports about players."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from samedeal_server.operate.admin_api import AdminApi
from support.browser import IN_BROWSER, check_layout, open_page, resign, solo, start_race, take_seat, wait_for_deal
from support.logged_server import LoggedServer, request
from support.servers import Server, racers

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


KEY = "k" * 40


async def test_racer_reports_another_one(redis_url: str, tmp_path: Path, chromium: Browser) -> None:
    with LoggedServer(redis_url, tmp_path / "log", admin_key=KEY).start() as server:
        race_id = server.create("corners", max_racers=2, start_delay_ms=0)
        async with racers(server, "bo") as (bo,), open_page(chromium, 320, 568) as ada:
            await bo.join(race_id)
            await bo.ask(m.Ready)
            await take_seat(ada.page, server, race_id, "ada")
            await ada.page.click("#ready")
            await bo.dealt()
            await wait_for_deal(ada.page)
            await bo.ask(m.Resign)
            await resign(ada.page)
            await ada.page.click("button:text-is('Report a player')")
            await ada.page.wait_for_selector("dialog")
            assert await ada.page.locator("dialog select").first.locator("option").all_inner_texts() == ["bo"]
            await ada.page.select_option("dialog label:has-text('Reason') select", "cheating")
            await ada.page.fill("dialog textarea", "Two accounts.")
            await check_layout(ada.page)
            await ada.page.click("dialog button:text-is('Send')")
            await ada.page.wait_for_selector("#status:has-text('will see your report about bo')")
            answer = request(server, "GET", "/api/v1/admin/reports", Authorization=f"Bearer {KEY}")
            (report,) = json.loads(answer.body)["reports"]
            assert (report["by"]["name"], report["about"]["name"]) == ("ada", "bo")
            assert (report["reason"], report["text"], report["race"]) == ("cheating", "Two accounts.", race_id)
