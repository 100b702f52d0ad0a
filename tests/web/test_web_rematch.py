"""Rematches on the page: one tap leads everybody to the same race."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from samedeal_server.live.awaited_players import AWAY_MS
from support.browser import (
    IN_BROWSER,
    check_layout,
    find_violations,
    join_race,
    open_page,
    resign,
    take_seat,
    verified,
    wait_for_deal,
)
from support.servers import Server, racers, resign_all
from support.sessions import viewed
from support.timed_server import HOUR_MS, TimedServer
from support.waiting import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
STAY = """(ms) => {
    const last = JSON.parse(sessionStorage.getItem("samedeal.last"));
    sessionStorage.setItem("samedeal.last", JSON.stringify({ ...last, until: Date.now() + ms }));
}"""
"""Set how much longer the page stays connected to its last race."""


async def test_racers_meet_in_the_rematch(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", max_racers=3, start_delay_ms=0, undo=False)
    async with open_page(chromium) as ada, open_page(chromium, 1280, 800) as bo, open_page(chromium, 320, 568) as eve:
        pages = ada.page, bo.page
        for page, name in zip(pages, ("ada", "bo"), strict=True):
            await take_seat(page, server, race_id, name)
        await eve.page.goto(f"{server.url}/w/{race_id}")
        for page in pages:
            await page.click("#ready")
        await asyncio.gather(*map(resign, pages))
        for page in (*pages, eve.page):
            await page.wait_for_selector(".end")
        await ada.page.select_option("select[aria-label='Rematch with another game']", "the-edge")
        await ada.page.wait_for_selector("#ready")
        for page in (bo.page, eve.page):
            await page.wait_for_selector("text=ada wants a rematch: The Edge.")
            await check_layout(page)
        assert await bo.page.evaluate("sessionStorage.getItem('samedeal.last')")
        assert not await eve.page.evaluate("sessionStorage.getItem('samedeal.last')")  # no rematch waits for her
        await ada.page.wait_for_selector("text=Waiting for bo…")
        await ada.page.click("#ready")  # not ready
        await bo.page.keyboard.press("n")
        await bo.page.wait_for_selector("#ready:text-is('Cancel ready')")
        await bo.page.wait_for_selector(".duel:has-text('0.5 : 0.5')")
        await eve.page.click("button:text-is('Join the rematch')")
        await eve.page.wait_for_selector("#name")  # a new player
        urls = {tab.page.url.rpartition("/")[2] for tab in (ada, bo, eve)}
        assert len(urls) == 1
        rematch = urls.pop()
        assert rematch != race_id
        await ada.page.click("#ready")
        await asyncio.gather(*map(wait_for_deal, pages))
        await ada.page.goto(f"{server.url}/r/{race_id}")
        await ada.page.click("button:text-is('Back to the rematch')")
        await asyncio.gather(*map(resign, pages))
        for page in pages:
            await verified(page)
        for page in pages:
            await page.wait_for_selector(".duel:has-text('1 : 1')")
            assert not await find_violations(page)
        for tab in (ada, bo, eve):
            assert tab.errors == []
    replay = await server.replay(rematch)
    assert (replay.header.follows, replay.header.game, replay.header.options.undo) == (race_id, "the-edge", False)
    assert {standing.name for standing in replay.standings} == {"ada", "bo"}


async def test_reloaded_results_lead_to_the_rematch(server: Server, page: Page) -> None:
    race_id = server.create("corners", max_racers=2, start_delay_ms=0)
    async with racers(server, "bo") as (bo,):
        await bo.join(race_id)
        await join_race(page, server, race_id)
        await bo.begin(race_id)
        await bo.ask(m.Resign)
        await resign(page)
        await page.wait_for_selector("button:text-is('Rematch')")
        answer = viewed(await bo.ask(m.Again))
        assert answer.next
        await page.reload()
        await page.wait_for_selector("text=bo wants a rematch.")
        await page.click("button:text-is('Join the rematch')")
        await page.wait_for_selector("#ready:text-is('Cancel ready')")
        assert page.url == f"{server.url}/r/{answer.next.race}"
        await page.reload()  # ready only once
        await page.wait_for_selector("#ready:text-is('Cancel ready')")
        await page.click("#ready")
        await page.reload()
        await page.wait_for_selector("#ready:text-is('Ready')")


async def test_results_of_a_friend_count_down_to_the_rematch_and_to_the_next_one(server: Server, page: Page) -> None:
    race_id = server.create("corners", max_racers=3, start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        for racer in (ada, bo):
            await racer.join(race_id)
        await join_race(page, server, race_id, "cy")
        await asyncio.gather(ada.begin(race_id), bo.begin(race_id))
        await resign_all((ada, bo))
        await resign(page)
        for join in ("Watch", "Join"):
            await ada.until(lambda view: view.stage == "over")
            answer = viewed(await ada.ask(m.Again))
            assert answer.next
            race_id = answer.next.race
            for racer in (ada, bo):
                await racer.join(race_id)
                await racer.ask(m.Ready)
            await page.wait_for_selector("text=ada wants a rematch.")
            await page.wait_for_selector("text=/In: ada, bo. Waiting for (you|cy)…/")
            await page.wait_for_selector(".ready-clock:text-matches('^It starts in [0-9]+ s at the latest.$')")
            await check_layout(page)
            assert not await find_violations(page)
            if join == "Join":
                break
            await ada.ask(m.Start)
            await page.wait_for_selector("text=The rematch has started.")
            await page.click("button:text-is('Watch the rematch')")
            await asyncio.gather(ada.dealt(), bo.dealt())
            await page.wait_for_selector("text=You are watching")  # so that the next rematch waits for cy
            await resign_all((ada, bo))
        await page.click("button:text-is('Join the rematch')")
        await asyncio.gather(ada.dealt(), bo.dealt())
        assert len(ada.view.standings if ada.view else ()) == 3


async def test_a_rematch_waits_for_a_friend_who_looks_at_the_replay(
    store_url: str, tmp_path: Path, chromium: Browser
) -> None:
    with TimedServer(store_url, tmp_path).start() as own:
        race_id = own.create("corners", max_racers=3, start_delay_ms=0)
        async with open_page(chromium, 320, 568) as tab, racers(own, "Ada", "Cy") as (ada, cy):
            page = tab.page
            for racer in (ada, cy):
                await racer.join(race_id)
            await join_race(page, own, race_id, "Ben")
            await asyncio.gather(ada.begin(race_id), cy.begin(race_id))
            await resign_all([ada, cy])
            await resign(page)
            await page.click("a:text-is('Watch the replay')")
            await page.wait_for_selector(".scrubber")
            await ada.until(lambda view: view.stage == "over")
            rematch = viewed(await ada.ask(m.Again)).next
            assert rematch
            await ada.join(rematch.race)
            await page.wait_for_selector(".way-back:has-text('Ada wants a rematch. In: Ada.')")
            assert (await page.title()).startswith("▶ ")
            await check_layout(page)
            own.advance(HOUR_MS)
            view = viewed(await ada.ask(m.Ready))
            assert (view.stage, set(view.awaited)) == ("open", {"Ben", "Cy"})
            await page.evaluate(STAY, 0)
            await page.wait_for_selector(".way-back", state="hidden")

            async def waits_for_cy_only() -> bool:
                own.advance(AWAY_MS)
                return viewed(await ada.ask(m.Ready)).awaited == ("Cy",)

            await until(waits_for_cy_only)
            await page.evaluate(STAY, HOUR_MS)
            await page.goto(f"{own.url}/rules/corners")
            await page.wait_for_selector(".way-back:has-text('Ada wants a rematch. In: Ada.')")
            await cy.join(rematch.race)
            await cy.ask(m.Ready)
            await page.wait_for_selector(".way-back :text-matches('^It starts in [0-9]+ s at the latest.$')")
            await page.click(".way-back button:text-is('Join')")
            await page.wait_for_url(f"{own.url}/r/{rematch.race}")
            await page.wait_for_selector(".standings:has-text('(you)')", state="attached")
            assert not await page.is_visible(".way-back")
            view = await ada.until(lambda view: view.stage != "open")
            assert {standing.name for standing in view.standings} == {"Ada", "Ben", "Cy"}
            assert tab.errors == []
