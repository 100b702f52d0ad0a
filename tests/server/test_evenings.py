"""Evenings over HTTP: the scores over a chain of rematches, byte for byte as computed from their replays."""

import pytest
from redis import Redis

from samedeal import codec
from samedeal.errors import Refused
from samedeal.scores.evening import evening
from samedeal.scores.results import RaceResult, in_order
from samedeal.wire import messages as m
from samedeal_server.live.evenings import MAX_RACES, READ_TOKENS, Evenings
from samedeal_server.live.opening import Quotas
from samedeal_server.live.rematches import Rematches
from samedeal_server.net.limits import RateLimits, RequestLimit
from samedeal_server.settings import Settings
from samedeal_server.store.successors import Successor
from support.archived_races import archive, guest
from support.logged_server import request
from support.servers import Racer, Server, begin_together, over, racers
from support.stores import Process

pytestmark = pytest.mark.tier(2)

STORE = "own_store"
"""The server would write its races again while commands to the emptied store are counted."""


async def race(race_id: str, *players: Racer) -> None:
    """Let players take seats, race, and resign in this order, each with one more move than the one before."""
    await begin_together(race_id, players)
    for player in players:
        await player.move((player.board.moves or [])[0])
        await player.ask(m.Resign)
    await over(players)


async def again(player: Racer) -> str:
    view = await player.ask(m.Again)
    assert isinstance(view, m.View)
    assert view.next
    return view.next.race


def document(server: Server, race_id: str) -> bytes:
    answer = request(server, "GET", f"/api/v1/races/{race_id}/evening")
    assert answer.status == 200, answer.body
    return answer.body


async def expected(server: Server, *race_ids: str) -> bytes:
    replays = [await server.replay(race_id) for race_id in race_ids]
    return codec.encode(evening(in_order(map(RaceResult.of_log, replays))), "json")


async def test_evening_equals_the_table_of_the_replays(server: Server) -> None:
    async with racers(server, "ada", "bo", "cy") as (ada, bo, cy):
        first = server.create("corners", start_delay_ms=0)
        empty = await expected(server)
        assert document(server, first) == empty
        await race(first, ada, bo)
        assert document(server, first) == await expected(server, first)
        second = await again(bo)
        assert document(server, second) == await expected(server, first)
        await race(second, bo, cy, ada)
        third = await again(ada)
        await ada.join(third)
        both = await expected(server, first, second)
        assert [document(server, race_id) for race_id in (first, second, third)] == [both] * 3
        await cy.join(third)
        await cy.ask(m.Leave)  # the race does not wait for cy
        await race(third, ada, bo)
        all_three = await expected(server, first, second, third)
        assert [document(server, race_id) for race_id in (first, second, third)] == [all_three] * 3
        assert all_three not in (empty, both)


async def test_other_races_are_not_part_of_the_evening(server: Server) -> None:
    async with racers(server, "ada", "bo") as (ada, bo):
        for _ in range(2):
            race_id = server.create("gallery", start_delay_ms=0)
            await race(race_id, ada, bo)
            assert document(server, race_id) == await expected(server, race_id)


def test_unknown_race_has_no_evening(server: Server) -> None:
    answer = request(server, "GET", "/api/v1/races/calm-otter-1/evening")
    assert (answer.status, answer.json["code"]) == (404, "not-found")


async def test_a_client_pays_for_the_races_of_an_evening_that_are_not_in_memory(parts: Process) -> None:
    ids = tuple(f"race-{number}" for number in range(round(1 / READ_TOKENS) + 1))
    for number, race_id in enumerate(ids):
        await archive(parts, race_id, 1, 2, at=number, follows=ids[number - 1] if number else None)
    parts.registry._requests = RequestLimit(Settings(requests_per_second=0.001, request_burst=1))
    evenings = Evenings(parts.registry)
    with pytest.raises(Refused, match="Too many requests"):
        await evenings.get(ids[-1], "203.0.113.1")
    for client in ("198.51.100.1", "203.0.113.1"):
        assert (await evenings.get(ids[-1], client)).races == ids


async def test_an_evening_reads_a_hundred_races_each_way_and_none_of_them_twice(redis: Redis, parts: Process) -> None:
    ids = [f"race-{number}" for number in range(MAX_RACES + 2)]
    for number, race_id in enumerate(ids):
        before = ids[number - 1] if number else None
        await archive(parts, race_id, 1, 2, at=number, follows=before)
        replay = await parts.archive.replay(race_id)
        if replay and before:
            await parts.archive.successors.put(before, Successor(replay.header, "ada", "player-1"), replacing=None)
    rematches = Rematches(parts.registry, Quotas(parts.registry.opener, RateLimits(Settings()), Settings()))
    evenings = rematches.evenings
    assert (await evenings.get(ids[0])).races == tuple(ids[:-1])
    assert (await evenings.get(ids[-1])).races == tuple(ids[2:])
    redis.config_resetstat()
    assert (await evenings.get(ids[1])).races == tuple(ids)
    assert {"cmdstat_getrange", "cmdstat_hget"}.isdisjoint(redis.info("commandstats"))
    with pytest.raises(Refused, match="newer") as refused:
        await rematches.ask(ids[0], guest(1), "192.0.2.1")
    assert refused.value.code == "untimely"
    room, is_new = await rematches.ask(ids[2], guest(1), "192.0.2.1")
    assert (room.race.header.follows, is_new) == (ids[-1], True)
