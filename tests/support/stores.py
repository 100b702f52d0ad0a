"""The server's parts without sockets, over a real store, and a connection to it that can be cut."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import pytest
from redis import Redis

from samedeal.commitments import nonce_commitment
from samedeal.race.events import AnyEvent, Entry, Joined, Nonce, Readied
from samedeal.race.race import Race
from samedeal_server.live.commands import Proposal
from samedeal_server.live.registry import Registry
from samedeal_server.live.room import Room
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.race_log import RaceLog
from samedeal_server.store.race_store import RaceStore
from support.finished_races import nonce
from support.listening import stop_listening
from support.waiting import until as until

KEY = bytes(range(32))
"""The master key of all servers in these tests."""


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A client of the emptied store."""
    with Redis.from_url(redis_url) as redis:
        yield redis


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    """The server's connection to the emptied store."""
    store = Store(redis_url)
    yield store
    await store.close()


@dataclass
class Process:
    """The parts of a server process, without sockets."""

    store: Store
    log: RaceLog
    archive: Archive
    clock: Clock
    registry: Registry


def stored_races(parts: Process) -> RaceStore:
    """Return the parts of the store that races use."""
    return RaceStore(parts.log, parts.archive, parts.registry.live, parts.clock, Announcements(parts.store))


@asynccontextmanager
async def process(
    url: str,
    *,
    started: bool = False,
    log: Callable[[Store], RaceLog] = RaceLog,
    clock: Callable[[Store], Clock] = Clock,
    replay_days: int | None = None,
    away_s: float = 30.0,
    open_races: int = 0,
) -> AsyncIterator[Process]:
    """Create a server's parts over the store at a URL, with background tasks only if started."""
    store = Store(url)
    its_log, archive, its_clock = log(store), Archive(store, KEY, replay_days), clock(store)
    parts = Process(
        store,
        its_log,
        archive,
        its_clock,
        Registry(
            RaceStore(its_log, archive, LiveRaces(store), its_clock, Announcements(store)),
            KEY,
            away_s=away_s,
            open_races=open_races,
        ),
    )
    await its_clock.measure()
    if started:
        await parts.registry.start()
    try:
        yield parts
    finally:
        await parts.registry.stop()
        await store.close()


@dataclass(eq=False)
class Heard:
    """A listener that records all views."""

    is_watching = False
    entries: list[Entry] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    is_dropped: bool = False

    def on_entries(self, race: Race, entries: Sequence[Entry]) -> None:
        self.entries += entries
        self.races.append(race)

    def on_progress(self, race: Race) -> None:
        """Races in these tests have no ghosts and nobody who watches."""
        raise AssertionError

    def on_dropped(self) -> None:
        self.is_dropped = True

    @property
    def numbers(self) -> list[int]:
        return [entry.n for entry in self.entries]


def seat_for(player: int) -> Proposal:
    """Return a command that seats a player once, committed to ``nonce(player)``."""

    def proposal(race: Race) -> list[AnyEvent]:
        if race.seat_of(f"player-{player}"):
            return []
        promise = nonce_commitment(race.id, nonce(player))
        name = f"Name {player}"
        number = race.seat_for(f"player-{player}")
        return [Joined(seat=number, player=f"player-{player}", name=name, commitment=promise)]

    return proposal


def that(*events: AnyEvent) -> Proposal:
    """Return a command that produces these events."""
    return lambda race: events


async def run(room: Room, racers: int = 2) -> None:
    """Take a race from its first seat to the deal."""
    for seat in range(1, racers + 1):
        await room.submit(seat_for(seat))
        await room.submit(that(Readied(seat=seat)))
    # A deal that needs no nonces may come before them.
    for seat in range(1, racers + 1) if room.race.header.sealed else ():
        await room.submit(that(Nonce(seat=seat, nonce=nonce(seat).hex())))
    await until(lambda: room.race.stage == "running")


def calls(redis: "Redis", command: str) -> int:
    """Return how often the store ran a command since its statistics were reset."""
    stats = redis.info("commandstats").get(f"cmdstat_{command}", {})
    return int(stats.get("calls", 0))


def contents(redis: "Redis") -> dict[bytes, bytes]:
    """Return all keys of the store with their uncompressed contents."""
    store: Any = redis
    store.config_set("rdbcompression", "no")
    return {key: store.dump(key) for key in store.scan_iter()}


def holds(redis: "Redis", text: str | bytes) -> bool:
    """Return whether the store contains a text anywhere."""
    data = text.encode() if isinstance(text, str) else text
    return any(data in key or data in value for key, value in contents(redis).items())


class Wire:
    """A connection to the store that can lose replies."""

    def __init__(self, store_url: str) -> None:
        self._path = unquote(urlsplit(store_url).path)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.lose_reply_to: bytes | None = None
        """Set the bytes of the next request whose reply is lost together with the connection."""
        self.lost = 0
        self.silent = False
        """Whether requests are dropped."""

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}"

    async def up(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def down(self) -> None:
        """Cut all connections and refuse new ones."""
        assert self._server
        await stop_listening(self._server)
        for writer in tuple(self._open):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        return await self.up()

    async def __aexit__(self, *_: object) -> None:
        self.silent = False
        await self.down()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)  # even if the task is cancelled before it starts
        task = asyncio.get_running_loop().create_task(self._connected(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_reader, to_writer = await asyncio.open_unix_connection(self._path)
        except OSError:
            writer.transport.abort()
            return
        self._open.add(to_writer)
        if not (self._server and self._server.is_serving()):  # cut while it was being opened
            writer.transport.abort()
            to_writer.transport.abort()
        doomed = asyncio.Event()
        try:
            await asyncio.gather(
                self._forward(reader, to_writer, doomed), self._back(to_reader, writer, to_writer, doomed)
            )
        finally:
            self._open -= {writer, to_writer}
            for end in (writer, to_writer):
                end.close()
                with suppress(OSError):
                    await end.wait_closed()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: asyncio.Event) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                if self.lose_reply_to and self.lose_reply_to in data:
                    self.lose_reply_to = None
                    doomed.set()
                if not self.silent:
                    writer.write(data)
        writer.close()

    async def _back(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        other: asyncio.StreamWriter,
        doomed: asyncio.Event,
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                if doomed.is_set():
                    self.lost += 1
                    break
                writer.write(data)
        for end in (writer, other):
            end.transport.abort()
