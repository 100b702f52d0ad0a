"""Challenges on the page: opening one, playing it alone or together, what is sealed, and what is remembered."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from samedeal.games.corners import Corners
from samedeal.wire import messages as m
from support.browser import (
    COPY,
    IN_BROWSER,
    SHIFTS,
    check_layout,
    check_shift,
    check_themes,
    give_name,
    open_as,
    open_page,
    open_row,
    resign,
    wait_for_deal,
)
from support.contests import guest, open_contest
from support.servers import Racer, racers
from support.timed_server import TimedServer
from support.waiting import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SEALED = re.compile(r"/api/v1/(replays/|.*/(par|analysis|evening|card))")
"""Requests that the page does not make before the deals are public."""


async def challenge_friends(page: Page, timed: TimedServer, deals: str = "1") -> str:
    """Open a challenge at Corners as a new player. Return the path of its page."""
    await page.goto(timed.url)
    await page.click("button:text-is('Challenge friends')")
    await open_as(page, "Ada")
    await page.select_option("#game", "corners")
    await page.select_option("#number", deals)
    await page.select_option("#until", index=0)
    await page.click("dialog summary:text-is('Options')")
    await page.select_option("#filter", "any")
    await check_layout(page)
    await page.click("button:text-is('Open the challenge')")
    await page.wait_for_selector("h1:has-text('Your challenge: ')")
    return page.url.removeprefix(timed.url)


async def play(page: Page, button: str = "Play", name: str | None = None) -> None:
    """Play a deal of the challenge that the page shows alone, and resign."""
    await page.click(f"button:text-is('{button}')")
    if name:
        await open_as(page, name)
    await page.wait_for_selector(".start .counts:has-text('this race counts, even if you give up.')")
    await page.click("button:text-is('Play')")
    await wait_for_deal(page)
    await resign(page)
    await page.wait_for_selector("button:text-is('Back to the challenge')")


def document(timed: TimedServer, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(timed.get(f"/api/v1/challenges/{path.removeprefix('/c/')}")[1])
    return found


async def test_results_are_for_those_who_have_played_and_replays_for_all_after_the_reveal(
    timed: TimedServer, chromium: Browser
) -> None:
    async with open_page(chromium) as ada, open_page(chromium) as bo:
        page = ada.page
        await page.add_init_script(SHIFTS)
        path = await challenge_friends(page, timed)
        await play(page)
        assert await page.locator("a:text-is('Watch the replay'):visible").count() == 0
        assert await page.locator("button:text-is('Rematch'), button:text-is('Play again')").count() == 0
        await open_row(page, "Verification")
        await page.wait_for_selector("text=Others can still play this deal.")
        await check_themes(page)
        await page.click("button:text-is('Back to the challenge')")
        await page.wait_for_selector(".results tr.own:has-text('Ada (you)')")
        await check_shift(page)

        page = bo.page
        await page.add_init_script(SHIFTS)
        await page.goto(timed.url + path)
        await page.wait_for_selector("h1:text-is('Ada challenges you to Corners')")
        await page.wait_for_selector("text=Played by Ada.")
        await page.wait_for_selector("text=You’ll see the results once you’ve played.")
        assert await page.locator(".results").count() == 0
        await check_themes(page)
        await check_shift(page)
        await play(page, name="Bo")
        await page.click("button:text-is('Back to the challenge')")
        await page.wait_for_selector(".results tbody tr:has-text('Ada')")
        await page.wait_for_selector(".counts:has-text('of 2')")
        assert await page.locator(".results a").count() == 0
        await check_themes(page)
        await page.click("button:text-is('Play again')")
        await page.wait_for_selector("main > .counts:has-text('you’ve already played this deal')")
        await resign(page)
        await page.wait_for_selector("button:text-is('Back to the challenge')")
        await page.goto(timed.url)
        await page.wait_for_selector(
            "section[aria-label=Challenges] a[href*='/c/']:has-text('Ada’s challenge: Corners')"
        )
        await page.wait_for_selector("section[aria-label=Challenges] .hint:has-text('2 have played')")
        await check_themes(page)
        await check_shift(page)

        assert not [url for url in ada.requested | bo.requested if SEALED.search(url)]

        timed.set_clock(document(timed, path)["reveals_at"] + 60_000)
        await page.goto(timed.url + path)
        await page.wait_for_selector(".results a:has-text('resigned')")
        await page.wait_for_selector(f"code:text-is('samedeal table {timed.url}{path}')")
        await check_themes(page)
        async with page.expect_download() as download:
            await page.click("a:text-is('the log')")
        assert json.loads((await (await download.value).path()).read_text())["header"]["challenge"] in path
        await page.click(".results tbody tr:first-child a")
        await page.wait_for_selector("text=Verified ✓ Every move")
        await page.goto(page.url.split("#")[0].replace("/replay/", "/r/"))
        await page.wait_for_selector(".par p:has-text('The computer played')", state="attached")
        await page.evaluate(COPY)
        await page.click("button:text-is('Copy link')")
        assert await page.evaluate("window.copied") == timed.url + path
        assert ada.errors == bo.errors == []


async def play_better(timed: TimedServer, racer: Racer, path: str, deal: int) -> None:
    """Play a deal of a challenge alone until a card is home, and resign."""
    heat = {"challenge": path.removeprefix("/c/"), "deal": deal, "options": {"max_racers": 1, "start_delay_ms": 0}}
    opened = timed.get("/api/v1/races", heat, Authorization=f"Bearer {racer.token}")[1]
    await racer.begin(json.loads(opened)["race"])
    while not racer.board.home:
        moves = [*(racer.board.moves or ())]
        await racer.move(next((move for move in moves if move.endswith(tuple(Corners.foundations))), moves[0]))
    await racer.ask(m.Resign)
    await racer.until(lambda view: view.stage == "over")


async def test_deals_are_played_one_after_the_other_also_together(timed: TimedServer, chromium: Browser) -> None:
    async with open_page(chromium) as ada, open_page(chromium, 1440, 900) as bo, racers(timed, "Cy") as (cy,):
        page = ada.page
        path = await challenge_friends(page, timed, "3")
        await page.wait_for_selector("h1:text-is('Your challenge: 3 deals of Corners')")
        await play(page, "Play deal 1 of 3")
        await page.click("button:text-is('Back to the challenge')")
        await page.wait_for_selector("section[aria-label=Deals] li:has-text('you: 0 of 48')")
        assert await page.locator(".results").count() == 0, "there are more deals to play"
        await page.wait_for_selector("button:text-is('Play deal 2 of 3')")
        await page.click("button:text-is('Play with friends')")
        note = "Your challenge, deal 2 of 3: this race counts, even if you give up."
        await page.wait_for_selector(f"main > .counts:text-is('{note}')")
        await page.wait_for_selector("#ready")
        assert await page.locator("summary:text-is('+ bot'):visible").count() == 0
        assert await page.locator("summary:has-text('Change the game')").count() == 0
        await check_layout(page)

        page = bo.page
        await page.goto(timed.url + path)
        await page.wait_for_selector("li:has-text('Ada is waiting: 1 of 4')")
        await check_themes(page)
        await page.goto(timed.url)
        await page.wait_for_selector("section[aria-label=Challenges] .caution:has-text('Not played yet: ')")
        await page.go_back()
        await page.click("a:text-is('Join')")
        await page.wait_for_selector(".invitation .counts:has-text('Ada’s challenge, deal 2 of 3: this race counts')")
        await give_name(page, "Bo")
        for each in (page, ada.page):
            await each.click("#ready")
        for each in (page, ada.page):
            await wait_for_deal(each)
            await resign(each)
        for each in (page, ada.page):
            await each.click("button:text-is('Back to the challenge')")
        await page.wait_for_selector("button:text-is('Play deal 1 of 3')")

        page = ada.page
        await play(page, "Play deal 3 of 3")
        await page.click("button:text-is('Back to the challenge')")
        await page.wait_for_selector(".results tr.own:has-text('0/48 (1st) · 0/48 (1st) · 0/48 (1st)')")
        await check_layout(page)
        await page.goto(timed.url)
        for deal in (1, 2, 3):
            await play_better(timed, cy, path, deal)
        await until(lambda: document(timed, path)["played"] == [2, 3, 2])  # results are added shortly after a race
        await page.reload()
        await page.wait_for_selector(".caution:has-text('Cy has passed you: you’re 2nd now')")
        await page.click("section[aria-label=Challenges] a")
        await page.wait_for_selector(".counts:has-text('You’re 2nd of 3')")
        assert ada.errors == bo.errors == []


async def test_the_front_page_lists_open_challenges(timed: TimedServer, page: Page) -> None:
    ada, _ = guest(timed, "Ada")
    contest = open_contest(timed, ["gallery", "gallery"], ada, unlisted=False)
    await page.goto(timed.url)
    row = page.locator(f"li:has(a[href='/c/{contest.id}'])")
    assert (await row.locator("b").text_content()) == "Ada’s challenge: 2 deals of Gallery"
    await row.locator("a").click()
    await page.wait_for_selector("h1:text-is('Ada challenges you to 2 deals of Gallery')")


async def test_a_first_race_that_was_left_still_counts(timed: TimedServer, page: Page) -> None:
    await challenge_friends(page, timed)
    challenge = page.url
    await page.click("button:text-is('Play')")
    await page.click(".start button:text-is('Play')")
    await wait_for_deal(page)
    race = page.url
    await page.goto(challenge)
    await page.wait_for_selector("text=Your first race on this deal is still running.")
    await page.click("a:text-is('Back to your race')")
    await wait_for_deal(page)
    assert page.url == race
