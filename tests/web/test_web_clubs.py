"""Clubs on the page: starting and joining one, its races, today's challenge, tables, ratings and members."""

import re
import time

import pytest
from playwright.async_api import Browser, Page

from samedeal.replays.log_files import ClubLog, read_log_file
from support.browser import (
    COPY,
    IN_BROWSER,
    NO_SHARE,
    SHIFTS,
    check_layout,
    check_shift,
    check_themes,
    give_name,
    open_as,
    open_page,
    resign,
    stored_guest,
    verified,
    wait_for_deal,
    wait_until,
)
from support.club_servers import members, once_finished, open_race, race
from support.contests import post
from support.servers import Racer
from support.timed_server import HOUR_MS, TimedServer

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
WEEK_MS = 7 * 24 * HOUR_MS


async def prepare(page: Page) -> None:
    for script in (SHIFTS, COPY, NO_SHARE):
        await page.add_init_script(script)


async def visit_as(page: Page, timed: TimedServer, name: str, token: str, player: str, path: str) -> None:
    """Open a page as a guest."""
    racer = Racer(name)
    racer.token, racer.player = token, player
    await page.goto(f"{timed.url}/healthz")
    await page.evaluate(stored_guest(racer))
    await page.goto(timed.url + path)


async def confirm(page: Page, button: str) -> None:
    await page.click(f"button:text-is('{button}')")
    await page.click("dialog button[value=yes]")


async def resign_race(*pages: Page) -> None:
    """Race from the lobby, and resign."""
    for page in pages:
        await page.click("#ready")
    for page in pages:
        await wait_for_deal(page)
        await resign(page)


async def test_friends_start_a_club_and_race_in_it(timed: TimedServer, chromium: Browser) -> None:
    async with open_page(chromium) as phone, open_page(chromium, 1440, 900) as desktop:
        ada, bo = phone.page, desktop.page
        await prepare(ada)
        await prepare(bo)
        await ada.goto(timed.url)
        await ada.wait_for_selector("h2:text-is('Friends')")
        assert await ada.locator("text=Your clubs").count() == 0
        await ada.click("button:text-is('Start a club')")
        await open_as(ada, "Ada")
        await ada.fill("#club-name", "Friday patience")
        await check_layout(ada)
        await ada.press("#club-name", "Enter")
        await ada.wait_for_selector("h1 bdi:text-is('Friday patience')")
        await check_themes(ada)
        await check_shift(ada)
        await ada.click("button.first:text-is('Copy link')")
        link = await ada.evaluate("window.copied")
        path = link.removeprefix(timed.url).partition("#")[0]
        assert ada.url == timed.url + path
        await ada.click("summary:text-is('QR code')")
        await ada.wait_for_selector("svg.qr[aria-label='Invitation link as a QR code']")

        await bo.goto(timed.url)
        await bo.fill("#race", link)
        await bo.click("button:text-is('Join')")
        await bo.wait_for_selector("p:has-text('A private club with 1 member: Ada.')")
        await check_themes(bo)
        await give_name(bo, "Bo")
        await bo.wait_for_selector("section[aria-label=Members] li:has-text('Bo (you)')")
        assert bo.url == timed.url + path, "the invitation is not in the address"
        await ada.wait_for_selector("section[aria-label=Members] li:has-text('Bo')")
        await bo.goto(f"{timed.url}/")
        await bo.click("p:has-text('Your clubs: ') a:has-text('Friday patience')")

        await bo.click("button:text-is('Race now')")
        await bo.wait_for_selector("#ready")
        await ada.click("li:has-text('Bo is waiting') a:text-is('Join')")
        await ada.click("button:text-is('Take a seat')")
        await resign_race(ada, bo)
        for page in (ada, bo):
            await verified(page)
            await page.click("a:text-is('Back to the club')")
            await page.wait_for_selector("section[aria-label=Scores] tr.own:has-text('0.5')")
            await page.wait_for_selector("section[aria-label=Ratings] tr.own:has-text('provisional'):has-text('1000')")
            await check_themes(page)
        await ada.click("button:has-text('Open today’s challenge: ')")
        await ada.wait_for_selector("h1:has-text('Your challenge: ')")
        await ada.click("a:text-is('Back to the club')")
        await ada.wait_for_selector("li:has-text('Nobody has played yet') a:text-is('Play')")
        assert await ada.locator("button:has-text('Open today’s challenge')").count() == 0
        await bo.click("section[aria-label='Today’s challenge'] a:text-is('Play')")
        await bo.click("button:text-is('Play')")
        await bo.click(".start button:text-is('Play')")
        await wait_for_deal(bo)
        await resign(bo)
        await bo.click("button:text-is('Back to the challenge')")
        await ada.wait_for_selector("li:has-text('Bo has played.') a:text-is('Play')")
        await bo.click("a:text-is('Back to the club')")
        await bo.wait_for_selector("li:has-text('Bo has played.') a:text-is('Results')")
        assert phone.errors == desktop.errors == []


async def test_lobby_has_no_seat_for_who_is_not_in_the_club(timed: TimedServer, chromium: Browser) -> None:
    club, ((token, _),) = members(timed, "Ada")
    async with open_page(chromium, 320, 568) as visitor:
        page = visitor.page
        await page.goto(f"{timed.url}/r/{open_race(timed, club.club, token).json['race']}")
        await give_name(page, "Kim")
        await page.wait_for_selector(".go .note:has-text('Only members of the club can do this. You are watching.')")
        assert not await page.is_visible("button:text-is('Take a seat')")
        await check_layout(page)


async def test_members_leave_and_the_owner_decides_about_the_rest(timed: TimedServer, chromium: Browser) -> None:
    club, ((ada, ada_id), (bo, bo_id), _) = members(timed, "ada", "bo", "cy")
    path = f"/g/{club.club}"
    async with open_page(chromium) as owner, open_page(chromium) as member, open_page(chromium) as stranger:
        for tab in (member, stranger):
            tab.refusals = {401, 409}
        owner.refusals = {503}
        await owner.page.route("**/history", lambda route: route.fulfill(status=503))  # it is only for the chart
        await prepare(owner.page)
        await visit_as(owner.page, timed, "ada", ada, ada_id, path)
        await visit_as(member.page, timed, "bo", bo, bo_id, path)
        page = member.page
        await page.wait_for_selector("section[aria-label=Members] li:has-text('bo (you)')")
        assert await page.locator("button:text-is('Remove')").count() == 0
        page = owner.page
        await page.click("button[aria-label='Remove bo']")
        await page.click("dialog:has-text('The invitation link will stop working, too.') button[value=yes]")
        await member.page.wait_for_selector("text=Only members can see this club.")
        again = post(timed, f"/clubs/{club.club}/invitation", None, ada).json["invitation"]
        await member.page.goto(again)
        await member.page.wait_for_selector("text=You’ll join as bo.")
        await member.page.click("button:text-is('Join the club')")
        await member.page.click("summary:text-is('Leave the club')")
        await confirm(member.page, "Leave the club")
        await member.page.wait_for_url(f"{timed.url}/")

        await page.click("summary:text-is('Manage the club')")
        await page.click("button:text-is('Rename')")
        await page.fill("#club-name", "Monday patience")
        await page.press("#club-name", "Enter")
        await page.wait_for_selector("h1 bdi:text-is('Monday patience')")
        await check_layout(page)
        await confirm(page, "New invitation")
        await stranger.page.goto(timed.url + path)
        await stranger.page.wait_for_selector("text=Only members can see this club.")
        await stranger.page.goto(again)
        await stranger.page.wait_for_selector("text=This invitation is not valid.")
        await page.click("button:text-is('Copy link')")
        await stranger.page.goto(await page.evaluate("window.copied"))
        await stranger.page.wait_for_selector("h1:has-text('Join Monday patience')")
        await page.click("button:text-is('Close the invitation')")
        await page.wait_for_selector("section[aria-label='Invite friends'] button:text-is('New invitation')")
        await give_name(stranger.page, "eve")
        await stranger.page.wait_for_selector(".refusal:has-text('This invitation is not valid.')")
        await confirm(page, "Dissolve")
        await page.wait_for_selector("text=This club has been dissolved. Its tables remain.")
        assert await page.locator("main button:visible").all_inner_texts() == ["Leave the club", "Download the log"]
        async with page.expect_download() as download:
            await page.click("button:text-is('Download the log')")
        file = read_log_file((await (await download.value).path()).read_bytes())
        assert isinstance(file, ClubLog)
        assert owner.errors == member.errors == stranger.errors == []


async def test_tables_and_ratings_over_weeks(timed: TimedServer, page: Page) -> None:
    now = time.time_ns() // 1_000_000
    timed.set_clock(now - WEEK_MS)
    club, people = members(timed, "ada", "bo")
    tokens = [token for token, _ in people]
    await race(timed, club.club, tokens)
    await once_finished(timed, club.club, tokens[0], 1)
    await prepare(page)
    await visit_as(page, timed, "ada", *people[0], f"/g/{club.club}")
    periods = page.locator("select[aria-label=Period] option")
    await periods.first.wait_for(state="attached")
    day, week, *_ = await periods.all_inner_texts()
    assert re.fullmatch(r"\w+ \d+", day)
    assert re.fullmatch(r"Week from \w+ \d+", week)
    timed.set_clock(now)
    for _ in range(9):
        await race(timed, club.club, tokens)
    await once_finished(timed, club.club, tokens[0], 10)
    await page.reload()
    rows = page.locator("section[aria-label=Scores] tbody tr")
    await rows.first.wait_for()
    assert await rows.evaluate_all("rows => rows.map((row) => row.cells[3].textContent)") == ["9", "9"]
    await check_shift(page)
    await page.select_option("select[aria-label=Period]", "all")
    assert await rows.evaluate_all("rows => rows.map((row) => row.cells[3].textContent)") == ["10", "10"]
    assert await periods.all_inner_texts() == ["Today", "This week", "This season", "All time"]
    await page.wait_for_selector("section[aria-label=Ratings] .tag", state="detached")  # ten races are enough
    chart = await page.locator("svg.chart").get_attribute("aria-label") or ""
    assert re.fullmatch(r"Ratings since \w+ \d+: (bo|ada) from \d+ to \d+, (ada|bo) from \d+ to \d+\.", chart), chart
    for width, height in ((390, 844), (844, 390), (1440, 900)):
        await page.set_viewport_size({"width": width, "height": height})
        await check_layout(page)
    await check_themes(page)
    ended = open_race(timed, club.club, tokens[0])
    assert ended.status == 201
    await wait_until(page, 'document.querySelector("section[aria-label=Races] a") !== null')
    assert await page.input_value("select[aria-label=Period]") == "all", "news change no choice"
