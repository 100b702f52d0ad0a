"""Rooms recover from a store that fails, and from one that has lost the end of a log."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Entry,
    Header,
    Left,
    Moved,
    Readied,
    Resigned,
    Taken,
)
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal.wire.requests import seat_events
from samedeal_server.live.commands import Outcome
from samedeal_server.store.chained_logs import RaceLog
from support.faulty_proxy import Proxy
from support.rooms import agrees, opened
from support.stores import Heard, Process, process, run, seat_for, that, until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


def cut(redis: Redis, race: Race, entries: Sequence[Entry], n: int) -> None:
    """Remove the entries after n from the store, as if it lost the tail of its file."""
    log, head = f"race:{{{race.id}}}:log", f"race:{{{race.id}}}:head"
    store: Any = redis
    remaining = store.xrange(log, max=f"{n}-0")
    store.delete(log)
    for id_, fields in remaining:
        store.xadd(log, fields, id_)
    redis.hset(head, mapping={"n": n, "h": entries[n - 1].h})


class Failing(RaceLog):
    """A log whose replies are lost, before or after the write."""

    failing = ""

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        if self.failing != "before":
            await super().append(race, before, entries)
        if self.failing:
            raise Refused("store-unavailable")


@pytest.mark.parametrize("failing", ["before", "after"])
async def test_after_a_failure_the_room_reads_the_log(redis_url: str, failing: str) -> None:
    async with process(redis_url, log=Failing) as parts:
        assert isinstance(parts.log, Failing)
        room, heard = await opened(parts), Heard()
        await room.submit(seat_for(1))
        room.broadcast.add(heard)
        parts.log.failing = failing
        outcomes = await asyncio.gather(
            room.submit(seat_for(2)), room.submit(that(Taken(seat=1))), return_exceptions=True
        )
        assert [outcome.code for outcome in outcomes if isinstance(outcome, Refused)] == ["store-unavailable"] * 2
        assert heard.entries == []
        parts.log.failing = ""
        await room.submit(seat_for(2))
        written = [1, 2, 3] if failing == "after" else [1, 2]
        entries = await agrees(room, parts.log)
        assert [entry.n for entry in entries] == written
        assert heard.numbers == written[1:]


async def test_a_write_without_a_reply_is_noticed_by_following_the_log(redis_url: str) -> None:
    async with process(redis_url, log=Failing, started=True) as parts:
        assert isinstance(parts.log, Failing)
        room = await opened(parts)
        parts.log.failing = "after"
        with pytest.raises(Refused):
            await room.submit(seat_for(1))
        parts.log.failing = ""
        await until(lambda: room.race.n == 1)
        await agrees(room, parts.log)


async def test_moves_survive_an_outage_and_are_written_once(redis_url: str) -> None:
    async with Proxy(redis_url) as proxy, process(proxy.url) as parts:
        room = await opened(parts)
        await run(room)
        n = room.race.n
        lost = asyncio.create_task(proxy.lose_answer(b"EVALSHA"))
        await room.submit(that(Moved(seat=1, move="draw")))
        await lost
        proxy.cut()
        with pytest.raises(Refused) as refusal:
            await room.submit(that(Moved(seat=1, move="draw")))
        assert refusal.value.code == "store-unavailable"
        assert room.race.n == n + 1
        proxy.mend()

        async def is_written() -> bool:
            with suppress(Refused):  # connections that were accepted before are still reset
                await room.submit(that(Moved(seat=1, move="draw")))
            return room.race.n > n + 1

        await until(is_written)
        assert room.race.n == n + 2
        await agrees(room, parts.log)


class Endless(RaceLog):
    """A log whose first write never ends."""

    first: asyncio.Task[Any] | None = None

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        if self.first is None:
            self.first = asyncio.current_task()
            await asyncio.Event().wait()
        await super().append(race, before, entries)


async def test_a_cancelled_write_ends_the_room_without_losing_commands(redis_url: str) -> None:
    async with process(redis_url, log=Endless) as parts, process(redis_url) as there:
        log = parts.log
        assert isinstance(log, Endless)
        room = await opened(parts)
        submitted = asyncio.create_task(room.submit(seat_for(1)))
        await until(lambda: log.first is not None)
        assert log.first
        log.first.cancel()
        with pytest.raises(Refused) as refusal:
            await submitted
        assert refusal.value.code == "store-unavailable"
        await room.close()
        reopened = await there.registry.room(room.race.id)
        assert (await reopened.submit(seat_for(1))).n == 1


async def test_a_room_goes_on_after_a_cancellation_in_a_round(parts: Process) -> None:
    """Such as that of the search for its deal."""

    def cancelled(_: Race) -> Sequence[AnyEvent]:
        raise asyncio.CancelledError

    room = await opened(parts)
    with pytest.raises(Refused):
        await room.submit(cancelled)
    assert (await room.submit(seat_for(1))).n == 1


async def test_a_room_goes_on_after_an_error_in_a_callback(redis_url: str) -> None:
    def failing(_: Outcome) -> None:
        raise ValueError

    errors = list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    async with process(redis_url, log=Failing) as parts:
        assert isinstance(parts.log, Failing)
        room = await opened(parts)
        parts.log.failing = "before"
        room.propose(seat_for(1), failing)
        await until(lambda: errors)
        parts.log.failing = ""
        assert (await room.submit(seat_for(1))).n == 1
    assert [type(error["exception"]) for error in errors] == [ValueError]


async def test_leaving_again_after_a_lost_reply_succeeds_during_the_countdown(parts: Process) -> None:
    room = await opened(parts)
    for player in (1, 2, 3):
        await room.submit(seat_for(player))
    for seat in (1, 2):
        await room.submit(that(Readied(seat=seat)))
    assert (await room.submit(lambda race: seat_events(race, 3, m.Leave(id=1)))).roster[-1].number == 2
    await until(lambda: room.race.stage != "open")
    n = room.race.n
    assert (await room.submit(lambda race: seat_events(race, 3, m.Leave(id=1)))).n >= n
    assert [entry.n for entry in await parts.log.read(room.race.id) if isinstance(entry.event, Left)] == [6]


async def test_a_lost_tail_is_written_again_from_memory(parts: Process, redis: Redis) -> None:
    room, heard = await opened(parts), Heard()
    for player in range(1, 7):
        await room.submit(seat_for(player))
    before = await agrees(room, parts.log)
    cut(redis, room.race, before, 2)
    assert await parts.log.read(room.race.id) == before[:2]
    room.broadcast.add(heard)
    await room.submit(that(Readied(seat=5)))
    assert (await agrees(room, parts.log))[:6] == before
    assert heard.numbers == [7]


async def test_a_lost_race_is_written_again_from_memory(parts: Process, redis: Redis) -> None:
    room = await opened(parts)
    await run(room)
    before = await agrees(room, parts.log)
    redis.flushall()
    await room.submit(that(Moved(seat=1, move="draw")))
    assert (await agrees(room, parts.log))[: len(before)] == before
    assert await parts.log.field(room.race.id, "header", Header) == room.race.header


async def test_a_lost_tail_is_written_again_when_a_room_closes_after_a_failure(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, log=Failing) as parts:
        assert isinstance(parts.log, Failing)
        room = await opened(parts)
        for player in (1, 2, 3):
            await room.submit(seat_for(player))
        before = await agrees(room, parts.log)
        parts.log.failing = "before"
        with pytest.raises(Refused):
            await room.submit(seat_for(4))
        parts.log.failing = ""
        cut(redis, room.race, before, 1)
        await room.close()
        assert await agrees(room, parts.log) == before


@pytest.mark.parametrize("written", [1, 2, 3], ids=["less", "as-much", "more"])
async def test_a_log_continued_from_an_older_entry_replaces_the_memory(
    redis_url: str, redis: Redis, written: int
) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here)
        for player in range(1, 6):
            await mine.submit(seat_for(player))
        cut(redis, mine.race, await agrees(mine, here.log), 3)
        theirs = await there.registry.room(mine.race.id)
        assert theirs.race.n == 3
        for player in range(11, 11 + written):
            await theirs.submit(seat_for(player))
        async with asyncio.timeout(LIMIT_S):
            await mine.submit(seat_for(21))
        entries = await agrees(mine, here.log)
        assert [seat.player for seat in mine.race.roster] == [
            *(f"player-{n}" for n in (1, 2, 3)),
            *(f"player-{n}" for n in range(11, 11 + written)),
            "player-21",
        ]
        theirs.follow(entries)
        assert theirs.race == mine.race


async def test_a_race_archived_by_another_process_is_over_here_too(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine, heard = await opened(here), Heard()
        await run(mine)
        theirs = await there.registry.room(mine.race.id)
        mine.broadcast.add(heard)
        for seat in (1, 2):
            await theirs.submit(that(Resigned(seat=seat)))
        await until(lambda: theirs.is_archived)
        redis.delete(*(f"race:{{{mine.race.id}}}:{part}" for part in ("log", "head")))
        with pytest.raises(Refused) as refusal:
            await mine.submit(that(Moved(seat=1, move="draw")))
        assert refusal.value.code == "race-over"
        assert mine.race == theirs.race
        assert [type(entry.event) for entry in heard.entries] == [Resigned, Resigned, Closed]
        assert not redis.exists(f"race:{{{mine.race.id}}}:head")
