"""Players of test races: they race until the test stops them, however fast the machine is."""

import asyncio
from random import Random

import pytest

from samedeal.race.events import Moved
from samedeal.race.run import MAX_MOVES
from support.campaign import AHEAD, Persistent, eventually, racing, start_server, wait_for_more_moves, wait_for_moves
from support.race_check import find_violations
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


async def test_a_race_lasts_as_long_as_its_test(redis_url: str) -> None:
    """Players who have used up their moves wait, notice a lost connection, and move again when asked."""
    async with asyncio.timeout(LIMIT_S):
        with Server(redis_url) as server:
            race = server.create("corners", start_delay_ms=0, max_racers=2)
            players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
            async with racing(players):
                await eventually(lambda: all(player.made == AHEAD for player in players))
                server.kill()
                await start_server(server, server.port)
                await eventually(lambda: all(player.losses for player in players))
                assert [player.view.stage for player in players if player.view] == ["running"] * 2
                assert [player.made for player in players] == [AHEAD] * 2
                await wait_for_moves(players, 2 * AHEAD + 1)
                await wait_for_more_moves(players)
            replay = await server.replay(race)
    assert find_violations(replay, [player.history for player in players]) == []
    moves = [
        sum(entry.event.seat == seat for entry in replay.entries if isinstance(entry.event, Moved)) for seat in (1, 2)
    ]
    assert sorted(moves) == sorted(player.made for player in players)
    assert all(AHEAD < count < MAX_MOVES / 2 for count in moves)
