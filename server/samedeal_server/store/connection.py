"""The store: connections to one Redis, retries, scripts, and the checks before it is used."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha1
from importlib.resources import files
from typing import Any, Self

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import NoScriptError, ResponseError
from redis.maint_notifications import MaintNotificationsConfig

from samedeal.errors import Refused
from samedeal_server.net import metrics
from samedeal_server.store.health import AWAY, Health

Word = str | bytes | int

pack: Callable[[Any], bytes] | None = None
with suppress(ImportError):  # installed by the extra "fast"
    from hiredis import pack_command

    pack = pack_command

OLDEST = (7, 0)
RETRY_S = 1.5
"""How long a repeatable command is retried before it is refused with "store-unavailable"."""
TIMEOUT_S = 1.0
CONNECTIONS = 12
"""Maximum connections of a store to a node; without a cluster, as many again for scripts. Commands wait up to TIMEOUT_S
for a free one, in the order in which they were sent."""

PROBE, PROBE_S = "samedeal:probe", 60
"""The key that is written to check whether the store accepts writes again, and its expiry."""


class UnfitStoreError(Exception):
    """The store cannot be used safely; the text says what to change."""


class Store:
    """One Redis. Methods take Redis commands and return its replies, with strings as bytes."""

    whole = True
    """Whether all keys are on one node, so that a script can use those of several races."""

    def __init__(self, url: str, diagnose: Callable[[], str | None] | None = None) -> None:
        """`diagnose` returns why the store cannot be reached, or None if it does not know."""
        self._url, self.health = url, Health(diagnose)
        self._redis = client(url)
        self._scripts = _ScriptConnections(self._redis.connection_pool)

    def sibling(self) -> Self:
        """Return the same store with its own connections, which stay free when all of this one's are in use."""
        sibling = type(self)(self._url)
        sibling.health = self.health
        return sibling

    async def ask(self, *command: Word) -> Any:
        """Send a command once and return the reply. Raises Refused("store-unavailable") if none arrives."""
        try:
            return await self._answer(*command)
        except AWAY as error:
            raise unavailable() from error

    async def check(self) -> None:
        """Raise Refused("store-unavailable") with the cause while commands to the store fail.

        In a cluster, only the node of slot 0 is checked: other nodes can fail independently.
        """
        failed: Refused | None = None
        try:
            await self.ask("PING")
            if self.whole and self.health.cause:
                await self.ask("SET", PROBE, "", "EX", PROBE_S)
                self.health.record_write()
        except Refused as refused:
            failed = refused
        cause = self.health.cause if failed or self.whole else None
        if failed or cause:
            raise Refused("store-unavailable", f"{cause[0].upper()}{cause[1:]}." if cause else "") from failed

    async def retry(self, *command: Word) -> Any:
        """Send a repeatable command, with retries for RETRY_S, and return the reply. Raises as ``ask``."""
        return await _with_retries(lambda: self._answer(*command))

    async def retry_all(self, *commands: Sequence[Word]) -> None:
        """Send repeatable commands in order, in one round trip and one write to disk. Raises as ``ask``."""
        await _with_retries(lambda: self._pipeline(commands))

    def script(self, name: str) -> "Script":
        """Return a Lua script of this package, by file name."""
        return Script(self._reply, files(__package__).joinpath(name).read_bytes())

    async def starts(self, keys: Sequence[str], count: int) -> list[bytes]:
        """Return the first `count` bytes of the values of keys, empty for missing keys. Raises as ``ask``."""
        return await self.ask_all([("GETRANGE", key, 0, count - 1) for key in keys])

    async def ask_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Send commands once, in one round trip, and return the replies. Raises as ``ask``."""
        try:
            return await self._pipeline(commands)
        except AWAY as error:
            raise unavailable() from error

    async def stamps(self) -> dict[str, str]:
        """Return a stamp for each node with keys, by its name. It changes if the node restarts or gets other slots.

        Cursors of ``scan`` are valid as long as the stamp is the same. Raises as ``ask``.
        """
        return {"store": (await self.ask("INFO", "server"))["run_id"]}

    async def scan(self, node: str, cursor: int, pattern: str, count: int) -> tuple[int, list[bytes]]:
        """Return the next cursor, 0 at the end, and those of about `count` keys of a node that match a pattern.

        Raises as ``ask``.
        """
        after, keys = await self.ask("SCAN", cursor, "MATCH", pattern, "COUNT", count)
        return int(after), keys

    async def news(self, ends: Mapping[str, str], wait_ms: int) -> Sequence[tuple[bytes, Any]]:
        """Return new entries of streams, by key. `ends` has the last known ID of each; waits up to `wait_ms`.

        Raises as ``ask``.
        """
        return await self.ask("XREAD", "BLOCK", wait_ms, "STREAMS", *ends, *ends.values()) or ()

    async def describe(self) -> str:
        """Describe the store for the operator. Raises Refused, and UnfitStoreError if it is too old or evicts keys."""
        about: dict[str, Any] = await self.ask("INFO")
        if about.get("cluster_enabled"):
            raise UnfitStoreError("The store is a node of a cluster: use a URL that starts with redis+cluster://.")
        return description(about)

    async def information(self, *sections: str) -> Sequence[Mapping[str, Any]]:
        """Return sections of INFO of each node. Raises as ``ask``."""
        return [await self.ask("INFO", *sections)]

    async def configuration(self, *names: str) -> Sequence[Mapping[str, str] | None]:
        """Return configuration parameters of each node; None for a node that does not allow reading them.

        Raises as ``ask``.
        """
        return [await node_configuration(self._redis, names)]

    async def close(self) -> None:
        await self._scripts.close()
        await self._redis.aclose(close_connection_pool=True)

    def _reply(self, *command: Word) -> Awaitable[Any]:
        """Like ``_answer``, but do not convert the reply."""
        return self.health.watch(self._scripts.ask(*command), str(command[0]))

    async def _pipeline(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Send commands once in one round trip and return the replies. Raises one of AWAY."""
        return await self.health.watch(self._replies(commands), str(commands[0][0])) if commands else []

    async def _replies(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Raises the first error reply as it is. The library's own exception would contain the command's arguments."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _answer(self, *command: Word) -> Awaitable[Any]:
        """Send a command once and return the reply. Raises one of AWAY."""
        return self.health.watch(self._redis.execute_command(*command), str(command[0]))


class Script:
    """A Lua script, sent by its digest, or as source if Redis does not have it. It must be safe to repeat."""

    def __init__(self, answer: Callable[..., Awaitable[Any]], source: bytes) -> None:
        """`answer` sends a command once and returns its reply, or raises one of AWAY."""
        self._answer, self._source = answer, source
        self._digest = sha1(source, usedforsecurity=False).hexdigest()

    async def run(self, keys: Sequence[str], arguments: Sequence[Word]) -> Any:
        """Run the script, with retries for RETRY_S, and return its reply. Raises Refused("store-unavailable")."""
        return await _with_retries(lambda: self._reply(len(keys), *keys, *arguments))

    async def _reply(self, *arguments: Word) -> Any:
        try:
            return await self._answer("EVALSHA", self._digest, *arguments)
        except NoScriptError:
            return await self._answer("EVAL", self._source, *arguments)


class _ScriptConnections:
    """A connection pool for scripts. Running a script through redis-py's client takes twice as long."""

    def __init__(self, pool: ConnectionPool) -> None:
        """Connections are configured as in `pool`, but TIMEOUT_S applies once, to the whole command."""
        self._connection: Callable[[], Any] = partial(
            pool.connection_class, **{**pool.connection_kwargs, "socket_timeout": None}
        )
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[Any] = []

    async def ask(self, *command: Word) -> Any:
        """Send a command once and return the reply. Raises one of AWAY."""
        async with asyncio.timeout(TIMEOUT_S), self._free:
            connection = self._idle.pop() if self._idle else self._connection()
            try:
                packed = pack(command) if pack else connection.pack_command(*command)
                await connection.send_packed_command(packed, False)
                answer = await connection.read_response()
            except ResponseError:
                self._idle.append(connection)
                raise
            except BaseException:  # its next reply would belong to this command
                self._idle.append(connection)
                await self.close()
                raise
            self._idle.append(connection)
            return answer

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.disconnect(nowait=True)


class _Pool(ConnectionPool):
    """A pool whose connections go to waiting commands in order. In redis-py's blocking pool, later ones overtake."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._free = asyncio.Semaphore(self.max_connections)

    async def get_connection(self, command_name: Any = None, *keys: Any, **options: Any) -> Any:
        """Return a connection after waiting up to TIMEOUT_S for a free one."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._free.acquire()
        except TimeoutError as error:
            raise Unreachable("No connection available.") from error
        available: Callable[[], Any] = self.get_available_connection  # which redis-py does not annotate
        connection = available()
        try:
            await self.ensure_connection(connection)
        except BaseException:
            await self.release(connection)
            raise
        return connection

    async def release(self, connection: Any) -> None:
        """Return a connection to the pool."""
        try:
            await super().release(connection)
        finally:
            self._free.release()


def client(url: str) -> Any:
    """Return a client for one node. Untyped, because redis-py's types are wider than its replies."""
    # No retries by redis-py: a repeated append would be a second move.
    pool = _Pool.from_url(
        url,
        max_connections=CONNECTIONS,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        redis_connect_func=_connected,
        driver_info=None,  # looking up the library's version for each connection takes 1 ms
        # With maintenance notifications, redis-py does not notice that an idle connection was closed.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
    return Redis(connection_pool=pool)


async def node_configuration(redis: Any, names: Sequence[str]) -> Mapping[str, str] | None:
    """Return configuration parameters of a node, or None if it does not allow reading them. Raises Refused."""
    try:
        values: Mapping[str, str] = await redis.config_get(*names)
    except ResponseError:
        return None
    except AWAY as error:
        raise unavailable() from error
    return values


def description(about: Mapping[str, Any], kind: str = "") -> str:
    """Describe a node for the operator, from its INFO. Raises UnfitStoreError if it is too old or evicts keys."""
    version = str(about.get("valkey_version") or about["redis_version"])
    name = f"{'Valkey' if 'valkey_version' in about else 'Redis'} {version}{kind}"
    if tuple(int(part) for part in str(about["redis_version"]).split(".")[:2]) < OLDEST:
        raise UnfitStoreError(f"{name} is too old: 7.0 or newer is needed.")
    if about.get("maxmemory", 0) and about.get("maxmemory_policy") != "noeviction":
        raise UnfitStoreError(f"{name} may evict races: set maxmemory-policy to noeviction.")
    if not about.get("aof_enabled"):
        return f"{name}, WITHOUT an append-only file: unsaved data is lost when it stops"
    return f"{name}, append-only file on"


def texts(members: Sequence[bytes]) -> list[str]:
    """Return the texts in a reply."""
    return [member.decode() for member in members]


def unavailable() -> Refused:
    """Count an error of the store in the metrics, and return the refusal for it."""
    metrics.STORE_ERRORS.inc()
    return Refused("store-unavailable")


async def _connected(connection: Any) -> None:
    await connection.on_connect()
    metrics.STORE_CONNECTIONS.inc()


async def _with_retries(command: Callable[[], Awaitable[Any]]) -> Any:
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + RETRY_S, 0.01
    while True:
        try:
            return await command()
        except AWAY as error:
            refused = unavailable()
            if loop.time() + pause_s > deadline:
                raise refused from error
        await asyncio.sleep(pause_s)
        pause_s = min(0.2, 2 * pause_s)
