"""The store: how this process asks things of Redis, and what it makes sure of before it trusts one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from samedeal.errors import Refused
from samedeal_server import metrics

OLDEST = (7, 0)
PATIENCE_S = 1.5
"""How long a command that may be repeated is tried again before its sender is told that the store is away."""
TIMEOUT_S = 1.0

Word = str | bytes | int

_AWAY = (RedisError, OSError, RuntimeError)
"""What it is to have no answer. uvloop raises RuntimeError where a connection has just been reset by the other side."""


class UnfitStoreError(Exception):
    """The store answers, but it would not keep what it is given; the text says what to change."""


class Store:
    """One Redis, spoken to in its own commands. Answers are as Redis gives them, texts as bytes."""

    def __init__(self, url: str, *, connections: int = 32) -> None:
        # The client never repeats a command by itself: a repeated append would be a second move.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=TIMEOUT_S,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            redis_connect_func=_connected,
        )
        self._redis: Any = Redis(connection_pool=pool)  # its types are wider than its answers

    async def ask(self, *command: Word) -> Any:
        """The answer to a command, tried once. Raises Refused("store-unavailable") where none comes."""
        try:
            return await self._redis.execute_command(*command)
        except _AWAY as error:
            metrics.STORE_ERRORS.inc()
            raise Refused("store-unavailable") from error

    async def insist(self, *command: Word) -> Any:
        """The answer to a command that may safely be repeated, tried for PATIENCE_S. Raises as ``ask``."""
        return await _insisted(lambda: self._redis.execute_command(*command))

    def script(self, name: str) -> "Script":
        """A script of this package, by its file's name."""
        return Script(self._redis, files(__package__).joinpath(name).read_bytes())

    async def checked(self) -> str:
        """What the store is, in a line for the operator. Raises UnfitStoreError if it is too old or evicts, Refused."""
        about: dict[str, Any] = await self.ask("INFO")
        version = str(about.get("valkey_version") or about["redis_version"])
        name = f"{'Valkey' if 'valkey_version' in about else 'Redis'} {version}"
        if tuple(int(part) for part in str(about["redis_version"]).split(".")[:2]) < OLDEST:
            raise UnfitStoreError(f"{name} is too old: 7.0 or newer is needed.")
        if about.get("maxmemory", 0) and about.get("maxmemory_policy") != "noeviction":
            raise UnfitStoreError(f"{name} may evict races: set maxmemory-policy to noeviction.")
        if not about.get("aof_enabled"):
            return f"{name}, WITHOUT an append-only file: what it has not saved is lost when it stops"
        return f"{name}, append-only file on"

    async def close(self) -> None:
        await self._redis.aclose(close_connection_pool=True)


class Script:
    """A script that runs in Redis, sent by its digest and, where that is not known, whole. It must be repeatable."""

    def __init__(self, redis: Any, source: bytes) -> None:
        self._script = redis.register_script(source)

    async def insist(self, keys: Sequence[str], words: Sequence[Word]) -> Any:
        """What the script replies, tried for PATIENCE_S. Raises Refused("store-unavailable")."""
        return await _insisted(lambda: self._script(keys, words))


async def _connected(connection: Any) -> None:
    await connection.on_connect()
    metrics.STORE_CONNECTIONS.inc()


async def _insisted(command: Callable[[], Awaitable[Any]]) -> Any:
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + PATIENCE_S, 0.01
    while True:
        try:
            return await command()
        except _AWAY as error:
            metrics.STORE_ERRORS.inc()
            if loop.time() + pause_s > deadline:
                raise Refused("store-unavailable") from error
        await asyncio.sleep(pause_s)
        pause_s = min(0.2, 2 * pause_s)
