"""The schema version: a store with another one is refused and stays unchanged."""

import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from redis import Redis

from samedeal_server.store.checks import check_master_key
from samedeal_server.store.connection import UnfitStoreError
from samedeal_server.store.schema import KEY, SCHEMA, check_schema
from support.archived_races import archive
from support.rooms import opened
from support.servers import MASTER_KEY, Server
from support.stores import Process, contents, process, run

pytestmark = pytest.mark.tier(2)
OLDER: list[str | None] = [None, *map(str, range(1, SCHEMA))]
NEWER_OR_UNKNOWN = [f"{SCHEMA + 1}", "two", "\udcff", ""]


@pytest.fixture
async def used(redis_url: str) -> AsyncIterator[Redis]:
    """A store that a server has used, with finished races, an open and a running one."""
    async with process(redis_url) as parts:
        await check_schema(parts.store)
        await check_master_key(parts.store, bytes.fromhex(MASTER_KEY))
        await parts.archive.signing_keys.publish(1)
        await archive(parts, "listed", 1, 2)
        await archive(parts, "unlisted", 1, 2, unlisted=True)
        await archive(parts, "daily", 1, 2, daily=True)
        await opened(parts)
        await run(await opened(parts))
    with Redis.from_url(redis_url) as redis:
        yield redis


async def test_a_new_store_gets_the_current_schema(parts: Process) -> None:
    for _ in range(2):
        await check_schema(parts.store)
        assert await parts.store.ask("GET", KEY) == str(SCHEMA).encode()


@pytest.mark.parametrize("found", [*OLDER, *NEWER_OR_UNKNOWN])
async def test_a_store_with_another_schema_is_refused_and_stays_unchanged(
    found: str | None, used: Redis, redis_url: str
) -> None:
    if found is None:
        used.delete(KEY)
    else:
        used.set(KEY, found.encode(errors="surrogateescape"))
    before = contents(used)
    async with process(redis_url) as parts:
        with pytest.raises(UnfitStoreError, match=f"reads only schema {SCHEMA}") as refused:
            await check_schema(parts.store)
    assert ("export races as files" in str(refused.value)) == (found in OLDER)
    assert ("Start a newer version" in str(refused.value)) == (found in NEWER_OR_UNKNOWN)
    assert contents(used) == before


@pytest.mark.parametrize("found", [f"{SCHEMA - 1}", f"{SCHEMA + 1}"])
def test_a_server_does_not_start_on_a_store_with_another_schema(found: str, used: Redis, redis_url: str) -> None:
    used.set(KEY, found)
    before, server = contents(used), Server(redis_url)
    ended = subprocess.run(
        [sys.executable, *server.program, "--port", "0"], env=server._env, capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 1
    assert f"The store has schema '{found}'" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert contents(used) == before
