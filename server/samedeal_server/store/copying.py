"""Copies all data of one store to another, which can be of another program, another version, or a cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from samedeal_server.store import schema
from samedeal_server.store.connection import CONNECTIONS, PROBE, Store, UnfitStoreError, Word

_BATCH: Final = 500
"""How many members of a sorted set are copied at once."""


async def copy(source: Store, target: Store, on_progress: Callable[[int], object]) -> int:
    """Copy all keys to an empty store, and return how many. Calls `on_progress` with the number so far.

    Raises Refused, and UnfitStoreError if the target has data or the source has data of other programs.
    """
    async for batch in target.keys():
        if batch != [PROBE.encode()]:
            raise UnfitStoreError("The store is not empty: restore into an empty one, or empty it with FLUSHDB.")
    await target.retry("SET", schema.KEY, schema.UNFINISHED)
    number, copied, free = await source.ask("GET", schema.KEY), 0, asyncio.Semaphore(CONNECTIONS // 2)

    async def copy_key(key: bytes) -> None:
        async with free:
            async for commands in _commands(source, key):
                await target.retry_all(*commands)

    async for batch in source.keys():
        await asyncio.gather(*(copy_key(key) for key in batch if key != schema.KEY.encode()))
        copied += len(batch)
        on_progress(copied)
    await target.retry("SET", schema.KEY, number)
    return copied


async def _commands(store: Store, key: bytes) -> AsyncIterator[list[tuple[Word, ...]]]:
    """Yield the commands that write a key, in batches that can each be repeated. Raises as ``copy``."""
    kind, expires_at = await store.ask_all([("TYPE", key), ("PEXPIRETIME", key)])
    batch: list[tuple[Word, ...]] = [("DEL", key)]
    # An empty answer means that the key has expired meanwhile.
    if kind == b"string":
        if (value := await store.ask("GET", key)) is not None:
            batch.append(("SET", key, value))
    elif kind == b"hash":
        if fields := await store.ask("HGETALL", key):
            batch.append(("HSET", key, *(word for pair in fields.items() for word in pair)))
    elif kind == b"set":
        if members := await store.ask("SMEMBERS", key):
            batch.append(("SADD", key, *sorted(members)))
    elif kind == b"stream":
        for id_, fields in await store.ask("XRANGE", key, "-", "+"):
            batch.append(("XADD", key, id_, *(word for pair in fields.items() for word in pair)))
    elif kind == b"zset":
        first = 0
        while pairs := await store.ask("ZRANGE", key, first, first + _BATCH - 1, "WITHSCORES"):
            batch.append(("ZADD", key, *(word for member, score in pairs for word in (repr(float(score)), member))))
            yield batch
            first, batch = first + _BATCH, []
    elif kind != b"none":
        raise UnfitStoreError(f"{key!r} is a {kind.decode()}, which Same Deal does not use.")
    if expires_at > 0:
        batch.append(("PEXPIREAT", key, expires_at))
    yield batch
