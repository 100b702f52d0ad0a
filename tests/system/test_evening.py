"""Evenings: four guests and two bots in two terminals and two windows of the browser, and two friends with a bot."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.replays.replay import read
from samedeal.share.headlines import result_headline
from support.browser import IN_BROWSER, chromium, give_name, open_page, overflow, resign, server
from support.faulty_proxy import Proxy
from support.servers import Server
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only

pytestmark = [*IN_BROWSER, tmux_only, pytest.mark.tier(3)]
__all__ = ["chromium", "server"]

GUESTS = ("ada", "bo", "cy", "di")
NEXT = ("the-edge", "kings-in-the-corners", "gallery", "corner-stones")


@pytest.mark.timeout(300)  # five races with four windows
async def test_a_whole_evening_agrees_with_the_table_of_its_replays(
    server: Server, chromium: Browser, tmp_path: Path
) -> None:
    race = server.create("corners", start_delay_ms=1_000, filter="any")
    environments = [environment_at(server, tmp_path / name) for name in GUESTS[:2]]
    ada, bo = (Terminal(environment, 100, 32) for environment in environments)
    evening = [race]
    try:
        async with open_page(chromium, 1280, 800) as desktop, open_page(chromium) as phone:
            pages = desktop.page, phone.page
            for terminal, name in zip((ada, bo), GUESTS[:2], strict=True):
                terminal.type(f"{SAMEDEAL} join {race} --as {name}")
                await asyncio.to_thread(terminal.until, "r  Ready")
            for page, name in zip(pages, GUESTS[2:], strict=True):
                await page.goto(f"{server.url}/r/{race}")
                await page.fill("#name", name)
                await page.click("button:text-is('Take a seat')")
                await page.wait_for_selector("#ready")
            lobby = r"open 6/8(?=[\s\S]*Trey \(regular bot\))[\s\S]*Deuce \(beginner bot\)"
            ada.keys("b")
            await asyncio.to_thread(ada.until, r"3\s+regular")
            ada.keys("3")
            await phone.page.wait_for_selector("text=Trey")  # it moves the buttons down
            await phone.page.click("summary:text-is('+ bot')")
            await phone.page.click("button:text-is('Beginner')")
            await asyncio.to_thread(ada.until, lobby)
            for terminal in (ada, bo):
                terminal.keys("r")
            for page in pages:
                await page.click("#ready:text-is('Ready')")
            for number in range(5):
                await play(ada, bo, pages)
                if number < len(NEXT):
                    evening.append(await go_on(ada, bo, pages, NEXT[number]))
                    assert evening[-1] not in evening[:-1]
            for page in pages:
                await page.wait_for_selector("table:has-text('This evening')", state="attached")
                assert await overflow(page) <= 0
            assert desktop.errors == phone.errors == []
            ada.keys("e")
            await asyncio.to_thread(ada.until, "(?s)This evening.*Deuce.*")
    finally:
        ada.close()
        bo.close()
    agree(server, evening, tmp_path)


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
            await page.wait_for_selector("text=ada wants a rematch at Corners.")
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


async def play(ada: Terminal, bo: Terminal, pages: tuple[Page, ...]) -> None:
    """Play a race to its end. The people resign after a moment, and the bots play on."""
    for terminal in (ada, bo):
        await asyncio.to_thread(terminal.until, "! resign")
        terminal.keys("!")
        await asyncio.to_thread(terminal.until, "Resign")
        terminal.keys("y")
    await asyncio.gather(*map(resign, pages))
    for terminal in (ada, bo):
        await asyncio.to_thread(terminal.until, "checks passed")
    for page in pages:
        await page.wait_for_selector(".rows summary:has-text('Verified ✓')")


async def go_on(ada: Terminal, bo: Terminal, pages: tuple[Page, ...], game: str) -> str:
    """Go to a rematch with another game, which Ada asks for, and which starts when all are in. Return its id."""
    ada.keys("g")
    await asyncio.to_thread(ada.until, r"Which game\?")
    ada.keys(str(1 + [*GAMES].index(game)))
    await asyncio.to_thread(ada.until, "You are ready.")
    await asyncio.to_thread(bo.until, rf"n  Rematch with {GAMES[game].title}\s+ada.* (is|are) in\.")
    bo.keys("n")
    for page in pages:
        await page.wait_for_selector(f"text=ada wants a rematch at {GAMES[game].title}.")
        await page.keyboard.press("n")
    for page in pages:
        await page.wait_for_selector(".race .tools")
    races = {page.url.rpartition("/")[2] for page in pages}
    assert len(races) == 1
    return races.pop()


def agree(server: Server, evening: list[str], folder: Path) -> None:
    """Check that the scores of the server are those of the replays, in files and in any order."""
    files = []
    for number, race in enumerate(evening):
        status, data = server.get(f"/api/v1/replays/{race}.json")
        assert status == 200
        replay = read(data)
        assert all(fact.holds for fact in verify(replay))
        assert replay.header.follows == (evening[number - 1] if number else None)
        assert {standing.name for standing in replay.standings} == {*GUESTS, "Deuce", "Trey"}
        files.append(folder / f"{race}.json")
        files[-1].write_bytes(data)
    status, scores = server.get(f"/api/v1/races/{evening[-1]}/evening")
    assert status == 200
    for order in (files, sorted(files, reverse=True)):
        done = subprocess.run([*SAMEDEAL.split(), "table", *order, "--json"], capture_output=True, check=True)
        table = json.loads(done.stdout)
        assert table.pop("faults") == []
        assert len(table.pop("keys")) == 1
        assert table.pop("outcome")
        assert table == json.loads(scores)
