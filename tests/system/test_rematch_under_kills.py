"""Eight players on two servers ask for a rematch at the same time while both servers are killed: one race has all."""

import asyncio
import os
from itertools import pairwise
from random import Random

import pytest

from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from support.campaign import Persistent, seeded_random, start_server
from support.servers import Server

pytestmark = pytest.mark.tier(3)

ROUNDS = int(os.environ.get("REMATCH_ROUNDS", "3"))
"""How many rematches follow each other."""
PLAYERS = 8
LATEST_KILL_S = 0.15
"""A server is killed up to this time after the players start to ask (s)."""


async def killed_and_restarted(server: Server, after_s: float) -> None:
    port = server.port
    await asyncio.sleep(after_s)
    await asyncio.to_thread(server.kill)
    await start_server(server, port)


async def rematch(player: Persistent) -> m.Rematch:
    view = await player.ask(m.Again)
    assert isinstance(view, m.View), view
    assert view.next
    return view.next


async def resign(player: Persistent) -> None:
    """Take the seat, and resign as soon as the cards are dealt."""
    await player.begin(player.race)
    await player.ask(m.Resign)
    await player.until(lambda view: view.stage == "over")


async def test_one_race_has_all_players(redis_url: str) -> None:
    chance = seeded_random()
    one, other = Server(redis_url), Server(redis_url)
    try:
        await asyncio.gather(start_server(one), start_server(other))
        first = one.create("corners", start_delay_ms=0, max_racers=PLAYERS)
        orders = ([one, other], [other, one])
        players = [Persistent(f"racer {n}", first, orders[n % 2], Random(chance.random())) for n in range(PLAYERS)]
        race_ids = [first]
        await asyncio.gather(*(player.join(first) for player in players))
        for _ in range(ROUNDS):
            await asyncio.gather(*(resign(player) for player in players))
            await one.replay(race_ids[-1])
            kills = [killed_and_restarted(server, chance.random() * LATEST_KILL_S) for server in (one, other)]
            found, _ = await asyncio.gather(
                asyncio.gather(*(rematch(player) for player in players)), asyncio.gather(*kills)
            )
            (race_id,) = {each.race for each in found}
            for player in players:
                player.race, player.nonce = race_id, os.urandom(32)
            views = await asyncio.gather(*(player.join(race_id) for player in players))
            assert all(isinstance(view, m.View) and view.stage == "open" for view in views)
            await asyncio.gather(*(player.until(lambda view: len(view.standings) == PLAYERS) for player in players))
            race_ids.append(race_id)
        await asyncio.gather(*(resign(player) for player in players))
        for race_id, following in pairwise(race_ids):
            replay = await one.replay(following)
            assert replay.header.follows == race_id
            assert len(replay.standings) == PLAYERS
            assert all(fact.holds for fact in verify(replay))
        assert len(set(race_ids)) == ROUNDS + 1
        await asyncio.gather(*(player.close() for player in players))
    finally:
        one.__exit__()
        other.__exit__()
