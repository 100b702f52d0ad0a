"""A store with the options of the embedded store on a slow disk."""

import asyncio
import tempfile
import time
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from support.faulty_store import Valkey, compiled

pytestmark = pytest.mark.tier(3)

FLUSH_MS, WRITES, KILLS = 900, 3, 2
LEAST_S = 2.5
"""How long to write before a kill (s), so that a store that flushed once a second, in the background, would do so."""


async def test_writes_acknowledged_on_a_slow_disk_survive_a_kill() -> None:
    with tempfile.TemporaryDirectory() as folder:  # a short path, because of the limit for socket paths
        store = Valkey(Path(folder, "store"), compiled(Path(folder)))
        await store.start()
        acknowledged = 0

        async def write() -> None:
            nonlocal acknowledged
            try:
                while True:
                    await store.ask("XADD", "log", "*", "e", "x")
                    acknowledged += 1
            except (RedisError, OSError):
                return

        for _ in range(KILLS):
            enough, at = acknowledged + WRITES, time.monotonic() + LEAST_S
            store.turn(flush_ms=FLUSH_MS)
            writing = asyncio.create_task(write())
            while acknowledged < enough or time.monotonic() < at:  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.01)
            await store.kill()
            await writing
            store.turn()
            await store.start()
            assert await store.ask("XLEN", "log") >= acknowledged
        await store.kill()
