"""The store with the embedded one's options, on a slow disk: what it has answered, it has written."""

import asyncio
import tempfile
from pathlib import Path

from redis.exceptions import RedisError

from support.faulty_store import Valkey, compiled

FLUSH_MS, WRITES, KILLS = 900, 3, 2


async def test_what_was_acknowledged_while_the_disk_is_slow_outlives_a_kill() -> None:
    with tempfile.TemporaryDirectory() as folder:  # with a short name: there will be a socket in it
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
            enough = acknowledged + WRITES
            store.turn(flush_ms=FLUSH_MS)
            writing = asyncio.create_task(write())
            while acknowledged < enough:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
            await store.kill()
            await writing
            store.turn()
            await store.start()
            assert await store.ask("XLEN", "log") >= acknowledged
        await store.kill()
