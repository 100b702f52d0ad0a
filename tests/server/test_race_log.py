"""The race log in a real store: every entry is written once and in order, even if replies are lost."""

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest
from msgspec import structs
from redis import Redis

from samedeal.errors import Refused
from samedeal.race.events import Entry, Header, Taken
from samedeal.race.race import Race
from samedeal_server.store import chained_logs
from samedeal_server.store.chained_logs import ChainedLogs, RaceLog
from samedeal_server.store.connection import Store, Word
from samedeal_server.store.group_commits import GATHER_S, IN_FLIGHT, Behind, GroupCommits
from support.faulty_proxy import Proxy
from support.finished_races import SECRET, Logged, finished
from support.races_by_hand import opened
from support.stores import calls

REPLAY = finished("corners", moves=10)
ENTRIES = REPLAY.entries
RACE = REPLAY.header.race


@pytest.fixture
async def log(store: Store) -> RaceLog:
    """The race log, with an empty log for the race of REPLAY."""
    log = RaceLog(GroupCommits(store))
    assert await log.create(RACE, REPLAY.header, before(1))
    return log


def before(n: int) -> str:
    """The digest before entry n."""
    return ENTRIES[n - 2].h if n > 1 else first(REPLAY.header)


def first(header: Header) -> str:
    """The digest before the first entry."""
    return Race.opened(header, SECRET).digest


async def append(log: RaceLog, begin: int, end: int) -> None:
    await log.append(RACE, before(begin), ENTRIES[begin - 1 : end])


def otherwise(n: int) -> list[Entry]:
    """A different entry n, which is just as valid for the store."""
    return [structs.replace(ENTRIES[n - 1], event=Taken(seat=1), h="e" * 64)]


async def assert_holds(log: RaceLog, entries: Sequence[Entry]) -> None:
    """Assert that the log has exactly these entries and that its head agrees."""
    assert await log.read(RACE) == list(entries)
    assert await log.head(RACE) == ((entries[-1].n, entries[-1].h) if entries else (0, before(1)))


async def test_a_new_log_has_its_header_and_no_entries(log: RaceLog) -> None:
    assert await log.field(RACE, "header", Header) == REPLAY.header
    await assert_holds(log, [])


async def test_a_missing_race_has_no_log(log: RaceLog) -> None:
    assert await log.field("no-such-race-1", "header", Header) is None
    assert await log.head("no-such-race-1") == (-1, "")
    assert await log.read("no-such-race-1") == []


async def test_create_is_idempotent_and_refuses_a_taken_id(log: RaceLog) -> None:
    await append(log, 1, 2)
    assert await log.create(RACE, REPLAY.header, before(1))
    other = structs.replace(REPLAY.header, salt="11" * 16)
    assert not await log.create(RACE, other, "f" * 64)
    assert await log.field(RACE, "header", Header) == REPLAY.header
    await assert_holds(log, ENTRIES[:2])


async def test_appended_entries_are_read_from_any_number_on(log: RaceLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chained_logs, "READ_AT_ONCE", 2)
    await append(log, 1, 3)
    await append(log, 4, len(ENTRIES))
    await assert_holds(log, ENTRIES)
    for n in range(len(ENTRIES) + 2):
        assert await log.read(RACE, after=n) == list(ENTRIES[n:])


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
    await assert_holds(log, ENTRIES[:3])


async def test_a_gap_is_behind(log: RaceLog) -> None:
    for n in (0, 2):
        if n:
            await append(log, 1, n)
        with pytest.raises(Behind):
            await append(log, n + 2, n + 3)
        await assert_holds(log, ENTRIES[:n])


async def test_appending_to_a_missing_race_is_behind(log: RaceLog) -> None:
    with pytest.raises(Behind):
        await log.append("no-such-race-1", before(1), ENTRIES[:1])


async def test_appending_again_changes_nothing(log: RaceLog) -> None:
    await append(log, 1, 4)
    await append(log, 1, 4)
    await append(log, 4, 4)
    await assert_holds(log, ENTRIES[:4])
    await append(log, 5, 9)
    await append(log, 1, 4)
    await append(log, 2, 6)
    await assert_holds(log, ENTRIES[:9])


async def test_partly_written_entries_are_completed(log: RaceLog) -> None:
    await append(log, 1, 4)
    await append(log, 3, 8)
    await append(log, 1, 9)
    await assert_holds(log, ENTRIES[:9])


async def test_two_writers_cannot_both_write_the_next_entry(redis_url: str, log: RaceLog) -> None:
    others = [Store(redis_url) for _ in range(4)]
    try:
        attempts = [RaceLog(GroupCommits(other)).append(RACE, before(1), otherwise(1)) for other in others[:2]]
        attempts += [RaceLog(GroupCommits(other)).append(RACE, before(1), ENTRIES[:1]) for other in others[2:]]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    finally:
        for other in others:
            await other.close()
    assert sorted(map(type, outcomes), key=str) == sorted([Behind, Behind, type(None), type(None)], key=str)
    (entry,) = await log.read(RACE)
    assert entry in (ENTRIES[0], *otherwise(1))


async def test_a_refused_append_does_not_affect_other_races(log: RaceLog) -> None:
    second = finished("corners", moves=3)
    other = structs.replace(second.header, race="other-race-1")
    assert await log.create(other.race, other, "a" * 64)
    outcomes = await asyncio.gather(
        log.append(RACE, "f" * 64, ENTRIES[:1]),
        log.append("other-race-1", "a" * 64, second.entries[:2]),
        log.append("no-such-race-1", before(1), ENTRIES[:1]),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [Behind, type(None), Behind]
    await assert_holds(log, [])
    assert await log.read("other-race-1") == list(second.entries[:2])


async def test_entries_of_many_races_in_one_loop_iteration_share_a_commit(
    store: Store, log: RaceLog, redis: Redis
) -> None:
    races = [_first_entry(number) for number in range(60)]
    for race in races:
        assert await log.create(race.race.id, race.race.header, first(race.race.header))
    await append(log, 1, 1)  # loads the script
    redis.config_resetstat()
    await asyncio.gather(*(log.append(race.race.id, first(race.race.header), race.entries) for race in races))
    assert calls(redis, "evalsha") == 1
    assert calls(redis, "xadd") == 60
    for race in races:
        assert await log.read(race.race.id) == race.entries


async def test_logs_of_two_kinds_share_a_commit(store: Store, redis: Redis) -> None:
    class Others(ChainedLogs[Entry]):
        kind, entry_type = "other", Entry

    commits = GroupCommits(store)
    logs: list[ChainedLogs[Entry]] = [RaceLog(commits), Others(commits)]
    for log in logs:
        assert await log.create(RACE, REPLAY.header, before(1), note=log.kind)
    redis.config_resetstat()
    await asyncio.gather(*(log.append(RACE, before(1), ENTRIES[: 2 + n]) for n, log in enumerate(logs)))
    assert calls(redis, "evalsha") + calls(redis, "eval") <= 2  # the script may have to be loaded
    assert calls(redis, "xadd") == 5
    for n, log in enumerate(logs):
        assert await log.read(RACE) == list(ENTRIES[: 2 + n])
        assert await log.field(RACE, "note", str) == log.kind
        assert await log.field(RACE, "none", str) is None
        assert await log.follow(lambda: {RACE: 1}) == {RACE: list(ENTRIES[1 : 2 + n])}


async def test_entries_that_arrive_during_commits_share_the_next_commit(log: RaceLog, redis: Redis) -> None:
    races = [_first_entry(number) for number in range(120)]
    for race in races:
        assert await log.create(race.race.id, race.race.header, first(race.race.header))
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


async def test_a_slow_commit_does_not_delay_later_ones(log: RaceLog, redis: Redis) -> None:
    races = [_first_entry(number) for number in range(3)]
    for race in races:
        assert await log.create(race.race.id, race.race.header, first(race.race.header))
    await append(log, 1, 1)
    redis.config_resetstat()
    redis.client_pause(900, all=False)
    arriving = []
    for race in races:
        arriving.append(asyncio.ensure_future(log.append(race.race.id, first(race.race.header), race.entries)))
        await asyncio.sleep(2 * GATHER_S)
    redis.client_unpause()
    await asyncio.gather(*arriving)
    assert calls(redis, "evalsha") == 3


async def test_an_unexpected_reply_is_raised_to_waiting_writers(log: RaceLog, monkeypatch: pytest.MonkeyPatch) -> None:
    race = _first_entry(1)
    assert await log.create(race.race.id, race.race.header, first(race.race.header))

    async def nothing(keys: Sequence[str], arguments: Sequence[Word]) -> list[object]:
        return []

    monkeypatch.setattr(log.commits._append, "run", nothing)
    with pytest.raises(ValueError, match="zip"):
        await log.append(race.race.id, first(race.race.header), race.entries)


async def test_follow_returns_entries_of_another_process(redis_url: str, log: RaceLog) -> None:
    theirs = Store(redis_url)
    follower, heard = RaceLog(GroupCommits(theirs)), list[Entry]()

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


async def test_following_no_races_waits_and_returns_nothing(log: RaceLog) -> None:
    started = time.monotonic()
    assert await log.follow(dict) == {}
    assert time.monotonic() - started > 0.1


@pytest.mark.parametrize("race_exists", [True, False])
async def test_nothing_is_written_twice_when_a_reply_is_lost(redis_url: str, redis: Redis, race_exists: bool) -> None:
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        log = RaceLog(GroupCommits(store))
        lost = [] if race_exists else [asyncio.create_task(proxy.lose_answer(b"EVALSHA"))]
        assert await log.create(RACE, REPLAY.header, before(1))
        await append(log, 1, 2)
        redis.config_resetstat()
        lost.append(asyncio.create_task(proxy.lose_answer(b"EVALSHA")))
        await append(log, 3, 6)
        await asyncio.gather(*lost)
        assert calls(redis, "evalsha") == 2
        assert calls(redis, "xadd") == 4
        await assert_holds(log, ENTRIES[:6])
        await store.close()


@pytest.mark.parametrize("fail", [Proxy.cut, Proxy.stall])
async def test_an_unavailable_store_is_reported_and_works_again_later(
    redis_url: str, fail: Callable[[Proxy], None]
) -> None:
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        log = RaceLog(GroupCommits(store))
        assert await log.create(RACE, REPLAY.header, before(1))
        await append(log, 1, 2)
        fail(proxy)
        attempts = [append(log, 3, 3), log.read(RACE), log.head(RACE), log.create(RACE, REPLAY.header, before(1))]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert [outcome.code for outcome in outcomes if isinstance(outcome, Refused)] == ["store-unavailable"] * 4
        proxy.mend()
        await append(log, 3, 5)
        await assert_holds(log, ENTRIES[:5])
        await store.close()


async def test_a_short_outage_is_retried(redis_url: str) -> None:
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        log = RaceLog(GroupCommits(store))
        assert await log.create(RACE, REPLAY.header, before(1))
        proxy.cut()
        writing = asyncio.create_task(append(log, 1, 3))
        await asyncio.sleep(0.3)  # less than RETRY_S
        assert not writing.done()
        proxy.mend()
        await writing
        await assert_holds(log, ENTRIES[:3])
        await store.close()


async def test_cancelling_a_writer_cancels_neither_its_write_nor_others(log: RaceLog) -> None:
    other = _first_entry(1)
    assert await log.create(other.race.id, other.race.header, first(other.race.header))
    writing = asyncio.create_task(append(log, 1, 3))
    others = asyncio.ensure_future(log.append(other.race.id, first(other.race.header), other.entries))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await asyncio.wait_for(others, 60)
    await append(log, 4, 4)
    await assert_holds(log, ENTRIES[:4])


def _first_entry(number: int) -> Logged:
    """Another race, with one entry."""
    log = opened(race_id=f"race-{number}", seed="42")
    log.say(structs.replace(ENTRIES[0].event, commitment=None))
    return log
