"""A sixth game on the page: drawn from its layout and won by tapping."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Page

from support.browser import IN_BROWSER, SOLO, open_row, start_race, tap, wait_for_ply
from support.servers import Server
from support.sixth_game import SEED, WIN, sixth_game

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sixth_game(tmp_path_factory.mktemp("sixth")), Server(store_url) as running:
        yield running


async def test_sixth_game_is_won_by_tapping(server: Server, page: Page) -> None:
    race_id = server.create("aces-up", seed=SEED, **SOLO)
    await start_race(page, server, race_id)
    assert await page.locator(".pile").count() == 6
    assert await page.locator('[data-place="talon"]').get_attribute("aria-label") == "talon: 48 face down"
    for ply, move in enumerate(WIN, start=1):
        if move == "turn" and ply % 2:
            await page.click("button:text-is('Turn')")
        else:
            await tap(page, *(["talon"] if move == "turn" else [move[at : at + 2] for at in range(0, len(move), 2)]))
        if ply < len(WIN):
            await wait_for_ply(page, ply)
    await page.wait_for_selector("h1:text('You solved it in')")
    await open_row(page, "Verified ✓")
    await page.wait_for_selector("text=Verified ✓ by this server")
    await page.wait_for_selector("text=Checked by your browser, not by us: not checked: rules")
    await page.wait_for_selector("text=Checked by this server: genuine, signed by this server")
    replay = await server.replay(race_id)
    assert replay.standings[0].outcome == "won"
