"""The page of a player in a real browser: scores, races, and the record against the user."""

import pytest
from playwright.async_api import Page

from support.browser import IN_BROWSER, Tab, check_layout, open_row, stored_guest, window
from support.servers import Racer, Server, begin_together, racers, resign_all
from support.stores import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def race(server: Server, *players: Racer, unlisted: bool = False) -> str:
    """Let the first player make a move, and all resign. Return the id once the race counts."""
    race_id = server.create("corners", seed="225", start_delay_ms=0, unlisted=unlisted)
    await begin_together(race_id, players)
    await players[0].move("r2")
    await resign_all(players)
    await server.replay(race_id)
    headers = {"Authorization": f"Bearer {players[0].token}"}
    path = f"/api/v1/players/{players[0].player}"
    await until(lambda: race_id.encode() in server.get(path, **headers)[1])
    return race_id


@window(320, 568)
async def test_page_shows_scores_races_and_the_record(server: Server, page: Page) -> None:
    async with racers(server, "ada", "bo") as (ada, bo):
        listed = await race(server, ada, bo)
        unlisted = await race(server, ada, bo, unlisted=True)
        await page.goto(f"{server.url}/p/{ada.player}")
        await page.wait_for_selector("text=1 race, 1 win, 0 solved")
        assert await page.title() == "ada · Same Deal"
        assert "best 1 of 48" in await page.inner_text("section[aria-label='Games']")
        assert await page.query_selector("section[aria-label^='You and']") is None
        assert unlisted not in await page.inner_text("main")
        await page.evaluate(stored_guest(bo))
        await page.reload()
        await page.wait_for_selector("text=2 races, 2 wins, 0 solved")
        await page.wait_for_selector(".record:has-text('bo 0 : 2 ada')")
        assert unlisted in await page.inner_text("section[aria-label='Newest races']")
        for width in (320, 1440):
            await page.set_viewport_size({"width": width, "height": 568})
            await check_layout(page)
        await page.focus(f"a[href='/p/{bo.player}']")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("h1:has-text('bo (you)')")
        await page.focus(f"a[href='/replay/{listed}']")
        await page.keyboard.press("Enter")
        await page.click(f"section[aria-label='Players'] a[href='/p/{ada.player}']")
        await page.wait_for_selector("h1 bdi:text-is('ada')")


async def test_results_link_to_players(server: Server, page: Page) -> None:
    async with racers(server, "cy", "dee") as (cy, dee):
        race_id = await race(server, cy, dee)
        await page.goto(f"{server.url}/r/{race_id}")
        await open_row(page, "Scores")
        await page.click(f".standings a[href='/p/{dee.player}']")
        await page.wait_for_selector("h1 bdi:text-is('dee')")


async def test_players_who_have_not_raced_each_other(server: Server, page: Page, tab: Tab) -> None:
    tab.refusals = {401, 404}
    async with racers(server, "eve", "fay", "gus") as (eve, fay, gus):
        await race(server, eve, fay)
        await page.goto(f"{server.url}/p/{eve.player}")
        await page.evaluate(stored_guest(gus))
        await page.reload()
        await page.wait_for_selector("text=You have not raced each other yet.")
        await page.evaluate("localStorage.setItem('samedeal.guest', JSON.stringify({token: 'gone', player: '0'}))")
        await page.reload()
        await page.wait_for_selector("h1 bdi:text-is('eve')")
        await page.goto(f"{server.url}/p/0123456789abcdef")
        await page.wait_for_selector("h1:text-is('Not found')")
