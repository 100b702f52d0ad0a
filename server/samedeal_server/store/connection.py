"""The store: connections to one Redis, retries, scripts, and the checks before it is used."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
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

OLDEST = (7, 0)
RETRY_S = 1.5
"""How long a repeatable command is retried before it is refused with "store-unavailable"."""
TIMEOUT_S = 1.0
CONNECTIONS = 12
"""Maximum connections of a store to a node; without a cluster, as many again for scripts, so that moves do not wait for
other commands. Commands wait up to TIMEOUT_S for a free one."""

SCANNED = 500
"""How many keys are scanned at once."""
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
        self._connections, self._scripts = Connections(url), Connections(url)

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
                await self.probe()
        except Refused as refused:
            failed = refused
        cause = self.health.cause if failed or self.whole else None
        if failed or cause:
            raise Refused("store-unavailable", f"{cause[0].upper()}{cause[1:]}." if cause else "") from failed

    async def probe(self) -> None:
        """Check that the store accepts writes. Raises as ``ask``."""
        await self.ask("SET", PROBE, "", "EX", PROBE_S)
        self.health.record_write()

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

    async def keys(self, pattern: str = "*") -> AsyncIterator[list[bytes]]:
        """Yield the keys that match a pattern, in batches, each key once if none is written meanwhile.

        Raises as ``ask``.
        """
        for node in await self.stamps():
            cursor = -1
            while cursor:
                cursor, keys = await self.scan(node, max(cursor, 0), pattern, SCANNED)
                if keys:
                    yield sorted(set(keys))

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
        return [await node_configuration(self._connections, names)]

    async def measure(self) -> None:
        """Set the metrics of the store's size. Raises as ``ask``."""
        nodes = await self.information("memory", "keyspace")
        sizes = [(node["used_memory"], node.get("maxmemory") or node["total_system_memory"]) for node in nodes]
        used, limit = max(sizes, key=lambda size: size[0] / size[1], default=(0, 0))
        metrics.STORE_BYTES.set(used)
        metrics.STORE_LIMIT.set(limit)
        keys = (part["keys"] for node in nodes for name, part in node.items() if name.startswith("db"))
        metrics.STORE_KEYS.set(sum(keys))

    async def close(self) -> None:
        await self._scripts.close()
        await self._connections.close()

    def _reply(self, *command: Word) -> Awaitable[Any]:
        """Like ``_answer``, but for scripts."""
        return self.health.watch(self._scripts.ask(*command), str(command[0]))

    async def _pipeline(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Send commands once in one round trip and return the replies. Raises one of AWAY."""
        return await self.health.watch(self._replies(commands), str(commands[0][0])) if commands else []

    async def _replies(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Send commands once in one round trip and return the replies. Raises the first error among them."""
        replies = await self._connections.ask_all(commands)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _answer(self, *command: Word) -> Awaitable[Any]:
        """Send a command once and return the reply. Raises one of AWAY."""
        return self.health.watch(self._connections.ask(*command), str(command[0]))


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


class Connections:
    """Connections to one node. Commands get them in the order in which they were sent."""

    def __init__(self, url: str) -> None:
        """Raises ValueError for a URL that cannot be used."""
        # No retries by redis-py: a repeated append would be a second move.
        pool = ConnectionPool.from_url(
            url,
            socket_timeout=None,  # TIMEOUT_S applies once to the whole command, which costs less
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            redis_connect_func=_connected,
            driver_info=None,  # looking up the library's version for each connection takes 1 ms
            # With maintenance notifications, redis-py does not notice that an idle connection was closed.
            maint_notifications_config=MaintNotificationsConfig(enabled=False),
        )
        # Only its connections and converters: running a command through redis-py's pool and client takes twice as long,
        # and in its blocking pool, later commands overtake those that wait.
        self.open: Callable[[], Any] = partial(pool.connection_class, **pool.connection_kwargs)
        try:
            self.open()
        except TypeError as error:
            raise ValueError(f"unknown option {f'{error}'.rpartition(' ')[2]}") from error
        self._converters = Redis(connection_pool=pool).response_callbacks
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[Any] = []

    async def ask(self, *command: Word) -> Any:
        """Send a command once and return the reply. Raises one of AWAY."""
        (reply,) = await self.ask_all([command])
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def ask_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Send commands once, in one round trip, and return the replies, among them errors. Raises one of AWAY.

        TIMEOUT_S applies to the wait for a connection, to connecting with the first reply, and to each further reply.
        """
        connection: Any = None
        try:
            async with asyncio.timeout(TIMEOUT_S) as deadline, self._free:
                connection = self._idle.pop() if self._idle else self.open()
                deadline.reschedule(asyncio.get_running_loop().time() + TIMEOUT_S)
                try:
                    return await self._replies(connection, commands, deadline)
                except asyncio.CancelledError:
                    await connection.disconnect(nowait=True)  # its next reply would belong to these commands
                    raise
                except BaseException:
                    await connection.disconnect(nowait=True)
                    await self.close()  # the others may be lost, too
                    raise
                finally:
                    self._idle.append(connection)
        except TimeoutError as error:
            if connection is None:
                raise Unreachable("No connection available.") from error
            raise

    async def close(self) -> None:
        """Close the connections that are not in use. They are opened again when they are needed."""
        for connection in tuple(self._idle):
            await connection.disconnect(nowait=True)

    async def _replies(
        self, connection: Any, commands: Sequence[Sequence[Word]], deadline: asyncio.Timeout
    ) -> list[Any]:
        if connection.is_connected and await connection.can_read():  # the other side has closed it
            await connection.disconnect(nowait=True)
        packed = [part for command in commands for part in connection.pack_command(*command)]
        try:
            await connection.send_packed_command(packed, False)
        except AttributeError as error:  # from asyncio of Python 3.12 and of early 3.13, about a lost connection
            raise Unreachable("Connection lost.") from error
        replies = list[Any]()
        for name, *_ in commands:
            if replies:
                deadline.reschedule(asyncio.get_running_loop().time() + TIMEOUT_S)
            try:
                reply = await connection.read_response()
            except ResponseError as error:
                replies.append(error)
            else:
                convert = self._converters.get(str(name))
                replies.append(convert(reply) if convert else reply)
        return replies


async def node_configuration(connections: Connections, names: Sequence[str]) -> Mapping[str, str] | None:
    """Return configuration parameters of a node, or None if it does not allow reading them. Raises Refused."""
    try:
        values = await connections.ask("CONFIG", "GET", *names)
    except ResponseError:
        return None
    except AWAY as error:
        raise unavailable() from error
    pairs = values.items() if isinstance(values, dict) else zip(values[::2], values[1::2], strict=True)  # RESP2
    return {name.decode(): value.decode() for name, value in pairs}


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
