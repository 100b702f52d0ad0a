"""Players report others from the results of a race."""

import json
from pathlib import Path

from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import browser_marks, find_violations, open_page, overflow, page_browser, wait_for_deal
from support.logged_server import LoggedServer, request
from support.servers import racers

pytestmark = browser_marks()
chromium = page_browser
KEY = "k" * 40


async def test_racer_reports_another_one(redis_url: str, tmp_path: Path, chromium: Browser) -> None:
    with LoggedServer(redis_url, tmp_path / "log", admin_key=KEY).start() as server:
        race_id = server.create("corners", max_racers=2, start_delay_ms=0)
        async with racers(server, "bo") as (bo,), open_page(chromium, 320, 568) as ada:
            await bo.join(race_id)
            await bo.ask(m.Ready)
            await ada.page.goto(f"{server.url}/r/{race_id}")
            await ada.page.fill("#name", "ada")
            await ada.page.click("button:text-is('Join')")
            await ada.page.click("#ready")
            await bo.dealt()
            await wait_for_deal(ada.page)
            await bo.ask(m.Resign)
            await ada.page.click("button:text-is('Resign')")
            await ada.page.click("dialog button:text-is('Yes')")
            await ada.page.click("button:text-is('Report a player')")
            assert await ada.page.locator("dialog select").first.locator("option").all_inner_texts() == ["bo"]
            await ada.page.select_option("dialog label:has-text('Reason') select", "cheating")
            await ada.page.fill("dialog textarea", "Two accounts.")
            assert not await find_violations(ada.page)
            assert await overflow(ada.page) <= 0
            await ada.page.click("dialog button:text-is('Send')")
            await ada.page.wait_for_selector("#status:has-text('will see your report about bo')")
            answer = request(server, "GET", "/api/v1/admin/reports", Authorization=f"Bearer {KEY}")
            (report,) = json.loads(answer.body)["reports"]
            assert (report["by"]["name"], report["about"]["name"]) == ("ada", "bo")
            assert (report["reason"], report["text"], report["race"]) == ("cheating", "Two accounts.", race_id)
