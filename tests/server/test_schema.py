"""The schema version: older stores are migrated, newer ones are refused."""

import subprocess
import sys

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal_server.store.schema import KEY, SCHEMA, WITHOUT_UNLISTED_INDEX, check_schema, migrate
from samedeal_server.store.unlisted_index import UnlistedIndex
from support.rooms import listed, opened
from support.servers import Server
from support.stores import process, run, until

pytestmark = pytest.mark.tier(2)


async def test_a_new_store_gets_the_current_schema(redis_url: str) -> None:
    async with process(redis_url) as parts:
        await check_schema(parts.store)
        with Redis.from_url(redis_url) as redis:
            assert redis.get(KEY) == str(SCHEMA).encode()
        await check_schema(parts.store)
        await migrate(parts.store, parts.registry)


@pytest.mark.parametrize("found", [f"{SCHEMA + 1}", "two", "\udcff", ""])
def test_a_server_refuses_a_newer_schema_and_changes_nothing(found: str, redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.set(KEY, found.encode(errors="surrogateescape"))
        server = Server(redis_url)
        ended = subprocess.run(
            [sys.executable, *server.program, "--port", "0"],
            env=server._env,
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert ended.returncode == 1
        assert f"reads schemas up to {SCHEMA}" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert redis.keys() == [KEY.encode()]


async def test_lists_of_schema_1_are_migrated(redis_url: str) -> None:
    async with process(redis_url) as before:
        rooms = [await opened(before), await opened(before, "gallery")]
        await run(rooms[1])
    with Redis.from_url(redis_url) as redis:
        redis.delete("races:index", "races:summaries", KEY)
        redis.hset("replays:keys", "00", 1)  # a server has used this store
        redis.zadd("races:listed", {room.race.id: room.race.header.opened_at for room in rooms} | {"gone-race-1": 1})
        async with process(redis_url) as after:
            await check_schema(after.store)
            assert await listed(after) == []
            await migrate(after.store, after.registry)
            assert await listed(after) == [rooms[1].race.id, rooms[0].race.id]
            assert await listed(after, stage="running") == [rooms[1].race.id]
            assert redis.get(KEY) == str(WITHOUT_UNLISTED_INDEX).encode()
            assert not redis.exists("races:listed")
            await UnlistedIndex(after.store, after.archive.players).build()
            assert redis.get(KEY) == str(SCHEMA).encode()


async def test_migration_leaves_an_open_room_to_restore_its_deadline(redis_url: str) -> None:
    async with process(redis_url) as before:
        race_id = (await opened(before)).race.id
    with Redis.from_url(redis_url) as redis:
        redis.delete("races:due", "races:index", "races:summaries", KEY)
        redis.hset("replays:keys", "00", 1)
        redis.zadd("races:listed", {race_id: 1})
        async with process(redis_url) as after:
            room = await after.registry.room(race_id)
            await until(lambda: redis.hexists("races:summaries", race_id))
            deadline = redis.zscore("races:due", race_id)
            await migrate(after.store, after.registry)
            assert redis.zscore("races:due", race_id) < deadline
            room.wake()
            await until(lambda: redis.zscore("races:due", race_id) == deadline)


async def test_an_interrupted_migration_is_continued(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(redis_url) as before:
        rooms = [await opened(before), await opened(before)]
    with Redis.from_url(redis_url) as redis:
        redis.delete("races:index", "races:summaries", KEY)
        redis.hset("replays:keys", "00", 1)
        redis.zadd("races:listed", {room.race.id: room.race.header.opened_at for room in rooms})
        async with process(redis_url) as after:
            retry, failed = after.store.retry, False

            async def fails_once(*command: str) -> object:
                nonlocal failed
                if command[:2] == ("ZREM", "races:listed") and not failed:
                    failed = True
                    raise Refused("store-unavailable")
                return await retry(*command)

            monkeypatch.setattr(after.store, "retry", fails_once)
            with pytest.raises(Refused):
                await migrate(after.store, after.registry)
            assert redis.get(KEY) is None
            await migrate(after.store, after.registry)
            assert sorted(await listed(after)) == sorted(room.race.id for room in rooms)
