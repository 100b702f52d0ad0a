"""The log in a real store: what is in is in once and at its number, whatever gets lost on the way."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
from msgspec import structs
from redis import Redis

from samedeal.errors import Refused
from samedeal.race.events import Entry, Header, Taken
from samedeal.race.race import Race
from samedeal_server.store.connection import Store, Word
from samedeal_server.store.race_log import GATHER_S, IN_FLIGHT, LINGER_S, Behind, Lost, RaceLog
from support.finished_races import SECRET, Logged, finished
from support.races_by_hand import opened
from support.stores import Wire, calls

REPLAY = finished("corners", moves=10)
ENTRIES = REPLAY.entries
RACE = REPLAY.header.race


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    store = Store(redis_url)
    yield store
    await store.close()


@pytest.fixture
async def log(store: Store) -> RaceLog:
    """The logs, with the race of REPLAY begun and nothing in it."""
    log = RaceLog(store)
    assert await log.create(REPLAY.header, before(1))
    return log


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as redis:
        yield redis


def before(n: int) -> str:
    """The digest before entry n."""
    return ENTRIES[n - 2].h if n > 1 else first(REPLAY.header)


def first(header: Header) -> str:
    """The digest before the first entry."""
    return Race.opened(header, SECRET).digest


async def append(log: RaceLog, begin: int, end: int) -> None:
    await log.append(RACE, before(begin), ENTRIES[begin - 1 : end])


def otherwise(n: int) -> list[Entry]:
    """Another entry n than the one of REPLAY, as valid to the store as that."""
    return [structs.replace(ENTRIES[n - 1], event=Taken(seat=1), h="e" * 64)]


async def holds(log: RaceLog, entries: Sequence[Entry]) -> None:
    """Checks that the log has these entries and no others, and that its head says so."""
    assert await log.read(RACE) == list(entries)
    assert await log.head(RACE) == ((entries[-1].n, entries[-1].h) if entries else (0, before(1)))


# Beginning.


async def test_a_log_begins_with_its_header(log: RaceLog) -> None:
    assert await log.header(RACE) == REPLAY.header
    await holds(log, [])


async def test_where_there_is_no_race_there_is_no_log(log: RaceLog) -> None:
    assert await log.header("no-such-race-1") is None
    assert await log.head("no-such-race-1") == (-1, "")
    assert await log.read("no-such-race-1") == []


async def test_creating_again_is_the_same_and_an_id_is_taken_once(log: RaceLog) -> None:
    await append(log, 1, 2)
    assert await log.create(REPLAY.header, before(1))
    other = structs.replace(REPLAY.header, salt="11" * 16)
    assert not await log.create(other, "f" * 64)
    assert await log.header(RACE) == REPLAY.header
    await holds(log, ENTRIES[:2])


# Appending and reading.


async def test_what_is_appended_is_read_back_from_any_number_on(log: RaceLog) -> None:
    await append(log, 1, 3)
    await append(log, 4, len(ENTRIES))
    await holds(log, ENTRIES)
    for n in range(len(ENTRIES) + 2):
        assert await log.read(RACE, after=n) == list(ENTRIES[n:])


async def test_entry_n_has_the_stream_id_n(log: RaceLog, redis: Redis) -> None:
    await append(log, 1, 12)
    ids = [id_ for id_, _ in redis.xrange(f"race:{{{RACE}}}:log") or ()]
    assert ids == [f"{n}-0".encode() for n in range(1, 13)]


async def test_a_wrong_predecessor_is_behind(log: RaceLog) -> None:
    await append(log, 1, 3)
    with pytest.raises(Behind):
        await log.append(RACE, "f" * 64, ENTRIES[3:5])
    with pytest.raises(Behind):
        await log.append(RACE, before(3), otherwise(3))
    with pytest.raises(Behind):
        await log.append(RACE, before(2), otherwise(2))
    with pytest.raises(Behind):
        await log.append(RACE, before(3), [*otherwise(3), ENTRIES[3]])
    await holds(log, ENTRIES[:3])


async def test_a_missing_tail_is_lost_and_says_where_the_log_ends(log: RaceLog) -> None:
    for n in (0, 2):
        if n:
            await append(log, 1, n)
        with pytest.raises(Lost) as lost:
            await append(log, n + 2, n + 3)
        assert lost.value.n == n
        await holds(log, ENTRIES[:n])


async def test_a_race_that_is_not_there_is_lost_altogether(log: RaceLog) -> None:
    with pytest.raises(Lost) as lost:
        await log.append("no-such-race-1", before(1), ENTRIES[:1])
    assert lost.value.n == -1


async def test_appending_again_changes_nothing(log: RaceLog) -> None:
    await append(log, 1, 4)
    await append(log, 1, 4)
    await append(log, 4, 4)
    await holds(log, ENTRIES[:4])
    await append(log, 5, 9)
    await append(log, 1, 4)
    await append(log, 2, 6)
    await holds(log, ENTRIES[:9])


async def test_a_run_that_is_there_in_part_is_completed(log: RaceLog) -> None:
    await append(log, 1, 4)
    await append(log, 3, 8)
    await append(log, 1, 9)
    await holds(log, ENTRIES[:9])


async def test_two_writers_cannot_both_write_the_next_entry(redis_url: str, log: RaceLog) -> None:
    others = [Store(redis_url) for _ in range(4)]
    try:
        attempts = [RaceLog(other).append(RACE, before(1), otherwise(1)) for other in others[:2]]
        attempts += [RaceLog(other).append(RACE, before(1), ENTRIES[:1]) for other in others[2:]]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    finally:
        for other in others:
            await other.close()
    assert sorted(map(type, outcomes), key=str) == sorted([Behind, Behind, type(None), type(None)], key=str)
    (entry,) = await log.read(RACE)
    assert entry in (ENTRIES[0], *otherwise(1))


async def test_one_race_that_is_refused_does_not_hold_up_another(log: RaceLog) -> None:
    second = finished("corners", moves=3)
    other = structs.replace(second.header, race="other-race-1")
    assert await log.create(other, "a" * 64)
    outcomes = await asyncio.gather(
        log.append(RACE, "f" * 64, ENTRIES[:1]),
        log.append("other-race-1", "a" * 64, second.entries[:2]),
        log.append("no-such-race-1", before(1), ENTRIES[:1]),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [Behind, type(None), Lost]
    await holds(log, [])
    assert await log.read("other-race-1") == list(second.entries[:2])


async def test_what_many_races_append_in_one_turn_travels_together(store: Store, log: RaceLog, redis: Redis) -> None:
    races = [_first_entry(number) for number in range(60)]
    for race in races:
        assert await log.create(race.race.header, first(race.race.header))
    await append(log, 1, 1)  # the script is known now
    redis.config_resetstat()
    await asyncio.gather(*(log.append(race.race.id, first(race.race.header), race.entries) for race in races))
    assert calls(redis, "evalsha") == 1
    assert calls(redis, "xadd") == 60
    for race in races:
        assert await log.read(race.race.id) == race.entries


async def test_what_comes_while_commits_are_under_way_waits_together(log: RaceLog, redis: Redis) -> None:
    races = [_first_entry(number) for number in range(120)]
    for race in races:
        assert await log.create(race.race.header, first(race.race.header))
    await append(log, 1, 1)
    redis.config_resetstat()
    redis.client_pause(900, all=False)

    async def arrive(race: Logged, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await log.append(race.race.id, first(race.race.header), race.entries)

    arriving = [asyncio.create_task(arrive(race, number)) for number, race in enumerate(races)]
    for _ in range(2 * len(races)):
        await asyncio.sleep(0)
    redis.client_unpause()
    await asyncio.gather(*arriving)
    assert calls(redis, "xadd") == 120
    assert 2 <= calls(redis, "evalsha") <= IN_FLIGHT + 1


async def test_a_commit_that_takes_long_does_not_hold_up_what_comes_later(log: RaceLog, redis: Redis) -> None:
    races = [_first_entry(number) for number in range(3)]
    for race in races:
        assert await log.create(race.race.header, first(race.race.header))
    await append(log, 1, 1)
    redis.config_resetstat()
    redis.client_pause(900, all=False)
    arriving = []
    for race in races:
        arriving.append(asyncio.create_task(log.append(race.race.id, first(race.race.header), race.entries)))
        await asyncio.sleep(2 * GATHER_S)
    redis.client_unpause()
    await asyncio.gather(*arriving)
    assert calls(redis, "evalsha") == 3


async def test_an_answer_that_is_none_is_told_to_those_who_wait(log: RaceLog, monkeypatch: pytest.MonkeyPatch) -> None:
    race = _first_entry(1)
    assert await log.create(race.race.header, first(race.race.header))

    async def nothing(keys: Sequence[str], words: Sequence[Word]) -> list[object]:
        return []

    monkeypatch.setattr(log._append, "run", nothing)
    with pytest.raises(ValueError, match="zip"):
        await log.append(race.race.id, first(race.race.header), race.entries)


# Following.


async def test_one_process_follows_what_another_writes(redis_url: str, log: RaceLog) -> None:
    theirs = Store(redis_url)
    follower, heard = RaceLog(theirs), list[Entry]()

    async def follow() -> None:
        while len(heard) < 9:
            heard.extend((await follower.follow(lambda: {RACE: len(heard)})).get(RACE) or [])

    try:
        following = asyncio.create_task(follow())
        for n in range(1, 10):
            await append(log, n, n)
        await asyncio.wait_for(following, 60)
        assert heard == list(ENTRIES[:9])
        assert await follower.follow(lambda: {RACE: 9, "no-such-race-1": 0}) == {}
        assert await follower.follow(lambda: {RACE: 7}) == {RACE: list(ENTRIES[7:9])}
    finally:
        await theirs.close()


async def test_following_nothing_takes_a_moment_and_finds_nothing(log: RaceLog) -> None:
    began = time.monotonic()
    assert await log.follow(dict) == {}
    assert time.monotonic() - began > 0.1


async def test_the_log_of_a_race_that_is_kept_elsewhere_goes_after_a_while(log: RaceLog, redis: Redis) -> None:
    await append(log, 1, 2)
    await log.discard(RACE)
    assert all(0 < redis.ttl(f"race:{{{RACE}}}:{part}") <= LINGER_S for part in ("log", "head"))
    await holds(log, ENTRIES[:2])


# Losses.


@pytest.mark.parametrize("race_exists", [True, False])
async def test_nothing_is_written_twice_when_a_reply_is_lost(redis_url: str, redis: Redis, race_exists: bool) -> None:
    async with Wire(redis_url) as wire:
        store = Store(wire.url)
        log = RaceLog(store)
        if not race_exists:
            wire.lose_reply_to = b"EVALSHA"
        assert await log.create(REPLAY.header, before(1))
        await append(log, 1, 2)
        redis.config_resetstat()
        wire.lose_reply_to = b"EVALSHA"
        await append(log, 3, 6)
        assert wire.lost == (1 if race_exists else 2)
        assert calls(redis, "evalsha") == 2
        assert calls(redis, "xadd") == 4
        await holds(log, ENTRIES[:6])
        await store.close()


@pytest.mark.parametrize("how", ["refusing", "silent"])
async def test_a_store_that_is_away_is_said_to_be_and_works_again_when_it_is_back(redis_url: str, how: str) -> None:
    async with Wire(redis_url) as wire:
        store = Store(wire.url)
        log = RaceLog(store)
        assert await log.create(REPLAY.header, before(1))
        await append(log, 1, 2)
        if how == "silent":
            wire.silent = True
        else:
            await wire.down()
        attempts = [append(log, 3, 3), log.read(RACE), log.head(RACE), log.create(REPLAY.header, before(1))]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert [outcome.code for outcome in outcomes if isinstance(outcome, Refused)] == ["store-unavailable"] * 4
        if how == "silent":
            wire.silent = False
        else:
            await wire.up()
        await append(log, 3, 5)
        await holds(log, ENTRIES[:5])
        await store.close()


async def test_a_short_absence_is_waited_for(redis_url: str) -> None:
    async with Wire(redis_url) as wire:
        store = Store(wire.url)
        log = RaceLog(store)
        assert await log.create(REPLAY.header, before(1))
        await wire.down()
        writing = asyncio.create_task(append(log, 1, 3))
        await asyncio.sleep(0.3)  # less than the store's patience
        assert not writing.done()
        await wire.up()
        await writing
        await holds(log, ENTRIES[:3])
        await store.close()


async def test_who_stops_waiting_stops_neither_the_writing_nor_others(log: RaceLog) -> None:
    other = _first_entry(1)
    assert await log.create(other.race.header, first(other.race.header))
    writing = asyncio.create_task(append(log, 1, 3))
    others = asyncio.create_task(log.append(other.race.id, first(other.race.header), other.entries))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await asyncio.wait_for(others, 60)
    await append(log, 4, 4)
    await holds(log, ENTRIES[:4])


def _first_entry(number: int) -> Logged:
    """A race of its own in which one thing has happened."""
    log = opened(race_id=f"race-{number}", seed="42")
    log.say(structs.replace(ENTRIES[0].event, commitment=None))
    return log
