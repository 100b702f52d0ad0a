"""Watching: open tables, how many watch, and the overlay for video streams."""

import pytest
from playwright.async_api import Browser, Page, Route, expect

from samedeal.wire import messages as m
from support.browser import IN_BROWSER, TIMEOUT_MS, Tab, check_layout, find_violations, open_page, overflow, window
from support.servers import Server, begin_together, racers, resign_all

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@window(320, 568)
async def test_spectators_see_all_open_tables_or_the_one_they_choose(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, spectators="open")
    async with racers(server, "ada", "bo", "cy") as players:
        await page.goto(f"{server.url}/w/{race_id}")
        await begin_together(race_id, players)
        await page.wait_for_selector(".boards figure:nth-child(3)")
        assert await page.locator(".boards figcaption").all_text_contents() == ["ada", "bo", "cy"]
        assert await page.locator(".field > .table:visible").count() == 0
        await players[1].move("draw")
        await page.wait_for_selector(".boards [aria-label='Table of bo'][data-ply='1']")
        for width in (320, 1280):
            await page.set_viewport_size({"width": width, "height": 568})
            await check_layout(page)
        await page.click(".side li:has-text('bo') button")
        await page.wait_for_selector(".field > .table[data-ply='1']:visible")
        assert not await page.is_visible(".boards")
        await page.click(".side li:has-text('bo') button")
        await page.wait_for_selector(".boards figure:nth-child(3):visible")
        await resign_all(players)
        await page.wait_for_selector("text=ada and 2 others tied for 1st of 3")


async def until_watching(page: Page, number: int) -> None:
    shown = page.get_by_text("watching", exact=False).filter(visible=True).filter(has_not_text="You are")
    if number:
        await expect(shown).to_have_text(f"{number} watching", timeout=TIMEOUT_MS)
    else:
        await expect(shown).to_have_count(0, timeout=TIMEOUT_MS)


async def test_lobby_race_and_overlay_show_how_many_watch(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, max_racers=2)
    async with (
        open_page(chromium, 320, 568) as watch,
        open_page(chromium, 1280, 720) as overlay,
        racers(server, "Ada", "Bo", "Eve") as (ada, bo, eve),
    ):
        await watch.page.goto(f"{server.url}/w/{race_id}")
        await overlay.page.goto(f"{server.url}/o/{race_id}")
        for shown in (watch, overlay):
            await until_watching(shown.page, 1)
        await eve.ask(m.Watch, race=race_id)
        for shown in (watch, overlay):
            await until_watching(shown.page, 2)
        await begin_together(race_id, (ada, bo))
        await watch.page.wait_for_selector(".race")
        for shown in (watch, overlay):
            await until_watching(shown.page, 2)
            await check_layout(shown.page)
        await eve.close()
        for shown in (watch, overlay):
            await until_watching(shown.page, 1)
        await watch.page.close()
        await until_watching(overlay.page, 0)
        for shown in (watch, overlay):
            assert shown.errors == []


# The overlay.

CONTROLS = "button, input, select, summary, [href]:not(link)"


async def shown(page: Page, text: str) -> None:
    await page.get_by_text(text, exact=True).first.wait_for()


@window(1280, 720)
async def test_overlay_follows_a_race_to_its_end(server: Server, page: Page, tab: Tab) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        for theme in ("unknown", "light"):
            await page.goto(f"{server.url}/o/{race_id}?theme={theme}")
            await shown(page, "Waiting for racers")
        await begin_together(race_id, (ada, bo))
        await shown(page, "0/48")
        assert await page.locator(".standings li").count() == 2
        assert await page.locator(".boards figure").count() == 0
        assert await page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgba(0, 0, 0, 0)"
        visible = [await control.is_visible() for control in await page.locator(CONTROLS).all()]
        assert True not in visible
        assert await find_violations(page) == []
        for width in (1280, 320):
            await page.set_viewport_size({"width": width, "height": 720})
            assert await overflow(page) == 0
        await resign_all((ada, bo))
        await shown(page, "Finished")
        await shown(page, "resigned")
        assert tab.foreign_urls(server) == []


@window(1280, 720)
async def test_overlay_shows_open_tables(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, spectators="open")
    async with racers(server, "ada", "bo", "cy", "di") as players:
        await page.goto(f"{server.url}/o/{race_id}")
        await begin_together(race_id, players)
        await page.wait_for_selector(".boards .table")
        assert sorted(await page.locator("figcaption").all_inner_texts()) == ["ada", "bo", "cy", "di"]
        await players[0].move("draw")
        await page.wait_for_selector('figure:has(bdi:text-is("ada")) [data-place="waste"] .card')
        height = await page.evaluate("document.documentElement.scrollHeight")
        assert height <= 720, "four tables fit a video of 720 lines"
        await resign_all(players)
        await shown(page, "Finished")
        assert await page.locator(".boards figure").count() == 0


@window(1920, 1080)
async def test_title_and_clock_stay_in_their_panel(server: Server, page: Page) -> None:
    inside = """() => [...document.querySelectorAll("h1 *")].every((part) => part.scrollWidth <= part.clientWidth
        && part.getBoundingClientRect().right <= part.parentElement.getBoundingClientRect().right)"""
    race_id = server.create("kings-in-the-corners", seed="1", start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        await page.goto(f"{server.url}/o/{race_id}")
        await shown(page, "Waiting for racers")
        assert await page.evaluate(inside)
        await begin_together(race_id, players)
        await page.wait_for_selector(".clock:text-matches('[0-9]:[0-9]')")
        for width in (1920, 390):
            await page.set_viewport_size({"width": width, "height": 1080})
            assert await page.evaluate(inside)


async def test_overlay_shows_nothing_that_the_race_hides(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, max_racers=1, spectators="after")
    async with racers(server, "ada") as (ada,):
        await page.goto(f"{server.url}/o/{race_id}")
        await ada.begin(race_id)
        await page.wait_for_selector(".clock:text-matches('[0-9]:[0-9]')")
        assert await page.locator(".standings li").count() == 0
        await ada.ask(m.Resign)
        await shown(page, "ada")


async def test_overlay_reconnects(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="1")
    requests = 0

    async def fail_twice(route: Route) -> None:
        nonlocal requests
        requests += 1
        await (route.abort() if requests <= 2 else route.continue_())

    async with racers(server, "ada") as (ada,):
        await page.route("**/events", fail_twice)
        await page.goto(f"{server.url}/o/{race_id}")
        await shown(page, "Waiting for racers")
        await ada.join(race_id)
        await shown(page, "ada")
        assert requests == 3


async def test_overlay_of_an_unknown_race_says_so(server: Server, page: Page, tab: Tab) -> None:
    tab.refusals = {404}
    await page.goto(f"{server.url}/o/no-such-race-1")
    await page.wait_for_selector("h1:text('Not found')")
