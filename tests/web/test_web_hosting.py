"""The lobby of a host, who adds bots, removes players and starts the race."""

import asyncio

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from support.browser import (
    IN_BROWSER,
    check_layout,
    give_name,
    open_as,
    open_page,
    overflow,
    solo,
    take_seat,
    wait_for_deal,
)
from support.servers import Server, racers
from support.sessions import viewed

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
            await other.page.wait_for_selector("h1:has-text('Ada challenges you to Corner Stones')")
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


async def tags(page: Page) -> list[str]:
    """Return the marks of the bots in the standings, as a screen reader reads them."""
    return await page.locator(".standings .tag").all_text_contents()


async def test_a_player_adds_bots_of_each_level_with_the_keyboard(server: Server, chromium: Browser) -> None:
    async with open_page(chromium, 320, 568) as watched, racers(server, "Bo") as (bo,):
        page, race = watched.page, server.create("corners", seed="225", start_delay_ms=0)
        await take_seat(page, server, race, "Ada")
        await page.click("summary:text-is('+ bot')")
        group = page.get_by_role("group", name="Add a bot")
        expert = group.get_by_role("button", name="Expert")
        await expert.press("Enter")
        await page.wait_for_selector(".standings li:has-text('Joker'):has-text('expert bot'):has-text('ready')")
        await page.wait_for_selector("button:text-is('Expert')[aria-disabled=true]:focus")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#status:text-is('Joker, the expert bot, is already in this race.')")
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Space")
        await page.wait_for_selector(".standings li:has-text('Deuce'):has-text('beginner bot')")
        await check_layout(page)
        await bo.join(race)
        viewed(await bo.ask(m.Bot))
        await page.wait_for_selector(".standings li:has-text('Trey'):has-text('regular bot')")
        await page.click("#ready")
        await bo.begin(race)
        await page.click(".strip")
        await page.wait_for_selector(".race .standings li:has-text('Joker')")
        assert sorted(await tags(page)) == ["beginner bot", "expert bot", "regular bot"]
        await bo.move("r2")
        await page.wait_for_selector(".standings li:has-text('Bo') progress[value='1']")  # by progress, without a view
        assert sorted(await tags(page)) == ["beginner bot", "expert bot", "regular bot"]
        assert await overflow(page) <= 0
        async with open_page(chromium, 1280, 720) as overlay:
            await overlay.page.goto(f"{server.url}/o/{race}")
            await overlay.page.wait_for_selector(".standings li:has-text('Joker'):has-text('expert bot')")
            assert overlay.errors == []
        assert watched.errors == []


async def test_the_host_changes_the_game_and_everyone_follows(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as host, open_page(chromium) as guest, open_page(chromium) as late:
        page = host.page
        await page.goto(server.url)
        await page.click("button:text-is('Race a friend')")
        await open_as(page, "Ada")
        await page.wait_for_selector("#ready")
        first = page.url
        await guest.page.goto(first)
        await give_name(guest.page, "Bo")
        await guest.page.click("#ready")
        await page.wait_for_selector(".standings li:has-text('Bo'):has-text('ready')")
        assert await guest.page.locator("summary:text-is('Change the game or the options')").count() == 0
        await page.click(".terms > summary")
        await page.click("summary:text-is('Change the game or the options')")
        assert [await page.input_value(field) for field in ("#limit", "#attempts")] == ["", ""], "those of each game"
        await page.select_option("#game", "corners")
        await page.fill("#limit", "4")
        await page.uncheck("#undo")
        await check_layout(page)
        await page.click("button:text-is('Change the race')")
        for watched in (host, guest):
            await watched.page.wait_for_selector("h1:text-is('Corners')")
            await watched.page.wait_for_selector(".standings:has-text('Ada'):has-text('Bo')")
            await watched.page.wait_for_selector(".terms > summary:text-is('4 min · no undo · fair shuffle')")
            await watched.page.wait_for_selector("#ready:text-is('Ready')")
        assert page.url == guest.page.url != first
        await late.page.goto(first)
        await late.page.wait_for_selector("h1:has-text('Ada challenges you to Corners')")
        assert late.page.url == page.url
        await guest.page.click("#ready")
        await page.click("#ready")
        await asyncio.gather(*(wait_for_deal(watched.page) for watched in (host, guest)))
        assert host.errors == guest.errors == late.errors == []


async def test_the_host_gives_a_player_a_head_start(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("button:text-is('Race a friend')")
    await open_as(page, "Ada")
    await page.wait_for_selector("#ready")
    async with racers(server, "Bo") as (bo,):
        first = page.url
        await bo.join(first.rpartition("/")[2])
        await page.wait_for_selector(".standings:has-text('Bo')")
        await page.click(".terms > summary")
        await page.click("summary:text-is('Change the game or the options')")
        await page.select_option("#ahead", label="Bo")
        await page.fill("#seconds", "20")
        await page.click("button:text-is('Change the race')")
        await page.wait_for_url(lambda url: url != first)
        await page.wait_for_selector("#ready")
        await bo.join(page.url.rpartition("/")[2])
        await page.wait_for_selector("text=Bo starts 20 s ahead.")
        await page.click(".terms > summary")
        await page.click("summary:text-is('Change the game or the options')")
        await page.wait_for_selector("#ahead")
        assert await page.input_value("#seconds") == "20", "another change keeps it"
        assert await page.locator("#ahead option:checked").inner_text() == "Bo"


async def test_the_way_back_leads_to_the_race_that_replaced_the_lobby(server: Server, page: Page) -> None:
    async with racers(server, "Ada") as (ada,):
        race_id = server.create("corners", token=ada.token)
        await ada.join(race_id)
        await take_seat(page, server, race_id, "bo")
        await page.goto(f"{server.url}/rules/corners")
        await page.wait_for_selector(f".way-back a[href='/r/{race_id}']")
        new = viewed(await ada.ask(m.Again, game="gallery")).next
        assert new
        await page.reload()
        await page.click(f".way-back a[href='/r/{new.race}']")
        await page.wait_for_selector(".standings:has-text('bo (you)')")


async def test_invitations_are_current_on_the_way_back_and_while_they_are_open(server: Server, page: Page) -> None:
    race_id = server.create("golf", max_racers=2)
    await page.goto(f"{server.url}/r/{race_id}")
    await page.wait_for_selector(".taken:text-is('0 of 2 seats taken')")
    await page.goto(f"{server.url}/fairness")
    async with racers(server, "Di", "Ed") as (di, ed):
        await di.join(race_id)
        await page.go_back()
        await page.wait_for_selector(".taken")
        assert await page.inner_text(".taken") == "1 of 2 seats taken"
        await ed.join(race_id)
        await page.wait_for_selector("text=This race is full.")
        assert await page.locator("button:text-is('Take a seat')").count() == 0
        await ed.ask(m.Leave)
        await page.wait_for_selector("button:text-is('Take a seat')")
