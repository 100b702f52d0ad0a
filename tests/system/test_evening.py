"""An evening of two friends with a bot, in a terminal and in a browser."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal.games.catalogue import GAMES
from samedeal.replays.replay import read
from samedeal.share.headlines import result_headline
from support.browser import IN_BROWSER, chromium, give_name, open_page, resign, server
from support.faulty_proxy import Proxy
from support.servers import Server
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only

pytestmark = [*IN_BROWSER, tmux_only, pytest.mark.tier(3)]
__all__ = ["chromium", "server"]


@pytest.mark.timeout(300)  # three races in a terminal and a browser
async def test_friends_on_a_phone_and_in_a_terminal_see_the_same_winner_all_evening(
    server: Server, chromium: Browser, tmp_path: Path
) -> None:
    async with Proxy(server.url, round_trip_ms=100) as network, open_page(chromium) as phone:
        ada, page = Terminal(environment_at(network, tmp_path / "ada")), phone.page
        try:
            ada.type(f"{SAMEDEAL} new the-edge --join --as ada")
            invited = await asyncio.to_thread(ada.until, r"r  Ready[\s\S]*/r/\S+")
            await page.goto(f"{network.url}/r/{re.findall(r'/r/([a-z0-9-]+)', invited)[0]}")
            await page.wait_for_selector("h1:has-text('ada challenges you to The Edge')")
            await give_name(page, "bo")
            await page.wait_for_selector("#ready")
            ada.keys("b")
            await asyncio.to_thread(ada.until, r"2\s+beginner")
            ada.keys("2")
            await page.wait_for_selector("text=Deuce")
            ada.keys("r")
            await page.click("#ready")
            await finish_and_compare(server, ada, page, "the-edge")

            ada.keys("g")
            await asyncio.to_thread(ada.until, r"Which game\?")
            ada.keys(str(1 + [*GAMES].index("corners")))
            await page.wait_for_selector("text=ada wants a rematch: Corners.")
            await page.click("button:text-is('Join the rematch')")
            await finish_and_compare(server, ada, page, "corners")

            await page.select_option("select[aria-label='Rematch with another game']", "gallery")
            await asyncio.to_thread(ada.until, r"n  Rematch with Gallery\s+bo is in")
            ada.keys("n")
            await finish_and_compare(server, ada, page, "gallery")
            assert phone.errors == []
        finally:
            ada.close()


async def finish_and_compare(server: Server, ada: Terminal, page: Page, game: str) -> None:
    """Let both people resign, and compare what they see with the standings of the server."""
    await asyncio.gather(page.wait_for_selector(".race .tools"), asyncio.to_thread(ada.until, "! resign"))
    race = page.url.rpartition("/")[2]
    ada.keys("!")
    await asyncio.to_thread(ada.until, "Resign")
    ada.keys("y")
    await resign(page)
    await asyncio.gather(page.wait_for_selector(".podium"), asyncio.to_thread(ada.until, "checks passed"))
    status, data = server.get(f"/api/v1/replays/{race}.json")
    assert status == 200
    standings = read(data).standings
    seats = {standing.name: standing.seat for standing in standings}
    assert seats.keys() == {"ada", "bo", "Deuce"}
    assert f"{result_headline(standings, seats['ada'], game)}" in ada.screen()
    assert await page.inner_text("h1") == result_headline(standings, seats["bo"], game)
