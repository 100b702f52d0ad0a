"""Rooms apply commands, write them to the log, and only then publish them."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.proof.verification import verify
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Entry,
    Left,
    Moved,
    Readied,
    Resigned,
    Taken,
)
from samedeal.race.race import MAX_PLAYER_ENTRIES, MAX_SEAT_ENTRIES, MAX_SEATS, Race
from samedeal.values import replace
from samedeal.wire.requests import OPEN_ENTRIES
from samedeal_server.live.broadcast import MAX_STALENESS_MS
from samedeal_server.live.room import Room
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.group_commits import GroupCommits
from support.faulty_proxy import Proxy
from support.rooms import agrees, opened
from support.stores import Heard, Process, calls, process, run, seat_for, that, until

SEATS = 20


def with_entries(room: Room, count: int, own: int = 1) -> None:
    """Give the first seat of a room as many log entries, as many of them about its present player."""
    seat, *others = room.race.seats
    room.race = replace(room.race, seats=(replace(seat, entries=count, inherited=count - own), *others))


async def test_a_command_that_has_already_taken_effect_adds_no_entry(parts: Process) -> None:
    room = await opened(parts)
    first = await room.submit(seat_for(1))
    assert await room.submit(seat_for(1)) == first
    assert len(await agrees(room, parts.log)) == 1


async def test_a_refused_command_changes_nothing(parts: Process) -> None:
    room, heard = await opened(parts), Heard()
    await room.submit(seat_for(1))
    room.broadcast.add(heard)
    before = room.race
    with pytest.raises(Refused) as refusal:
        await room.submit(that(Readied(seat=1), Left(seat=2)))
    assert refusal.value.code == "not-seated"
    assert room.race is before
    assert heard.entries == []
    assert len(await agrees(room, parts.log)) == 1


async def test_a_command_that_raises_an_unexpected_error_does_not_affect_others(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(race: Race) -> list[AnyEvent]:
        raise ZeroDivisionError

    async with process(redis_url) as parts:
        room = await opened(parts)
        outcomes = await asyncio.gather(
            *(room.submit(command) for command in (seat_for(1), broken, seat_for(2))), return_exceptions=True
        )
        assert [seat.player for seat in room.race.roster] == ["player-1", "player-2"]
        assert [type(outcome) for outcome in outcomes] == [Race, ZeroDivisionError, Race]
        assert len(await agrees(room, parts.log)) == 2
    assert "internal error" in caplog.text


async def enter(room: Room, *players: int) -> None:
    """Let players connect and take the seats with their numbers."""
    for player in players:
        room.connect(player, player)
        await room.submit(seat_for(player))


async def test_players_cannot_use_up_the_log_entries_that_the_server_needs(redis_url: str) -> None:
    async with process(redis_url, away_s=0.01) as parts:
        room = await opened(parts)
        await enter(room, 1, 2)
        with_entries(room, MAX_PLAYER_ENTRIES)
        for event in (Readied(seat=1), Taken(seat=1)):
            with pytest.raises(Refused, match="limit of log entries"):
                await room.submit(that(event))
        room.disconnect(1, 1)
        await until(lambda: room.race.seats[0].left)
        with pytest.raises(Refused, match="limit of log entries"):
            await room.submit(seat_for(1))


async def test_players_cannot_use_up_the_seats_for_new_players(parts: Process) -> None:
    room = await opened(parts)
    for player in range(1, MAX_SEATS + 1):
        await asyncio.gather(room.submit(seat_for(player)), room.submit(that(Left(seat=player))))
    await room.submit(seat_for(1))
    with_entries(room, OPEN_ENTRIES, own=OPEN_ENTRIES)
    for event in (Readied(seat=1), Taken(seat=1)):
        with pytest.raises(Refused, match="limit of log entries"):
            await room.submit(that(event))
    await room.submit(that(Left(seat=1)))
    with pytest.raises(Refused, match="limit of log entries"):
        await room.submit(seat_for(1))
    await room.submit(seat_for(MAX_SEATS + 1))
    assert (await room.submit(that(Readied(seat=1), Left(seat=1)))).seats[0].player == f"player-{MAX_SEATS + 1}"
    with_entries(room, MAX_PLAYER_ENTRIES)
    assert (await room.submit(seat_for(MAX_SEATS + 2))).roster[0].number == 2


async def test_what_is_due_and_cannot_be_written_does_not_affect_commands(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with process(redis_url, away_s=0.01) as parts:
        room = await opened(parts)
        await enter(room, 1, 2)
        with_entries(room, MAX_SEAT_ENTRIES)
        room.disconnect(1, 1)
        await until(lambda: "cannot write a due event" in caplog.text)
        assert (await room.submit(that(Readied(seat=2)))).seat(2).ready
        assert len(room.race.roster) == 2


async def test_concurrent_commands_are_applied_in_order_and_written_together(parts: Process, redis: Redis) -> None:
    room, heard = await opened(parts, max_racers=32), Heard()
    await room.submit(seat_for(1))
    room.broadcast.add(heard)
    redis.config_resetstat()
    pending = [*(seat_for(player) for player in range(2, SEATS)), that(Left(seat=99)), that(Readied(seat=7))]
    outcomes = await asyncio.gather(*(room.submit(command) for command in pending), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [*([Race] * (SEATS - 2)), Refused, Race]
    assert calls(redis, "evalsha") == 1
    assert heard.races == [room.race]
    assert heard.numbers == list(range(2, SEATS + 1))
    assert heard.entries == (await agrees(room, parts.log))[1:]
    assert [seat.player for seat in room.race.roster] == [f"player-{player}" for player in range(1, SEATS)]


class Slow(RaceLog):
    """A log that reports when a write starts, and returns from it when the test says so."""

    def __init__(self, commits: GroupCommits) -> None:
        super().__init__(commits)
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        self.begun.set()
        await super().append(race, before, entries)
        await self.go.wait()


async def test_cancelling_a_caller_does_not_cancel_the_write(redis_url: str) -> None:
    async with process(redis_url, log=Slow) as parts:
        assert isinstance(parts.log, Slow)
        room, heard = await opened(parts), Heard()
        room.broadcast.add(heard)
        waiting = asyncio.create_task(room.submit(seat_for(1)))
        await parts.log.begun.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert heard.entries == []
        parts.log.go.set()
        race = await room.submit(seat_for(2))
        assert [seat.player for seat in race.roster] == ["player-1", "player-2"]
        assert heard.entries == await agrees(room, parts.log)


async def test_listeners_get_entries_only_after_they_are_in_the_log(redis_url: str) -> None:
    async with process(redis_url, log=Slow) as parts:
        assert isinstance(parts.log, Slow)
        room, heard = await opened(parts), Heard()
        room.broadcast.add(heard)
        waiting = asyncio.create_task(room.submit(seat_for(1)))
        await parts.log.begun.wait()
        assert (room.race.n, heard.entries, waiting.done()) == (0, [], False)
        parts.log.go.set()
        assert (await waiting).n == room.race.n == 1
        assert heard.numbers == [1]


async def test_shared_encodings_are_cached_until_the_race_changes(parts: Process) -> None:
    room = await opened(parts)
    encoded: list[str] = []

    def told(kind: str) -> bytes:
        encoded.append(kind)
        return f"{kind} {room.race.n}".encode()

    async def all_are_told(n: int) -> None:
        encoded.clear()
        began = parts.clock.now() // MAX_STALENESS_MS
        for _ in range(1000):
            for kind in ("view", "progress"):
                assert room.broadcast.shared_encoding(room.race, kind, partial(told, kind)) == f"{kind} {n}".encode()
        moments = parts.clock.now() // MAX_STALENESS_MS - began + 1
        assert 1 <= encoded.count("view") <= moments
        assert 1 <= encoded.count("progress") <= moments

    await all_are_told(0)
    for number in (1, 2):
        await room.submit(seat_for(number))
        await all_are_told(number)


async def test_closing_a_room_finishes_the_write_in_progress(redis_url: str) -> None:
    async with process(redis_url, log=Slow) as parts:
        assert isinstance(parts.log, Slow)
        room = await opened(parts)
        waiting = asyncio.create_task(room.submit(seat_for(1)))
        await parts.log.begun.wait()
        closing = asyncio.create_task(room.close())
        await asyncio.sleep(0)
        assert not closing.done()
        parts.log.go.set()
        await closing
        assert (await waiting).n == 1
        await agrees(room, parts.log)


async def test_two_rooms_of_one_race_apply_every_command_once(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here, max_racers=32)
        theirs = await there.registry.room(mine.race.id)
        rooms = [mine, theirs] * (SEATS // 2)
        await asyncio.gather(*(room.submit(seat_for(player)) for player, room in enumerate(rooms)))
        taken = [
            Taken(seat=1, by=f"{connection:016x}") for connection in (1, 2)
        ]  # different entries, as from two sessions
        await asyncio.gather(mine.submit(that(taken[0])), theirs.submit(that(taken[1])))
        for room in (mine, theirs):
            room.follow(await here.log.read(room.race.id))
            await agrees(room, here.log)
        assert mine.race == theirs.race
        assert sorted(seat.player for seat in mine.race.roster) == sorted(f"player-{n}" for n in range(SEATS))
        assert mine.race.n == SEATS + 2


async def test_the_same_command_in_two_rooms_takes_effect_once(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here)
        theirs = await there.registry.room(mine.race.id)
        for player in range(1, 8):
            both = await asyncio.gather(*(room.submit(seat_for(player)) for room in (mine, theirs)))
            assert [race.seat_of(f"player-{player}") is not None for race in both] == [True, True]
        assert len(await here.log.read(mine.race.id)) == 7


async def test_a_command_that_another_process_made_impossible_is_refused(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here, max_racers=2)
        theirs = await there.registry.room(mine.race.id)
        await asyncio.gather(mine.submit(seat_for(1)), mine.submit(seat_for(2)))
        with pytest.raises(Refused) as refusal:
            await theirs.submit(seat_for(3))
        assert refusal.value.code == "race-full"
        assert theirs.race.n == 0 or theirs.race == mine.race
        await agrees(mine, here.log)


async def test_listeners_of_both_processes_get_every_entry_once_and_in_order(redis_url: str) -> None:
    async with process(redis_url, started=True) as here, process(redis_url, started=True) as there:
        mine = await opened(here, max_racers=32)
        theirs = await there.registry.room(mine.race.id)
        ears = Heard(), Heard()
        for room, ear in zip((mine, theirs), ears, strict=True):
            room.broadcast.add(ear)
        for turn in range(5):
            pending = [room.submit(seat_for(4 * turn + n)) for n, room in enumerate((mine, theirs, mine, theirs))]
            await asyncio.gather(*pending)
        await until(lambda: mine.race.n == theirs.race.n == SEATS)
        entries = await agrees(mine, here.log)
        assert ears[0].entries == ears[1].entries == entries
        assert await agrees(theirs, here.log) == entries


class Overtaken(RaceLog):
    """A log whose follower reads every entry before the write returns."""

    room: Room | None = None

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        await super().append(race, before, entries)
        if self.room:
            self.room.follow(await self.read(race))


async def test_entries_that_the_follower_reads_first_are_not_applied_twice(redis_url: str) -> None:
    async with process(redis_url, log=Overtaken) as parts:
        room, heard = await opened(parts, limit_ms=1_000), Heard()
        assert isinstance(parts.log, Overtaken)
        parts.log.room = room
        room.broadcast.add(heard)
        await run(room)
        for seat in (1, 2):
            await room.submit(that(Moved(seat=seat, move="draw"), Resigned(seat=seat)))
        assert room.race.closed
        assert heard.entries == await agrees(room, parts.log)
        await until(lambda: room.is_archived)
        replay = await parts.archive.replay(room.race.id)
        assert replay
        assert list(replay.entries) == heard.entries
        assert all(fact.holds for fact in verify(replay))


async def test_a_log_that_does_not_continue_the_memory_is_read_again(
    parts: Process, caplog: pytest.LogCaptureFixture
) -> None:
    room = await opened(parts)
    race = await room.submit(seat_for(1))
    _, entry = race.extended(race.at, Readied(seat=1))
    _, strange = race.extended(race.at + 1, Taken(seat=1))
    room.follow([Entry(entry.n, entry.at, entry.event, strange.h)])
    assert room.race is race
    assert "does not continue" in caplog.text
    assert (await room.submit(that(Readied(seat=1)))).n == 2
    await agrees(room, parts.log)


async def test_countdown_deal_and_closing_happen_on_time(parts: Process) -> None:
    room, heard = await opened(parts, limit_ms=1_000, start_delay_ms=150), Heard()
    room.broadcast.add(heard)
    await run(room)
    await room.submit(that(Moved(seat=1, move="draw")))
    await until(lambda: room.race.closed)
    at = {type(entry.event): entry.at for entry in heard.entries}
    assert 150 <= at[Dealt] - at[Counting] < 2_000
    assert 1_000 <= at[Closed] - at[Dealt] < 3_000
    assert [racer.outcome for racer in room.race.standings()] == ["timeout", "timeout"]
    assert heard.entries == await agrees(room, parts.log)
    assert not room.is_idle
    room.broadcast.remove(heard)
    await until(lambda: room.is_idle)


async def test_a_race_that_ended_during_an_outage_is_closed_afterwards(redis_url: str) -> None:
    async with Proxy(redis_url) as proxy, process(proxy.url) as parts:
        room = await opened(parts, limit_ms=1_000)
        await run(room)
        proxy.cut()
        with pytest.raises(Refused):
            await room.submit(that(Moved(seat=1, move="draw")))
        assert parts.clock.now() > (room.race.ends_at or 0)
        assert not room.race.closed
        proxy.mend()
        await until(lambda: room.race.closed)
        await agrees(room, parts.log)
