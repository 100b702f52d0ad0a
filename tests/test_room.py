"""A room: first the rules, then the log, then the memory, then the world, whatever the store and others do."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from redis import Redis

from finished import SECRET
from samedeal.errors import IllegalMove, Refused
from samedeal.games.corners import Corners
from samedeal.log import AnyEvent, Closed, Counting, Dealt, Entry, Left, Moved, Options, Readied, Resigned, Taken
from samedeal.race import Race
from samedeal.verification import verify
from samedeal_server.log import RaceLog
from samedeal_server.room import ALIKE_MS, Room
from samedeal_server.session import _leave
from samedeal_server.store import Store
from stores import Heard, Process, Wire, calls, process, run, seat_for, that, until

SEATS = 20


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as redis:
        yield redis


async def opened(parts: Process, **options: Any) -> Room:
    chosen = Options(**{"limit_ms": 60_000, "start_delay_ms": 30, **options})
    return await parts.hall.create(Corners, {}, None, chosen)


async def agrees(room: Room, log: RaceLog) -> list[Entry]:
    """Checks that memory and log are the same, each entry there once; answers with the entries."""
    entries = await log.read(room.race.id)
    assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))
    assert Race.opened(room.race.header, room.race.secret).after_all(entries) == room.race
    assert await log.head(room.race.id) == (room.race.n, room.race.digest)
    return entries


def cut(redis: Redis, race: Race, entries: Sequence[Entry], n: int) -> None:
    """Makes the store forget what came after entry n, as one that lost the tail of its file."""
    log, head = f"race:{{{race.id}}}:log", f"race:{{{race.id}}}:head"
    store: Any = redis
    kept = store.xrange(log, max=f"{n}-0")
    store.delete(log)
    for id_, fields in kept:
        store.xadd(log, fields, id_)
    redis.hset(head, mapping={"n": n, "h": entries[n - 1].h})


# Granting wishes.


async def test_a_wish_is_in_the_log_when_its_answer_comes(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        race = await room.submit(seat_for(1))
        assert race is room.race
        (entry,) = await agrees(room, parts.log)
        assert entry.n == race.n == 1
        assert abs(entry.at - parts.clock.now()) < 2_000


async def test_a_wish_that_has_happened_already_adds_nothing(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        first = await room.submit(seat_for(1))
        assert await room.submit(seat_for(1)) == first
        assert len(await agrees(room, parts.log)) == 1


async def test_a_refused_wish_leaves_no_trace(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room, heard = await opened(parts), Heard()
        await room.submit(seat_for(1))
        room.listen(heard)
        before = room.race
        with pytest.raises(Refused) as refusal:
            await room.submit(that(Readied(seat=1), Left(seat=2)))
        assert refusal.value.code == "not-seated"
        assert room.race is before
        assert heard.entries == []
        assert len(await agrees(room, parts.log)) == 1


async def test_a_wish_that_fails_by_our_own_fault_harms_no_other(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(race: Race) -> list[AnyEvent]:
        raise ZeroDivisionError

    async with process(redis_url) as parts:
        room = await opened(parts)
        outcomes = await asyncio.gather(
            *(room.submit(wish) for wish in (seat_for(1), broken, seat_for(2))), return_exceptions=True
        )
        assert [seat.player for seat in room.race.roster] == ["player-1", "player-2"]
        assert [type(outcome) for outcome in outcomes] == [Race, ZeroDivisionError, Race]
        assert len(await agrees(room, parts.log)) == 2
    assert "a failure of the server" in caplog.text


async def test_wishes_of_one_turn_are_granted_in_order_and_written_at_once(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        room, heard = await opened(parts, max_racers=32), Heard()
        await room.submit(seat_for(1))
        room.listen(heard)
        redis.config_resetstat()
        wishes = [*(seat_for(player) for player in range(2, SEATS)), that(Left(seat=99)), that(Readied(seat=7))]
        outcomes = await asyncio.gather(*(room.submit(wish) for wish in wishes), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [*([Race] * (SEATS - 2)), Refused, Race]
        assert calls(redis, "evalsha") == 1
        assert heard.races == [room.race]
        assert heard.numbers == list(range(2, SEATS + 1))
        assert heard.entries == (await agrees(room, parts.log))[1:]
        assert [seat.player for seat in room.race.roster] == [f"player-{player}" for player in range(1, SEATS)]


class Slow(RaceLog):
    """A log that says when a writing has begun, and holds its answer back until it may go on."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        self.begun.set()
        await super().append(race, before, entries)
        await self.go.wait()


async def test_who_stops_waiting_does_not_stop_the_writing(redis_url: str) -> None:
    async with process(redis_url, log=Slow) as parts:
        assert isinstance(parts.log, Slow)
        room, heard = await opened(parts), Heard()
        room.listen(heard)
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


async def test_nobody_hears_of_anything_before_the_log_has_it(redis_url: str) -> None:
    async with process(redis_url, log=Slow) as parts:
        assert isinstance(parts.log, Slow)
        room, heard = await opened(parts), Heard()
        room.listen(heard)
        waiting = asyncio.create_task(room.submit(seat_for(1)))
        await parts.log.begun.wait()
        assert (room.race.n, heard.entries, waiting.done()) == (0, [], False)
        parts.log.go.set()
        assert (await waiting).n == room.race.n == 1
        assert heard.numbers == [1]


async def test_what_many_are_told_alike_is_made_once_for_the_race_as_it_stands(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        made: list[str] = []

        def told(kind: str) -> bytes:
            made.append(kind)
            return f"{kind} {room.race.n}".encode()

        async def all_are_told(n: int) -> None:
            made.clear()
            began = parts.clock.now() // ALIKE_MS
            for _ in range(1000):
                for kind in ("view", "progress"):
                    assert room.told_alike(kind, partial(told, kind)) == f"{kind} {n}".encode()
            moments = parts.clock.now() // ALIKE_MS - began + 1
            assert 1 <= made.count("view") <= moments
            assert 1 <= made.count("progress") <= moments

        await all_are_told(0)
        for number in (1, 2):
            await room.submit(seat_for(number))
            await all_are_told(number)


async def test_closing_a_room_finishes_what_is_under_way(redis_url: str) -> None:
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


async def test_an_illegal_move_is_answered_with_its_rule(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        await run(room)
        with pytest.raises(IllegalMove, match="no move of Corners"):
            await room.submit(that(Moved(seat=1, move="nonsense")))
        await room.submit(that(Moved(seat=1, move="draw")))
        await agrees(room, parts.log)


# Two processes.


async def test_two_rooms_of_one_race_grant_every_wish_once(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here, max_racers=32)
        theirs = await there.hall.room(mine.race.id)
        rooms = [mine, theirs] * (SEATS // 2)
        await asyncio.gather(*(room.submit(seat_for(player)) for player, room in enumerate(rooms)))
        taken = [Taken(seat=1, by=f"{connection:016x}") for connection in (1, 2)]  # as sessions do: never one entry
        await asyncio.gather(mine.submit(that(taken[0])), theirs.submit(that(taken[1])))
        for room in (mine, theirs):
            room.follow(await here.log.read(room.race.id))
            await agrees(room, here.log)
        assert mine.race == theirs.race
        assert sorted(seat.player for seat in mine.race.roster) == sorted(f"player-{n}" for n in range(SEATS))
        assert mine.race.n == SEATS + 2


async def test_the_same_wish_in_two_rooms_happens_once(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here)
        theirs = await there.hall.room(mine.race.id)
        for player in range(1, 8):
            both = await asyncio.gather(*(room.submit(seat_for(player)) for room in (mine, theirs)))
            assert [race.seat_of(f"player-{player}") is not None for race in both] == [True, True]
        assert len(await here.log.read(mine.race.id)) == 7


async def test_a_wish_that_is_no_longer_possible_is_refused_when_the_log_has_moved_on(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here, max_racers=2)
        theirs = await there.hall.room(mine.race.id)
        await asyncio.gather(mine.submit(seat_for(1)), mine.submit(seat_for(2)))
        with pytest.raises(Refused) as refusal:
            await theirs.submit(seat_for(3))
        assert refusal.value.code == "race-full"
        assert theirs.race.n == 0 or theirs.race == mine.race
        await agrees(mine, here.log)


async def test_both_hear_everything_once_and_in_order(redis_url: str) -> None:
    async with process(redis_url, started=True) as here, process(redis_url, started=True) as there:
        mine = await opened(here, max_racers=32)
        theirs = await there.hall.room(mine.race.id)
        ears = Heard(), Heard()
        for room, ear in zip((mine, theirs), ears, strict=True):
            room.listen(ear)
        for turn in range(5):
            wishes = [room.submit(seat_for(4 * turn + n)) for n, room in enumerate((mine, theirs, mine, theirs))]
            await asyncio.gather(*wishes)
        await until(lambda: mine.race.n == theirs.race.n == SEATS)
        entries = await agrees(mine, here.log)
        assert ears[0].entries == ears[1].entries == entries
        assert await agrees(theirs, here.log) == entries


class Overtaken(RaceLog):
    """A log whose follower reads every entry before its writer learns that it is in."""

    room: Room | None = None

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        await super().append(race, before, entries)
        if self.room:
            self.room.follow(await self.read(race))


async def test_what_the_follower_reads_first_is_not_taken_in_again(redis_url: str) -> None:
    async with process(redis_url, log=Overtaken) as parts:
        room, heard = await opened(parts, limit_ms=1_000), Heard()
        assert isinstance(parts.log, Overtaken)
        parts.log.room = room
        room.listen(heard)
        await run(room)
        for seat in (1, 2):
            await room.submit(that(Moved(seat=seat, move="draw"), Resigned(seat=seat)))
        assert room.race.closed
        assert heard.entries == await agrees(room, parts.log)
        await until(lambda: room.kept)
        replay = await parts.archive.replay(room.race.id)
        assert replay
        assert list(replay.entries) == heard.entries
        assert all(fact.holds for fact in verify(replay))


async def test_a_log_that_does_not_continue_the_memory_is_looked_at_again(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        race = await room.submit(seat_for(1))
        _, entry = race.extended(race.at, Readied(seat=1))
        _, strange = race.extended(race.at + 1, Taken(seat=1))
        room.follow([Entry(entry.n, entry.at, entry.event, strange.h)])
        assert room.race is race
        assert "does not continue" in caplog.text
        assert (await room.submit(that(Readied(seat=1)))).n == 2
        await agrees(room, parts.log)


# A store that fails.


class Failing(RaceLog):
    """A log whose answers get lost, before or after the writing."""

    failing = ""

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        if self.failing != "before":
            await super().append(race, before, entries)
        if self.failing:
            raise Refused("store-unavailable")


@pytest.mark.parametrize("failing", ["before", "after"])
async def test_after_a_failure_the_room_believes_the_log(redis_url: str, failing: str) -> None:
    async with process(redis_url, log=Failing) as parts:
        assert isinstance(parts.log, Failing)
        room, heard = await opened(parts), Heard()
        await room.submit(seat_for(1))
        room.listen(heard)
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


async def test_what_was_written_without_an_answer_is_heard_of_by_following(redis_url: str) -> None:
    async with process(redis_url, log=Failing, started=True) as parts:
        assert isinstance(parts.log, Failing)
        room = await opened(parts)
        parts.log.failing = "after"
        with pytest.raises(Refused):
            await room.submit(seat_for(1))
        parts.log.failing = ""
        await until(lambda: room.race.n == 1)
        await agrees(room, parts.log)


async def test_moves_wait_out_a_store_that_goes_away_and_nothing_is_doubled(redis_url: str) -> None:
    async with Wire(redis_url) as wire, process(wire.url) as parts:
        room = await opened(parts)
        await run(room)
        n = room.race.n
        wire.lose_reply_to = b"EVALSHA"
        await room.submit(that(Moved(seat=1, move="draw")))
        assert wire.lost == 1
        await wire.down()
        with pytest.raises(Refused) as refusal:
            await room.submit(that(Moved(seat=1, move="draw")))
        assert refusal.value.code == "store-unavailable"
        assert room.race.n == n + 1
        await wire.up()
        await room.submit(that(Moved(seat=1, move="draw")))
        assert room.race.n == n + 2
        await agrees(room, parts.log)


async def test_to_leave_again_after_a_lost_answer_is_no_fault_though_the_countdown_has_begun(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        for player in (1, 2, 3):
            await room.submit(seat_for(player))
        for seat in (1, 2):
            await room.submit(that(Readied(seat=seat)))
        assert (await room.submit(lambda race: _leave(race, 3))).roster[-1].number == 2
        await until(lambda: room.race.stage != "open")
        n = room.race.n
        assert (await room.submit(lambda race: _leave(race, 3))).n >= n
        assert [entry.n for entry in await parts.log.read(room.race.id) if isinstance(entry.event, Left)] == [6]


# A store that forgets.


async def test_a_lost_tail_is_written_again_from_memory(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        room, heard = await opened(parts), Heard()
        for player in range(1, 7):
            await room.submit(seat_for(player))
        before = await agrees(room, parts.log)
        cut(redis, room.race, before, 2)
        assert await parts.log.read(room.race.id) == before[:2]
        room.listen(heard)
        await room.submit(that(Readied(seat=5)))
        assert (await agrees(room, parts.log))[:6] == before
        assert heard.numbers == [7]


async def test_a_lost_race_is_written_again_from_memory(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        await run(room)
        before = await agrees(room, parts.log)
        redis.flushall()
        await room.submit(that(Moved(seat=1, move="draw")))
        assert (await agrees(room, parts.log))[: len(before)] == before
        assert await parts.log.header(room.race.id) == room.race.header


@pytest.mark.parametrize("written", [1, 2, 3], ids=["less", "as-much", "more"])
async def test_another_writer_who_continued_from_an_older_point_is_followed(
    redis_url: str, redis: Redis, written: int
) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine = await opened(here)
        for player in range(1, 6):
            await mine.submit(seat_for(player))
        cut(redis, mine.race, await agrees(mine, here.log), 3)
        theirs = await there.hall.room(mine.race.id)
        assert theirs.race.n == 3
        for player in range(11, 11 + written):
            await theirs.submit(seat_for(player))
        async with asyncio.timeout(60):
            await mine.submit(seat_for(21))
        entries = await agrees(mine, here.log)
        assert [seat.player for seat in mine.race.roster] == [
            *(f"player-{n}" for n in (1, 2, 3)),
            *(f"player-{n}" for n in range(11, 11 + written)),
            "player-21",
        ]
        theirs.follow(entries)
        assert theirs.race == mine.race


async def test_a_race_that_another_process_has_kept_and_cleared_away_is_over_here_too(
    redis_url: str, redis: Redis
) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        mine, heard = await opened(here), Heard()
        await run(mine)
        theirs = await there.hall.room(mine.race.id)
        mine.listen(heard)
        for seat in (1, 2):
            await theirs.submit(that(Resigned(seat=seat)))
        await until(lambda: theirs.kept)
        redis.delete(*(f"race:{{{mine.race.id}}}:{part}" for part in ("log", "head")))
        with pytest.raises(Refused) as refusal:
            await mine.submit(that(Moved(seat=1, move="draw")))
        assert refusal.value.code == "race-over"
        assert mine.race == theirs.race
        assert [type(entry.event) for entry in heard.entries] == [Resigned, Resigned, Closed]
        assert not redis.exists(f"race:{{{mine.race.id}}}:head")


# What happens by itself.


async def test_countdown_deal_and_closing_come_by_themselves_at_their_time(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room, heard = await opened(parts, limit_ms=1_000, start_delay_ms=150), Heard()
        room.listen(heard)
        await run(room)
        await room.submit(that(Moved(seat=1, move="draw")))
        await until(lambda: room.race.closed)
        at = {type(entry.event): entry.at for entry in heard.entries}
        assert 150 <= at[Dealt] - at[Counting] < 2_000
        assert 1_000 <= at[Closed] - at[Dealt] < 3_000
        assert [racer.outcome for racer in room.race.standings()] == ["timeout", "timeout"]
        assert heard.entries == await agrees(room, parts.log)
        assert not room.idle
        room.unlisten(heard)
        await until(lambda: room.idle)


async def test_a_race_is_closed_with_the_last_deed(redis_url: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        await run(room)
        await room.submit(that(Resigned(seat=1)))
        await room.submit(that(Resigned(seat=2)))
        assert room.race.closed
        assert room.race.stage == "over"
        with pytest.raises(Refused) as refusal:
            await room.submit(that(Closed(secret=SECRET.hex())))
        assert refusal.value.code == "race-over"


async def test_an_end_that_came_while_the_store_was_away_is_made_up_for(redis_url: str) -> None:
    async with Wire(redis_url) as wire, process(wire.url) as parts:
        room = await opened(parts, limit_ms=1_000)
        await run(room)
        await wire.down()
        with pytest.raises(Refused):
            await room.submit(that(Moved(seat=1, move="draw")))
        assert parts.clock.now() > (room.race.ends_at or 0)
        assert not room.race.closed
        await wire.up()
        await until(lambda: room.race.closed)
        await agrees(room, parts.log)
