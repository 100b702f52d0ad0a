"""The server's parts without sockets, over a real store."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from redis import Redis

from samedeal.commitments import nonce_commitment
from samedeal.race.events import AnyEvent, Entry, Joined, Nonce, Readied
from samedeal.race.race import Race
from samedeal.wire.messages import Reaction
from samedeal_server.live import commands
from samedeal_server.live.commands import Proposal
from samedeal_server.live.registry import Registry
from samedeal_server.live.room import Room
from samedeal_server.store import connection
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store
from samedeal_server.store.group_commits import GroupCommits
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.race_store import RaceStore
from samedeal_server.work import pool
from support.finished_races import nonce
from support.waiting import until as until

KEY = bytes(range(32))
"""The master key of all servers in these tests."""


class Movable(Clock):
    """A clock that tests move by `ahead_ms`, or stop `at` a time."""

    ahead_ms = 0
    at: int | None = None

    def now(self) -> int:
        return super().now() + self.ahead_ms if self.at is None else self.at


@dataclass
class Process:
    """The parts of a server process, without sockets."""

    store: Store
    log: RaceLog
    archive: Archive
    clock: Movable
    registry: Registry


def stored_races(parts: Process) -> RaceStore:
    """Return the parts of the store that races use."""
    return RaceStore(parts.log, parts.archive, parts.registry.live, parts.clock, Announcements(parts.store))


@asynccontextmanager
async def process(
    url: str,
    *,
    started: bool = False,
    log: Callable[[GroupCommits], RaceLog] = RaceLog,
    clock: Callable[[Store], Movable] = Movable,
    ahead_ms: int = 0,
    replay_days: int | None = None,
    away_s: float = 30.0,
    open_races: int = 0,
) -> AsyncIterator[Process]:
    """Create a server's parts over the store at a URL, with background tasks only if started.

    Their clock is ahead by `ahead_ms`.
    They wait for the store for as long as a busy machine may need, and their jobs have the priority of the tests.
    """
    with (
        patch.object(connection, "TIMEOUT_S", 30.0),
        patch.object(commands, "TIMEOUT_S", 60.0),
        patch.object(pool, "lower_priority"),
    ):
        store = Store(url)
        its_log, archive, its_clock = log(GroupCommits(store)), Archive(store, KEY, replay_days), clock(store)
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
        if ahead_ms:
            its_clock.ahead_ms = ahead_ms
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

    def on_reaction(self, reaction: Reaction) -> None:
        """Nobody reacts in these tests."""
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
