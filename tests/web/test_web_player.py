"""The page of a player in a real browser: scores, races, and the record against the user."""

import json

from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import browser_marks, find_violations, open_page, overflow, page_browser, page_server
from support.servers import Racer, Server, racers
from support.stores import until

pytestmark = browser_marks()
server, chromium = page_server, page_browser


async def race(server: Server, *players: Racer, unlisted: bool = False) -> str:
    """Let the first player make a move, and all resign. Return the id once the race counts."""
    race_id = server.create("corners", seed="225", start_delay_ms=0, unlisted=unlisted)
    for player in players:
        await player.join(race_id)
    for player in players:
        await player.ask(m.Ready)
    for player in players:
        await player.until(lambda view: view.stage == "running")
    await players[0].move("r2")
    for player in players:
        await player.ask(m.Resign)
    await server.replay(race_id)
    headers = {"Authorization": f"Bearer {players[0].token}"}
    path = f"/api/v1/players/{players[0].player}"
    await until(lambda: race_id.encode() in server.get(path, **headers)[1])
    return race_id


def stored_guest(player: Racer) -> str:
    """A script that makes a player the guest of the browser."""
    guest = {"name": player.name, "token": player.token, "player": player.player}
    return f"localStorage.setItem('samedeal.guest', {json.dumps(json.dumps(guest))})"


async def test_page_shows_scores_races_and_the_record(server: Server, chromium: Browser) -> None:
    async with racers(server, "ada", "bo") as (ada, bo), open_page(chromium, 320, 568) as watched:
        listed = await race(server, ada, bo)
        unlisted = await race(server, ada, bo, unlisted=True)
        page = watched.page
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
            assert await overflow(page) <= 0
            assert not await find_violations(page)
        await page.focus(f"a[href='/p/{bo.player}']")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("h1:has-text('bo (you)')")
        await page.focus(f"a[href='/replay/{listed}']")
        await page.keyboard.press("Enter")
        await page.click(f"section[aria-label='Players'] a[href='/p/{ada.player}']")
        await page.wait_for_selector("h1 bdi:text-is('ada')")
        assert watched.errors == []


async def test_results_link_to_players(server: Server, chromium: Browser) -> None:
    async with racers(server, "cy", "dee") as (cy, dee), open_page(chromium) as watched:
        race_id = await race(server, cy, dee)
        await watched.page.goto(f"{server.url}/r/{race_id}")
        await watched.page.click(f".standings a[href='/p/{dee.player}']")
        await watched.page.wait_for_selector("h1 bdi:text-is('dee')")
        assert watched.errors == []


async def test_players_who_have_not_raced_each_other(server: Server, chromium: Browser) -> None:
    async with racers(server, "eve", "fay", "gus") as (eve, fay, gus), open_page(chromium) as watched:
        await race(server, eve, fay)
        page = watched.page
        await page.goto(f"{server.url}/p/{eve.player}")
        await page.evaluate(stored_guest(gus))
        await page.reload()
        await page.wait_for_selector("text=You have not raced each other yet.")
        await page.evaluate("localStorage.setItem('samedeal.guest', JSON.stringify({token: 'gone', player: '0'}))")
        await page.reload()
        await page.wait_for_selector("h1 bdi:text-is('eve')")
        await page.goto(f"{server.url}/p/0123456789abcdef")
        await page.wait_for_selector("h1:text-is('Not found')")
