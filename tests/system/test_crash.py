"""Servers and stores are killed during races: acknowledged moves survive, and play continues."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from samedeal.race.events import Moved
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.campaign import (
    RESTARTING,
    Persistent,
    racing,
    seeded_random,
    start_server,
    store_pid,
    wait_for_moves,
)
from support.race_check import find_violations
from support.random_games import RESTARTABLE
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(3)

FIVE = ("ada", "bo", "cy", "di", "ed")
MOVES = 60


def field(server: Server, chance: Random) -> list[Persistent]:
    """Return five racers of a new race of a random game."""
    race = server.create(chance.choice(RESTARTABLE), start_delay_ms=100, max_racers=len(FIVE))
    return [Persistent(name, race, [server], Random(chance.random())) for name in FIVE]


async def checked(server: Server, players: list[Persistent]) -> Replay:
    """Return the replay after checking that it matches what the players received."""
    replay = await server.replay(players[0].race)
    assert find_violations(replay, [player.history for player in players]) == []
    return replay


@pytest.mark.tier(1)
async def test_killed_server_loses_no_acknowledged_move(redis_url: str) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        with Server(redis_url) as server:
            players = field(server, chance)
            async with racing(players):
                await wait_for_moves(players, chance.randrange(len(players) * MOVES * 3 // 4))
                server.kill()
                await start_server(server, server.port)
                await wait_for_moves(players, MOVES + 1)
            assert all(player.losses for player in players)
            replay = await checked(server, players)
    assert sum(isinstance(entry.event, Moved) for entry in replay.entries) > MOVES


async def test_killed_store_loses_no_move_and_no_connection(tmp_path: Path) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        with Server(data_dir=tmp_path / "data") as server:
            players = field(server, chance)
            async with racing(players):
                await wait_for_moves(players, chance.randrange(len(players) * MOVES // 2))
                store = store_pid(tmp_path / "data")
                os.kill(store, signal.SIGKILL)
                before = sum(player.made for player in players)
                await wait_for_moves(players, before + len(players) + 1)
                assert store_pid(tmp_path / "data") != store
            await checked(server, players)
    assert [player.losses for player in players] == [[]] * len(players)


@pytest.mark.parametrize("embedded", [False, True])
async def test_stopped_server_closes_with_1012_and_the_next_continues(
    embedded: bool, redis_url: str, tmp_path: Path
) -> None:
    chance = seeded_random()
    data_dir = tmp_path / "data"
    async with asyncio.timeout(LIMIT_S):
        with Server(None if embedded else redis_url, data_dir) as server:
            players = field(server, chance)
            async with racing(players):
                await wait_for_moves(players, chance.randrange(len(players) * MOVES // 2))
                await asyncio.to_thread(server.kill, signal.SIGTERM)
                assert server.process
                assert server.process.returncode == 0
                if embedded:
                    with pytest.raises(ProcessLookupError):
                        os.kill(store_pid(data_dir), 0)
                await start_server(server, server.port)
            await checked(server, players)
    assert [player.losses[:1] for player in players] == [[RESTARTING]] * len(players)


def joined(view: m.View) -> bool:
    return len(view.standings) == 2


def one_is_ready(view: m.View) -> bool:
    return any(standing.outcome == "ready" for standing in view.standings)


def counting(view: m.View) -> bool:
    return view.stage == "countdown"


@pytest.mark.parametrize("moment", [joined, one_is_ready, counting])
async def test_server_killed_before_the_deal_keeps_the_seats(moment: Callable[[m.View], bool], redis_url: str) -> None:
    """However long the server was down, racers get time to return with their nonces, and those sent before count."""
    async with asyncio.timeout(LIMIT_S):
        with Server(redis_url) as server:
            race = server.create("corners", start_delay_ms=200, max_racers=2)
            ada, bo = players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
            for player in players:
                await player.join(race)
            if moment is not joined:
                await ada.ask(m.Ready)
            if moment is counting:
                await bo.ask(m.Ready)
            await ada.until(moment)
            if moment is counting:
                assert isinstance(await ada.ask(m.Nonce, nonce=ada.nonce.hex()), m.View)
            server.kill()
            await start_server(server, server.port)
            async with racing(players):
                pass
            replay = await checked(server, players)
    assert {standing.outcome for standing in replay.standings} <= {"resigned", "stuck", "won"}  # not scratched
