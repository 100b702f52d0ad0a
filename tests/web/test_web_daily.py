"""The deals of the day: today's results, the archive, and which race counts."""

import json
from datetime import date, timedelta

import pytest
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from support.browser import IN_BROWSER, Tab, check_layout, find_violations, give_name, open_row, resign, wait_for_deal
from support.daily_deals import alone, kept, next_day, once, reveal
from support.timed_server import HOUR_MS, TimedServer

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
EPOCH, FIRST = date(1970, 1, 1), date(2027, 1, 10)
TODAY = str(FIRST + timedelta(([*GAMES].index("corners") - (FIRST - EPOCH).days) % len(GAMES)))
"""A day on which the front page shows Corners first."""


async def resign_daily(page: Page) -> None:
    await resign(page)
    await open_row(page, "Verification")
    await page.wait_for_selector("text=Others can still play this deal.")


async def test_the_first_race_counts_and_every_page_says_so(timed: TimedServer, page: Page, tab: Tab) -> None:
    day = timed.noon(TODAY)
    play = 'button[aria-label="Play today’s Corners"]'
    await page.goto(timed.url)
    await page.click(play)
    await page.wait_for_selector("main .counts:has-text('This race counts')")
    await give_name(page, "ada")
    await resign_daily(page)
    assert await page.locator(".counts:visible").count() == 0
    await once(timed, day, lambda document: document["results"], "corners")
    await page.goto(timed.url)
    today = page.locator("section[aria-label='Deal of the day']:has-text('Corners'):has-text('You: 1st, 0 of 48')")
    await today.wait_for()
    assert "Played by ada." in await today.inner_text()
    assert "1 day so far" in await today.inner_text()
    assert await today.locator(".calendar a.played").all_inner_texts() == [str(int(TODAY[-2:]))]
    assert await page.inner_text(play) == "Play again"
    await page.click(play)
    await page.wait_for_selector("main > .counts:text-is('Only your first race on this deal counts: 0 of 48, 1st.')")
    await resign_daily(page)
    await page.wait_for_selector(".end .counts:text-is('Only your first race on this deal counts: 0 of 48, 1st.')")
    await page.wait_for_selector("text=/1. ada: \\d+ of 48/")
    assert await page.locator("a:text-is('Watch the replay')").is_hidden()
    assert not await find_violations(page)
    tab.refusals = {403}
    await page.goto(page.url.replace("/r/", "/replay/"))
    await page.wait_for_selector("h1:text('Not available yet')")


async def test_the_page_of_a_day_has_a_table_per_game_and_an_archive(timed: TimedServer, page: Page) -> None:
    day = timed.noon("2027-03-15")
    for name, moves in (("bo", 2), ("cy", 6), ("Dee", 0)):
        await alone(timed, name, "gallery", moves=moves)
    await kept(timed, day, 3, "gallery")
    await page.goto(f"{timed.url}/daily")
    await page.wait_for_selector("h1:text-is('Deals of the day')")
    for game in GAMES.values():
        await page.wait_for_selector(f"section[aria-label='{game.title}'] button[aria-label='Play: {game.title}']")
    rows = page.locator("section[aria-label='Gallery'] tbody tr")
    places = [text.split() for text in await rows.all_inner_texts()]
    assert len(places) == 3
    assert {place[1] for place in places} == {"bo", "cy", "Dee"}
    assert await rows.locator("a").count() == 0, "replays are sealed"
    await check_layout(page)
    reveal(timed, day)
    timed.set_clock(next_day(day).ends_at - 12 * HOUR_MS)
    await page.goto(f"{timed.url}/daily")
    await page.click("nav[aria-label='Calendar'] a[aria-label='Monday, March 15, 2027']")
    await page.wait_for_selector("h1:text-is('Deals for Monday, March 15, 2027')")
    assert page.url == f"{timed.url}/daily/{day.date}"
    await rows.first.wait_for()
    await rows.locator("a").first.click()
    await page.wait_for_selector(".boards .table")


async def test_a_revealed_deal_can_be_played(timed: TimedServer, page: Page) -> None:
    day = timed.noon("2027-03-22")
    await alone(timed, "bo", "gallery")
    await kept(timed, day, 1, "gallery")
    reveal(timed, day)
    await page.goto(f"{timed.url}/daily/{day.date}")
    await page.click("button[aria-label='Play this deal: Gallery']")
    await give_name(page, "ada")
    await wait_for_deal(page)
    deal = json.loads(timed.get(f"/api/v1/daily/{day.date}/gallery")[1])["deal"]
    header = json.loads(timed.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")[1])["header"]
    assert f"gallery:{header['seed']}" == deal


async def test_a_sealed_day_shows_no_deal_and_its_replays_cannot_be_opened(timed: TimedServer, page: Page) -> None:
    day = timed.noon("2027-03-29")
    race = await alone(timed, "bo", "gallery")
    await kept(timed, day, 1, "gallery")
    timed.set_clock(next_day(day).ends_at - 24 * HOUR_MS + 60_000)  # just after midnight
    await page.goto(f"{timed.url}/daily/{day.date}")
    await page.wait_for_selector("section[aria-label='Gallery'] tbody tr:has-text('bo')")
    assert await page.locator("main button:visible").count() == 0
    assert await page.locator(f"a[href*='{race}']").count() == 0
    await page.wait_for_selector("text=replays become public on")
