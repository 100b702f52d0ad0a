"""Always making the first legal move in default races of Corners over the WebSocket."""

import asyncio
import json

import pytest

from samedeal.wire import messages as m
from support.servers import Racer, Server

pytestmark = pytest.mark.tier(2)

RACES = 10


async def test_always_making_the_first_legal_move_wins_no_default_race(redis_url: str) -> None:
    with Server(redis_url, connections_per_address="0") as server:
        outcomes = [await outcome_of_first_moves(server) for _ in range(RACES)]
    assert "won" not in outcomes


async def outcome_of_first_moves(server: Server) -> str:
    """Race alone, making the first legal move until there is none left, and return the outcome."""
    opening = {"game": "corners", "options": {"max_racers": 1, "start_delay_ms": 0}}
    status, body = await asyncio.to_thread(server.get, "/api/v1/races", opening)
    assert status == 201
    race = json.loads(body)["race"]
    racer = await Racer("ada").connect(server)
    try:
        view = await racer.begin(race)
        while view.stage == "running" and racer.board.moves:
            answer = await racer.move(racer.board.moves[0])
            assert isinstance(answer, m.View), answer
            view = answer
        if view.stage == "running":
            await racer.ask(m.Resign)
    finally:
        await racer.close()
    replay = await server.replay(race)
    assert replay.header.options.filter == "certified/1"
    return replay.standings[0].outcome
