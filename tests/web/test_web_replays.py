"""The replay page in a real browser."""

import re

from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import WINS, browser_marks, open_page, page_browser, page_server, solo
from support.servers import Server, racers

pytestmark = browser_marks()
server, chromium = page_server, page_browser


async def test_replay_seeks_to_a_linked_move_and_by_scrubber(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corners")
    moves = WINS["corners"]["moves"]
    async with racers(server, "bo") as (bo,):
        await bo.begin(race_id)
        for move in moves:
            await bo.move(move)
    await server.replay(race_id)
    async with open_page(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race_id}#m12")
        await page.wait_for_selector(f"text=/move 12 of {len(moves)}: {re.escape(moves[11])}/")
        await page.keyboard.press("ArrowRight")
        await page.wait_for_selector("text=/move 13 of/")
        assert page.url.endswith("#m13")
        await page.keyboard.press("End")
        await page.wait_for_selector(f"text=/move {len(moves)} of/")
        assert "48/48" in await page.inner_text(".tables figcaption")
        box = await page.locator(".scrubber").bounding_box()
        assert box
        await page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
        await page.wait_for_selector("text=The deal")
        await page.evaluate("location.hash = '#m3'")
        await page.wait_for_selector("text=/move 3 of/")
        await page.wait_for_selector("text=Verified ✓")
        await page.click("button:text-is('Play')")
        await page.wait_for_selector(f"text=/move {len(moves)} of/")
        assert not watched.errors


async def test_replay_shows_two_tables_on_one_clock(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        for racer in (ada, bo):
            await racer.join(race_id)
        await ada.ask(m.Ready)
        await bo.ask(m.Ready)
        for racer, count in ((ada, 5), (bo, 2)):
            await racer.until(lambda view: view.stage == "running")
            for _ in range(count):
                await racer.move((racer.board.moves or [])[0])
            await racer.ask(m.Resign)
    await server.replay(race_id)
    async with open_page(chromium, 1440, 900) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race_id}")
        await page.wait_for_selector(".tables .table")
        await page.click(".side li:not(.chosen) button")
        assert await page.locator(".tables .table").count() == 2
        await page.keyboard.press("End")
        assert await page.locator(".tables figcaption .count").all_inner_texts()
        assert not watched.errors
