"""The index of unlisted races is built once from an older store, and interrupted work continues."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal_server.store import unlisted_index
from samedeal_server.store.schema import KEY, SCHEMA
from samedeal_server.store.unlisted_index import LOCK, LOCK_S, PROGRESS, UnlistedIndex
from support.archived_races import archive
from support.stores import Process, calls, contents, process, redis

pytestmark = pytest.mark.tier(2)

__all__ = ["redis"]

RACES = 60


@pytest.fixture
async def parts(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Process]:
    """A process that scans few keys at once."""
    monkeypatch.setattr(unlisted_index, "COUNT", 3)
    monkeypatch.setattr(unlisted_index, "PAUSE_S", 0.0)
    async with process(redis_url) as parts:
        yield parts


@pytest.fixture
async def indexed(parts: Process, redis: Redis) -> dict[bytes, bytes]:
    """The contents of a store with listed and unlisted races; then its index is deleted, as in schema 2."""
    for number in range(RACES):
        await archive(parts, f"race-{number}", 1, 2 + number % 3, unlisted=number % 2 == 0)
    redis.set(KEY, SCHEMA)
    before = contents(redis)
    assert {key for key in before if b"unlisted" in key} == {b"replays:unlisted:player-%d" % n for n in (1, 2, 3, 4)}
    redis.delete(*redis.keys("replays:unlisted:*"))
    redis.set(KEY, 2)
    return before


def index(parts: Process) -> UnlistedIndex:
    return UnlistedIndex(parts.store, parts.archive.players)


async def test_the_index_is_built_from_stored_races(parts: Process, redis: Redis, indexed: dict[bytes, bytes]) -> None:
    builder = index(parts)
    await builder.build()
    assert contents(redis) == indexed
    redis.config_resetstat()
    await builder.build()
    assert calls(redis, "scan") == calls(redis, "get") == 0
    await index(parts).build()
    assert (calls(redis, "scan"), calls(redis, "get")) == (0, 1)
    assert contents(redis) == indexed


async def test_races_that_cannot_be_read_are_skipped(parts: Process, redis: Redis, indexed: dict[bytes, bytes]) -> None:
    redis.set("replay:{damaged}", b"\x02damaged")
    redis.set("replay:{future}", b"\xffthe format of a later version")
    await index(parts).build()
    assert redis.zcard("replays:unlisted:player-1") == RACES / 2
    assert redis.get(KEY) == str(SCHEMA).encode()


@pytest.mark.parametrize("failing", ["ZADD", "HSET", "DEL", "SET"])
async def test_interrupted_work_continues_in_any_process(
    failing: str, parts: Process, redis: Redis, redis_url: str, indexed: dict[bytes, bytes]
) -> None:
    """Each process fails at one write, a little later than the one before it, and loses the lock as if it had died."""
    scans = []
    for allowed in range(0, 400, 1 if failing in ("DEL", "SET") else 17):
        async with process(redis_url) as another:
            retry, writes = another.store.retry, 0

            async def fails(*command: Any, retry: Any = retry, allowed: int = allowed) -> object:
                nonlocal writes
                writes += command[0] == failing
                if writes > allowed:
                    raise Refused("store-unavailable")
                return await retry(*command)

            another.store.retry = fails  # type: ignore[method-assign]
            redis.config_resetstat()
            try:
                await index(another).build()
                break
            except Refused:
                scans.append(calls(redis, "scan"))
                redis.delete(LOCK)
    assert scans
    redis.delete(LOCK)  # it expires by itself
    assert contents(redis) == indexed


async def test_finished_parts_are_not_scanned_again(
    parts: Process, indexed: dict[bytes, bytes], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many calls a scan takes depends on the layout of the store's hash table, so cursors are compared instead."""
    scan, cursors = parts.store.scan, list[int]()

    async def fails(node: str, cursor: int, *arguments: Any) -> object:
        cursors.append(cursor)
        if len(cursors) == 5:
            raise Refused("store-unavailable")
        return await scan(node, cursor, *arguments)

    monkeypatch.setattr(parts.store, "scan", fails)
    builder = index(parts)
    with pytest.raises(Refused):
        await builder.build()
    assert redis.hlen(PROGRESS) == 1
    await builder.build()
    assert cursors[4] == cursors[5], "the work continues with the batch that failed"
    assert len(set(cursors)) == len(cursors) - 1, "no other batch is scanned twice"
    assert contents(redis) == indexed


async def test_a_restarted_store_is_scanned_from_the_start(
    parts: Process, redis: Redis, indexed: dict[bytes, bytes]
) -> None:
    """The cursors of SCAN are void after a restart."""
    redis.hset(PROGRESS, "store", "another-run 12345")
    await index(parts).build()
    assert contents(redis) == indexed
    redis.set(KEY, 2)
    redis.delete(*redis.keys("replays:unlisted:*"))
    redis.hset(PROGRESS, "store", "another-run")
    await index(parts).build()
    assert contents(redis) == indexed


async def test_only_one_process_builds_at_a_time(parts: Process, redis: Redis, indexed: dict[bytes, bytes]) -> None:
    redis.set(LOCK, "another", ex=LOCK_S)
    builder = index(parts)
    await builder.build()
    assert not redis.keys("replays:unlisted:*")
    assert redis.get(KEY) == b"2"
    redis.delete(LOCK)
    await builder.build()
    assert contents(redis) == indexed


async def test_a_process_that_has_lost_its_lock_stops(
    parts: Process, redis: Redis, indexed: dict[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = parts.store.scan

    async def slow(*arguments: Any) -> object:
        redis.set(LOCK, "another", ex=LOCK_S)
        return await scan(*arguments)

    monkeypatch.setattr(parts.store, "scan", slow)
    redis.config_resetstat()
    await index(parts).build()
    assert calls(redis, "scan") == 1
    assert redis.get(KEY) == b"2"


async def test_races_that_end_meanwhile_are_in_the_index(
    parts: Process, redis: Redis, indexed: dict[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, added = parts.store.scan, 0

    async def busy(*arguments: Any) -> object:
        nonlocal added
        added += 1
        await archive(parts, f"later-{added}", 1, 2, unlisted=True)
        return await scan(*arguments)

    monkeypatch.setattr(parts.store, "scan", busy)
    await index(parts).build()
    assert added > 1
    assert redis.zcard("replays:unlisted:player-1") == RACES / 2 + added
