"""Rooms in the process of the test."""

from typing import Any

from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    Entry,
    Moved,
    Options,
    Resigned,
)
from samedeal.race.race import OPEN_MS, Race
from samedeal_server.live.room import Room
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.live_races import RaceFilter
from support.stores import Process, run, that, until

LATER_MS = OPEN_MS + 3_600_000
"""After this time, everything is overdue (ms)."""


async def opened(parts: Process, slug: str = "corners", seed: str | None = None, **options: Any) -> Room:
    chosen = Options(**{"limit_ms": 60_000, "start_delay_ms": 30, **options})
    return await parts.registry.create(GAMES[slug], {}, seed, chosen)


async def finished(parts: Process, slug: str = "corners", seed: str | None = None, **options: Any) -> Room:
    """Return the room of a race of two that is finished and archived."""
    room = await opened(parts, slug, seed, **options)
    await run(room)
    for seat in (1, 2):
        await room.submit(that(Moved(seat=seat, move=GAMES[slug].from_seed(room.race.seed or "").moves()[0])))
        await room.submit(that(Resigned(seat=seat)))
    await until(lambda: room.is_archived)
    return room


async def agrees(room: Room, log: RaceLog) -> list[Entry]:
    """Check that memory and log agree, without duplicate entries. Return the entries."""
    entries = await log.read(room.race.id)
    assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))
    assert Race.opened(room.race.header, room.race.secret).after_all(entries) == room.race
    assert await log.head(room.race.id) == (room.race.n, room.race.digest)
    return entries


async def listed(parts: Process, **wanted: Any) -> list[str]:
    """Return the ids of the live races in a list."""
    summaries, _ = await parts.registry.live.page(RaceFilter(**wanted))
    return [race.race for race in summaries]
