"""The version of what the store holds: an older one is migrated, a newer one is refused."""

import subprocess
import sys

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal_server.schema import KEY, SCHEMA, check_schema, migrate
from servers import Server
from stores import process, run, until
from test_hall import listed, opened


async def test_a_new_store_gets_the_present_version(redis_url: str) -> None:
    async with process(redis_url) as parts:
        await check_schema(parts.store)
        with Redis.from_url(redis_url) as redis:
            assert redis.get(KEY) == str(SCHEMA).encode()
        await check_schema(parts.store)
        await migrate(parts.store, parts.hall)


@pytest.mark.parametrize("found", [f"{SCHEMA + 1}", "two", "\udcff", ""])
def test_a_server_refuses_a_store_of_a_newer_version_and_changes_nothing(found: str, redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.set(KEY, found.encode(errors="surrogateescape"))
        server = Server(redis_url)
        ended = subprocess.run(
            [sys.executable, *server.program, "--port", "0"],
            env=server._env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ended.returncode == 1
        assert f"reads schemas up to {SCHEMA}" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert redis.keys() == [KEY.encode()]


async def test_the_lists_of_the_first_version_are_migrated(redis_url: str) -> None:
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
            await migrate(after.store, after.hall)
            assert await listed(after) == [rooms[1].race.id, rooms[0].race.id]
            assert await listed(after, stage="running") == [rooms[1].race.id]
            assert redis.get(KEY) == str(SCHEMA).encode()
            assert not redis.exists("races:listed")


async def test_a_race_that_is_open_during_a_migration_is_due_again_when_its_deadline_comes(redis_url: str) -> None:
    async with process(redis_url) as before:
        race = (await opened(before)).race.id
    with Redis.from_url(redis_url) as redis:
        redis.delete("races:due", "races:index", "races:summaries", KEY)
        redis.hset("replays:keys", "00", 1)
        redis.zadd("races:listed", {race: 1})
        async with process(redis_url) as after:
            room = await after.hall.room(race)
            await until(lambda: redis.hexists("races:summaries", race))
            deadline = redis.zscore("races:due", race)
            await migrate(after.store, after.hall)
            assert redis.zscore("races:due", race) < deadline
            room.remind()
            await until(lambda: redis.zscore("races:due", race) == deadline)


async def test_a_migration_that_is_interrupted_is_continued(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(redis_url) as before:
        rooms = [await opened(before), await opened(before)]
    with Redis.from_url(redis_url) as redis:
        redis.delete("races:index", "races:summaries", KEY)
        redis.hset("replays:keys", "00", 1)
        redis.zadd("races:listed", {room.race.id: room.race.header.opened_at for room in rooms})
        async with process(redis_url) as after:
            insist, failed = after.store.insist, False

            async def fails_once(*command: str) -> object:
                nonlocal failed
                if command[:2] == ("ZREM", "races:listed") and not failed:
                    failed = True
                    raise Refused("store-unavailable")
                return await insist(*command)

            monkeypatch.setattr(after.store, "insist", fails_once)
            with pytest.raises(Refused):
                await migrate(after.store, after.hall)
            assert redis.get(KEY) is None
            await migrate(after.store, after.hall)
            assert sorted(await listed(after)) == sorted(room.race.id for room in rooms)
