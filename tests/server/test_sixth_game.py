"""A sixth game needs only a module and a catalogue entry to be raced, drawn and verified, and a bot to have par."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Api
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_state import RaceState
from support.full_screen import RaceApp
from support.http_api import problem
from support.logged_server import LoggedServer, request
from support.par_requests import address, computed
from support.program import ran, without_settings
from support.servers import racers
from support.sixth_game import SEED, WIN, sixth_game
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

SOLO: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    folder = tmp_path_factory.mktemp("sixth")
    with sixth_game(folder), LoggedServer(store_url, folder / "log").start() as running:
        yield running
        assert running.failures() == []


def samedeal(*args: str, typed: str = "") -> str:
    """Run a command and return its output."""
    return ran(*args, typed=typed, environment=without_settings()).stdout


async def test_sixth_game_is_raced_to_a_win_and_verified(server: LoggedServer) -> None:
    race_id = server.create("aces-up", seed=SEED, start_delay_ms=0, max_racers=2)
    async with racers(server, "ada", "bo") as (ada, bo):
        await ada.join(race_id)
        await bo.join(race_id)
        await ada.ask(m.Ready)
        await bo.ask(m.Ready)
        await asyncio.gather(ada.dealt(), bo.dealt())
        assert ada.board.table["talon"] == ("??",) * 48
        refused = await ada.move("p9")
        assert isinstance(refused, m.Problem)
        assert refused.code == "illegal-move"
        assert "is not a move in Aces Up" in refused.detail
        assert isinstance(await bo.move("turn"), m.View)
        assert isinstance(await bo.ask(m.Resign), m.View)
        for move in WIN:
            assert isinstance(await ada.move(move), m.View)
    replay = await server.replay(race_id)
    assert [(standing.name, standing.outcome) for standing in replay.standings] == [("ada", "won"), ("bo", "resigned")]
    assert [fact.name for fact in verify(replay) if not fact.holds] == []
    assert "Aces Up" in samedeal("verify", f"{server.url}/r/{race_id}")


@pytest.mark.parametrize("daily", [False, True])
async def test_sealed_sixth_game_is_raced_without_par(server: LoggedServer, daily: bool) -> None:
    body = {"game": "aces-up", "daily": daily, "options": SOLO}
    answer = await asyncio.to_thread(request, server, "POST", "/api/v1/races", json.dumps(body).encode())
    assert answer.status == 201, answer
    race_id = answer.json["race"]
    async with racers(server, "ada") as (ada,):
        await ada.join(race_id)
        await ada.ask(m.Ready)
        await ada.until(lambda view: view.stage != "open")
        if not daily:
            await ada.ask(m.Nonce, nonce=ada.nonce.hex())
        await ada.until(lambda view: view.stage == "running")
        await ada.ask(m.Resign)
        await ada.until(lambda view: view.stage == "over")
    for more in ("", ".svg"):
        refused = await asyncio.to_thread(request, server, "GET", f"/api/v1/races/{race_id}/par{more}")
        assert problem(refused, "not-found", "The computer does not play Aces Up.")


def test_sixth_game_is_listed_with_a_daily_deal(server: LoggedServer) -> None:
    assert "aces-up" in {game["slug"] for game in request(server, "GET", "/api/v1/games").json["games"]}
    assert "aces-up" in {daily["game"] for daily in request(server, "GET", "/api/v1/daily").json["daily"]}
    assert request(server, "GET", "/api/v1/daily/2026-01-01/aces-up").json["deal"].startswith("aces-up:")


@pytest.mark.parametrize("more", ["", "/0.json"])
def test_sixth_game_without_a_bot_has_no_par(server: LoggedServer, more: str) -> None:
    answer = request(server, "GET", address("aces-up:1", more))
    assert problem(answer, "not-found", "The computer does not play Aces Up.")


async def test_sixth_game_with_a_bot_has_par(store_url: str, tmp_path: Path) -> None:
    with sixth_game(tmp_path, bot=True), LoggedServer(store_url, tmp_path / "log", emptied=False).start() as server:
        answer, _ = await computed(server, address("aces-up:1"))
        assert (answer.json["bot"], answer.json["plays"], answer.json["goal"]) == ("aces-up-bot/1", 7, 48)
        play = await asyncio.to_thread(request, server, "GET", address("aces-up:1", "/6.json"))
        assert play.json["header"]["game"] == "aces-up"
        assert server.failures() == []


async def test_sixth_game_is_drawn_and_played_in_full_screen(server: LoggedServer) -> None:
    race_id = server.create("aces-up", seed=SEED, **SOLO)
    state = RaceState(race_id, server.url.partition("://")[2], f"{server.url}/r/{race_id}")
    settings = Settings(color="always")
    screen = RaceScreen(
        state, lambda race, _: Connection(server.url, race, name="ada"), Api(server.url), settings, ready=True
    )
    app = RaceApp(screen)

    async def until_ply(ply: int) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not (app.state.board and app.state.board.ply == ply):  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async with app.run_test(size=(80, 24)) as pilot:
        await until_ply(0)
        assert {"p1", "p2", "p3", "p4", "talon", "discard"} <= app.widget.canvas.spots.keys()
        pile = app.widget.canvas.spots["p3"]
        await pilot.click(offset=(pile.column + 3, pile.row + 1))
        await until_ply(1)
        talon = app.widget.canvas.spots["talon"]
        await pilot.click(offset=(talon.column + 3, talon.row))
        await until_ply(2)
        await pilot.press("exclamation_mark", "y")
        async with asyncio.timeout(LIMIT_S):
            while not app.state.checks:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert all(fact.holds for fact in app.state.checks)
        await pilot.press("q")
    assert app.failure is None
