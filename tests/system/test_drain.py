"""Draining: a stopping server refuses new players, and its racers continue on another without losses."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from itertools import pairwise
from random import Random

import pytest
from websockets.exceptions import InvalidStatus

from samedeal.wire import messages as m
from support.campaign import RESTARTING, Persistent, racing, seeded_random, start_server, wait_for_moves
from support.logged_server import Line, request
from support.race_check import find_violations
from support.random_games import RESTARTABLE
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

MOVES = 200


@pytest.fixture
async def pair(redis_url: str) -> AsyncIterator[tuple[Server, Server]]:
    """Two servers over one store."""
    first, second = Server(redis_url, drain_seconds="0.1"), Server(redis_url)
    try:
        await asyncio.gather(start_server(first), start_server(second))
        yield first, second
    finally:
        first.__exit__()
        second.__exit__()


def away_ms(player: Persistent) -> float:
    """Return the longest time between two replies to a player."""
    answered = sorted(attempt.answered_at or 0.0 for attempt in player.history.acknowledged)
    return 1000 * max(after - before for before, after in pairwise(answered))


async def test_racers_of_a_drained_server_continue_on_the_other(pair: tuple[Server, Server]) -> None:
    chance = seeded_random()
    first, second = pair
    async with asyncio.timeout(LIMIT_S):
        race = first.create(chance.choice(RESTARTABLE), start_delay_ms=100, max_racers=4)
        players = [Persistent(f"racer {number}", race, pair, Random(chance.random())) for number in range(4)]
        players[3].servers.reverse()
        async with racing(players):
            await wait_for_moves(players, chance.randrange(1, len(players) * MOVES // 8))
            await asyncio.to_thread(first.kill, signal.SIGTERM)
            assert first.process
            assert first.process.returncode == 0
        replay = await second.replay(race)
    assert find_violations(replay, [player.history for player in players]) == []
    assert [player.losses for player in players] == [[RESTARTING]] * 3 + [[]]
    print(f"a player waited {max(map(away_ms, players)):.0f} ms at most")


async def test_draining_server_refuses_new_players_but_serves_connected_ones(redis_url: str) -> None:
    first, second = pair = Server(redis_url, drain_seconds="3600"), Server(redis_url)
    async with asyncio.timeout(LIMIT_S):
        with await start_server(first), await start_server(second):
            race = first.create("corners", start_delay_ms=0, max_racers=1)
            ada = Persistent("ada", race, pair, Random(7))
            await ada.begin(race)
            assert request(first, "GET", "/readyz").status == 200
            assert first.process
            first.process.send_signal(signal.SIGTERM)
            answer = request(first, "GET", "/readyz")
            while answer.status == 200:
                answer = request(first, "GET", "/readyz")
            assert (answer.status, answer.json["code"]) == (503, "draining")
            opening = json.dumps({"game": "corners"}).encode()
            assert request(first, "POST", "/api/v1/races", opening).json["code"] == "draining"
            with pytest.raises(InvalidStatus) as refused:
                await Line.open(first)
            assert refused.value.response.status_code == 503
            assert request(first, "GET", f"/api/v1/races/{race}").status == 200
            assert request(first, "GET", "/healthz").status == 200
            assert isinstance(await ada.ask(m.Move, move="draw", ply=0), m.View)
            assert ada.losses == []
            first.process.send_signal(signal.SIGTERM)  # a second signal stops it at once
            while not ada.losses:
                await ada.ask(m.Ping)
            assert ada.losses == [RESTARTING]
            assert ada.board.ply == 1
            assert request(second, "GET", "/readyz").status == 200
            assert await asyncio.to_thread(first.process.wait, 30) == 0
            assert first.process.stdout
            first.process.stdout.close()
            await ada.close()
