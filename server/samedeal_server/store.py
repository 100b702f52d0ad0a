"""The store: how this process asks things of Redis, and what it makes sure of before it trusts one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ResponseError
from redis.maint_notifications import MaintNotificationsConfig

from samedeal.errors import Refused
from samedeal_server import metrics
from samedeal_server.store_health import AWAY, Health

Word = str | bytes | int

pack: Callable[[Any], bytes] | None = None
with suppress(ImportError):  # it comes with the extra "fast"
    from hiredis import pack_command

    pack = pack_command

OLDEST = (7, 0)
PATIENCE_S = 1.5
"""How long a command that may be repeated is tried again before its sender is told that the store is away."""
TIMEOUT_S = 1.0
CONNECTIONS = 12
"""How many connections a process has to a node at most, and as many for scripts to one that stands alone; who needs one
more waits for TIMEOUT_S."""

PROBE, PROBE_S = "samedeal:probe", 60
"""What is written to find out whether the store accepts writes again, and how long that is kept."""


class UnfitStoreError(Exception):
    """The store answers, but it would not keep what it is given; the text says what to change."""


class Store:
    """One Redis, spoken to in its own commands. Answers are as Redis gives them, texts as bytes."""

    whole = True
    """Whether every key is in one place, so that a script may have those of many races."""

    def __init__(self, url: str, diagnose: Callable[[], str | None] | None = None) -> None:
        """`diagnose` may know better than the client why the store cannot be reached."""
        self.health = Health(diagnose)
        self._redis = client(url)
        self._lines = _Lines(self._redis.connection_pool)

    async def ask(self, *command: Word) -> Any:
        """The answer to a command, tried once. Raises Refused("store-unavailable") where none comes."""
        try:
            return await self._answer(*command)
        except AWAY as error:
            raise unavailable() from error

    async def check(self) -> None:
        """Raises Refused("store-unavailable"), with the cause as its text, while the store fails to do its work.

        In a cluster one node may fail while the others do theirs: only the node of slot 0 is asked.
        """
        failed: Refused | None = None
        try:
            await self.ask("PING")
            if self.whole and self.health.cause:
                await self.ask("SET", PROBE, "", "EX", PROBE_S)
                self.health.written()
        except Refused as refused:
            failed = refused
        cause = self.health.cause if failed or self.whole else None
        if failed or cause:
            raise Refused("store-unavailable", f"{cause[0].upper()}{cause[1:]}." if cause else "") from failed

    async def insist(self, *command: Word) -> Any:
        """The answer to a command that may safely be repeated, tried for PATIENCE_S. Raises as ``ask``."""
        return await _insisted(lambda: self._answer(*command))

    async def insist_all(self, *commands: Sequence[Word]) -> None:
        """As ``insist`` for several commands, carried out in this order and written to disk together."""
        await _insisted(lambda: self.health.watched(self._pipelined(commands), str(commands[0][0])))

    def script(self, name: str) -> "Script":
        """A script of this package, by its file's name."""
        return Script(self._reply, files(__package__).joinpath(name).read_bytes())

    async def texts(self, keys: Sequence[str]) -> list[bytes | None]:
        """What is kept under keys, None where there is nothing. Raises as ``ask``."""
        found: list[bytes | None] = await self.ask("MGET", *keys) if keys else []
        return found

    async def starts(self, keys: Sequence[str], count: int) -> list[bytes]:
        """The first `count` bytes of what is kept under keys, none where there is nothing. Raises as ``ask``."""
        asks = [("GETRANGE", key, 0, count - 1) for key in keys]
        try:
            found: list[bytes] = await self.health.watched(self._pipelined(asks), "GETRANGE")
        except AWAY as error:
            raise unavailable() from error
        return found

    async def news(self, ends: Mapping[str, int], patience_ms: int) -> Sequence[tuple[bytes, Any]]:
        """What streams have after numbers, by their keys, waiting for it at most so long. Raises as ``ask``."""
        after = (f"{n}-0" for n in ends.values())
        return await self.ask("XREAD", "BLOCK", patience_ms, "STREAMS", *ends, *after) or ()

    async def checked(self) -> str:
        """What the store is, in a line for the operator. Raises UnfitStoreError if it is too old or evicts, Refused."""
        about: dict[str, Any] = await self.ask("INFO")
        if about.get("cluster_enabled"):
            raise UnfitStoreError("The store is a node of a cluster: its URL begins with redis+cluster://.")
        return described(about)

    async def configured(self, *names: str) -> Sequence[Mapping[str, str] | None]:
        """The configuration of each node, for these names; None where a node does not allow it to be read.

        Raises as ``ask``.
        """
        return [await configuration(self._redis, names)]

    async def close(self) -> None:
        await self._lines.close()
        await self._redis.aclose(close_connection_pool=True)

    def _reply(self, *command: Word) -> Awaitable[Any]:
        """As ``_answer``, for commands of which the answer is taken as it is."""
        return self.health.watched(self._lines.ask(*command), str(command[0]))

    async def _pipelined(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """The answers to commands. Raises the first error among them as Redis gave it.

        An error that the library raises has the whole command in its text.
        """
        async with self._redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = await pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _answer(self, *command: Word) -> Awaitable[Any]:
        """The answer to a command, tried once. Raises one of AWAY."""
        return self.health.watched(self._redis.execute_command(*command), str(command[0]))


class Script:
    """A script that runs in Redis, sent by its digest and, where that is not known, whole. It must be repeatable."""

    def __init__(self, answer: Callable[..., Awaitable[Any]], source: bytes) -> None:
        """`answer` answers to a command, tried once, or raises one of AWAY."""
        self._answer, self._source = answer, source
        self._digest = sha1(source, usedforsecurity=False).hexdigest()

    async def insist(self, keys: Sequence[str], words: Sequence[Word]) -> Any:
        """What the script replies, tried for PATIENCE_S. Raises Refused("store-unavailable")."""
        return await _insisted(lambda: self._reply(len(keys), *keys, *words))

    async def _reply(self, *words: Word) -> Any:
        try:
            return await self._answer("EVALSHA", self._digest, *words)
        except NoScriptError:
            return await self._answer("EVAL", self._source, *words)


class _Lines:
    """Connections for what is asked again and again. The library's client takes twice as long for the same."""

    def __init__(self, pool: BlockingConnectionPool) -> None:
        """The connections are made as the pool's are, but the time that a command may take is measured once, here."""
        self._connection: Callable[[], Any] = partial(
            pool.connection_class, **{**pool.connection_kwargs, "socket_timeout": None}
        )
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[Any] = []

    async def ask(self, *command: Word) -> Any:
        """The answer to a command, tried once, or one of AWAY."""
        async with asyncio.timeout(TIMEOUT_S), self._free:
            line = self._idle.pop() if self._idle else self._connection()
            try:
                await line.send_packed_command(pack(command) if pack else line.pack_command(*command), False)
                answer = await line.read_response()
            except ResponseError:
                self._idle.append(line)
                raise
            except BaseException:  # what comes over it now would be the answer to another command
                self._idle.append(line)
                await self.close()
                raise
            self._idle.append(line)
            return answer

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for line in idle:
            await line.disconnect(nowait=True)


def client(url: str) -> Any:
    """A client for one node. Its own types are wider than its answers."""
    # It never repeats a command by itself: a repeated append would be a second move.
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=TIMEOUT_S,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        redis_connect_func=_connected,
        driver_info=None,  # looking up the library's version reads files at each new connection: 1 ms
        # Where it may be told of maintenance, the library does not see that an idle connection has been closed.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
    return Redis(connection_pool=pool)


async def configuration(redis: Any, names: Sequence[str]) -> Mapping[str, str] | None:
    """The configuration of a node, for these names; None where it may not be read. Raises Refused."""
    try:
        found: Mapping[str, str] = await redis.config_get(*names)
    except ResponseError:
        return None
    except AWAY as error:
        raise unavailable() from error
    return found


def described(about: Mapping[str, Any], kind: str = "") -> str:
    """A node in a line for the operator, by what its INFO says. Raises UnfitStoreError if it is too old or evicts."""
    version = str(about.get("valkey_version") or about["redis_version"])
    name = f"{'Valkey' if 'valkey_version' in about else 'Redis'} {version}{kind}"
    if tuple(int(part) for part in str(about["redis_version"]).split(".")[:2]) < OLDEST:
        raise UnfitStoreError(f"{name} is too old: 7.0 or newer is needed.")
    if about.get("maxmemory", 0) and about.get("maxmemory_policy") != "noeviction":
        raise UnfitStoreError(f"{name} may evict races: set maxmemory-policy to noeviction.")
    if not about.get("aof_enabled"):
        return f"{name}, WITHOUT an append-only file: what it has not saved is lost when it stops"
    return f"{name}, append-only file on"


def unavailable() -> Refused:
    """The refusal of what the store did not answer, counted."""
    metrics.STORE_ERRORS.inc()
    return Refused("store-unavailable")


async def _connected(connection: Any) -> None:
    await connection.on_connect()
    metrics.STORE_CONNECTIONS.inc()


async def _insisted(command: Callable[[], Awaitable[Any]]) -> Any:
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + PATIENCE_S, 0.01
    while True:
        try:
            return await command()
        except AWAY as error:
            refused = unavailable()
            if loop.time() + pause_s > deadline:
                raise refused from error
        await asyncio.sleep(pause_s)
        pause_s = min(0.2, 2 * pause_s)
