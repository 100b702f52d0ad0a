"""The registry creates, finds and maintains races, even when no clients are connected."""

import asyncio
import re

import pytest
from msgspec import structs
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Entry, Options, Resigned
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.live import opening, registry
from samedeal_server.live.registry import Registry
from samedeal_server.store.guest_tokens import Guests
from support.races_by_hand import opened as opened_by_hand
from support.rooms import LATER_MS, finished, opened
from support.session_here import session
from support.stores import Process, process, run, seat_for, that, until

pytestmark = pytest.mark.tier(2)


@pytest.fixture
def _sweeps_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SWEEP_EVERY_S", 0.02)


async def refusal(race: str, registry: Registry) -> str:
    with pytest.raises(Refused) as refused:
        await registry.room(race)
    return refused.value.code


async def test_ids_of_live_and_archived_races_are_not_reused(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter([1, 1, 2, 2, 2, 3])
    monkeypatch.setattr(opening, "choice", lambda words: words[0])
    monkeypatch.setattr(opening, "randbelow", lambda limit: next(numbers))
    first, second = await opened(parts), await opened(parts)
    race_id = second.race.id
    await run(second)
    for seat in (1, 2):
        await second.submit(that(Resigned(seat=seat)))
    await until(lambda: second.is_archived)
    await parts.store.ask("DEL", f"race:{{{race_id}}}:head", f"race:{{{race_id}}}:log")
    third = await opened(parts)
    assert [room.race.id[-4:] for room in (first, second, third)] == ["1001", "1002", "1003"]


async def test_concurrent_lookups_return_the_same_room(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        race = (await opened(here)).race.id
        rooms = await asyncio.gather(*(there.registry.room(race) for _ in range(10)))
        assert len(set(rooms)) == 1


async def test_cancelling_a_lookup_does_not_cancel_others(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        race = (await opened(here)).race.id
        first, second = (asyncio.create_task(there.registry.room(race)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).race.id == race
        assert first.cancelled()


async def test_unknown_and_invalid_race_ids_are_not_found(parts: Process, redis: Redis) -> None:
    unknown = ["", "*", "calm-otter-9999", "x" * 64, "x" * 65, "Calm-Otter-1000", "calm_otter", "calm otter", "?"]
    unknown += ["a}", "{a", "a}:log", "}:head\r\nFLUSHALL\r\n", "a\n", "../a", "a:b", "é", "\0", "[a-z]"]
    room = await opened(parts)
    redis.set("race:{}:head", "bait")
    redis.set("bait", "bait")
    for race in unknown:
        redis.config_resetstat()
        assert await refusal(race, parts.registry) == "not-found", race
        asked = "cmdstat_hget" in redis.info("commandstats")
        assert asked == (re.fullmatch("[a-z0-9-]{1,64}", race) is not None), race
    assert redis.get("bait") == b"bait"
    assert await parts.registry.room(room.race.id) is room


async def test_a_race_of_another_master_key_is_refused(parts: Process) -> None:
    """A server with the wrong master key refuses the race and writes nothing to its log."""
    foreign = opened_by_hand(race_id="foreign-race-1").race
    assert await parts.log.create(foreign.id, foreign.header, foreign.digest)
    assert await refusal("foreign-race-1", parts.registry) == "bad-replay"
    assert await parts.log.head("foreign-race-1") == (0, foreign.digest)


@pytest.mark.usefixtures("_sweeps_often")
async def test_a_running_race_without_connections_needs_no_room(redis_url: str) -> None:
    async with process(redis_url, started=True) as here:
        room = await opened(here)
        await run(room)
        await until(lambda: room.race.id not in here.registry._rooms)
        again = await here.registry.room(room.race.id)
        assert again is not room
        assert again.race == room.race


async def test_a_join_that_arrives_during_a_sweep_is_served(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hosted race that nobody has entered is idle, and the join first asks the store whether the guest is barred."""
    live, guests = parts.registry.live, Guests(parts.store)
    host, _ = await guests.create("host")
    _, token = await guests.create("ada")
    room = await parts.registry.create(GAMES["corners"], {}, "1", Options(limit_ms=60_000), host=host)
    is_barred = live.is_barred

    async def asked_during_a_sweep(race_id: str, player: str) -> bool:
        await parts.registry._sweep()
        return await is_barred(race_id, player)

    monkeypatch.setattr(live, "is_barred", asked_during_a_sweep)
    async with session(parts, guests) as (_, socket, _):
        await parts.registry._sweep()
        for request in (m.Hello(id=1, token=token), m.Join(id=2, race=room.race.id)):
            socket.requests.put_nowait(request)
        await until(lambda: len(socket.sent) == 2)
        assert isinstance(socket.sent[1], m.View)
        assert await parts.registry.room(room.race.id) is room


async def test_a_connection_whose_seat_the_log_has_lost_is_closed(parts: Process) -> None:
    guests = Guests(parts.store)
    _, token = await guests.create("ada")
    room = await parts.registry.create(GAMES["corners"], {}, "1", Options(limit_ms=60_000))
    before = room.race
    async with session(parts, guests) as (_, socket, _):
        for request in (m.Hello(id=1, token=token), m.Join(id=2, race=before.id)):
            socket.requests.put_nowait(request)
        await until(lambda: len(socket.sent) == 2)
        room.broadcast.publish(before, [Entry(n=1, at=before.at, event=Resigned(seat=1), h="")])
        await until(lambda: socket.closed)
        assert socket.closed == [CloseCode.REPLACED]


@pytest.mark.usefixtures("_sweeps_often")
async def test_overdue_races_are_closed_without_any_client(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as before:
        room = await opened(before)
        await run(room)
        race = room.race.id
    assert not redis.exists(f"replay:{{{race}}}")
    async with process(redis_url, started=True, ahead_ms=LATER_MS) as after:
        await until(lambda: redis.exists(f"replay:{{{race}}}"))
        await until(lambda: not redis.exists("races:due"))
        replay = await after.archive.replay(race)
        assert replay
        assert isinstance(replay.entries[-1].event, Closed)
        assert [racer.outcome for racer in replay.standings] == ["timeout", "timeout"]


@pytest.mark.usefixtures("_sweeps_often")
async def test_two_processes_closing_a_race_write_one_closing_entry(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as before:
        room = await opened(before)
        await run(room)
        race = room.race.id
    async with (
        process(redis_url, started=True, ahead_ms=LATER_MS),
        process(redis_url, started=True, ahead_ms=LATER_MS) as after,
    ):
        await until(lambda: redis.exists(f"replay:{{{race}}}"))
        await until(lambda: redis.ttl(f"race:{{{race}}}:log") > 0)
        entries = await after.log.read(race)
        assert [isinstance(entry.event, Closed) for entry in entries[-2:]] == [False, True]
        replay = await after.archive.replay(race)
        assert replay
        assert list(replay.entries) == entries


@pytest.mark.usefixtures("_sweeps_often")
async def test_an_overdue_race_that_does_not_exist_is_removed(
    redis_url: str, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    redis.zadd("races:due", {"no-such-race-1": 1})
    async with process(redis_url, started=True) as parts:
        await until(lambda: not redis.exists("races:due"))
        room = await opened(parts)
        await room.submit(seat_for(1))
    assert "no-such-race-1" in [getattr(record, "race", None) for record in caplog.records]


@pytest.mark.usefixtures("_sweeps_often")
async def test_an_archived_race_marked_live_by_a_late_command_is_removed_again(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, started=True) as parts:
        race = (await finished(parts)).race.id
        redis.zadd("races:due", {race: 1})
        await until(lambda: not redis.exists("races:due"))
        assert await parts.archive.has(race)


@pytest.mark.usefixtures("_sweeps_often")
@pytest.mark.parametrize("lost", ["all of it", "the replay"])
async def test_a_finished_race_that_the_store_lost_is_archived_again_before_its_room_is_dropped(
    lost: str, redis_url: str, redis: Redis
) -> None:
    async with process(redis_url, started=True) as parts:
        room = await finished(parts)
        race, text = room.race.id, redis.get(f"replay:{{{room.race.id}}}")
        redis.delete(*(redis.keys() if lost == "all of it" else [f"replay:{{{race}}}"]))
        await until(lambda: redis.exists(f"replay:{{{race}}}"))
        assert redis.get(f"replay:{{{race}}}") == text


async def test_an_archived_race_is_over_even_if_the_end_of_its_log_is_lost(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as before:
        race = (await finished(before)).race
        head = await before.log.head(race.id)
        entries = await before.log.read(race.id)
        redis.xdel(f"race:{{{race.id}}}:log", f"{head[0]}-0")
        redis.hset(f"race:{{{race.id}}}:head", mapping={"n": head[0] - 1, "h": entries[-2].h})
    async with process(redis_url) as after:
        room = await after.registry.room(race.id)
        assert room.race == race
        assert room.is_archived


@pytest.mark.usefixtures("_sweeps_often")
async def test_a_running_race_that_the_store_lost_is_written_again_before_its_room_is_dropped(
    redis_url: str, redis: Redis
) -> None:
    async with process(redis_url, started=True) as parts:
        room = await opened(parts)
        await run(room)
        redis.flushall()
        await until(lambda: redis.exists(f"race:{{{room.race.id}}}:log"))
        assert await parts.log.head(room.race.id) == (room.race.n, room.race.digest)


async def test_a_log_under_another_races_header_is_refused(redis_url: str) -> None:
    """Entries are bound to their race."""
    async with process(redis_url) as parts:
        room, other = await opened(parts), await opened(parts)
        await run(room)
        entries = await parts.log.read(room.race.id)
        await parts.log.append(other.race.id, other.race.digest, [structs.replace(entry) for entry in entries])
    async with process(redis_url) as later:
        assert await refusal(other.race.id, later.registry) == "bad-replay"


async def test_the_clock_agrees_with_the_store(parts: Process, redis: Redis) -> None:
    seconds, micros = redis.time()
    assert abs(parts.clock.now() - (seconds * 1000 + micros // 1000)) < 200
    times = [parts.clock.now() for _ in range(1000)]
    assert times == sorted(times)
