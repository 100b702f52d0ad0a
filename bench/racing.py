"""Racing: connections that join races and play recorded games."""

import asyncio
from collections.abc import Sequence

from bench.load import Line, opened
from bench.recorded import book, frames
from bench.services import Server
from samedeal.race.events import RACE_FORMAT

RACERS = 5
"""Racers in each race, unless there are fewer in all."""
LIMIT_MS = 3_600_000


async def guests(server: Server, count: int, races: Sequence[str] = ()) -> list[Line]:
    """Open connections of new guests. With `races`, connection number n connects for the race with that number."""
    return await opened(server.address, count, _hello, races=races)


async def back(server: Server, before: Sequence[Line], races: Sequence[str]) -> list[Line]:
    """Reconnect guests to their races, as after a restart."""
    lines = await opened(server.address, len(before))

    async def one(at: int) -> None:
        await lines[at].ask("hello", token=before[at].token)
        await lines[at].ask("join", race=races[at])

    await asyncio.gather(*(one(at) for at in range(len(lines))))
    return lines


async def _hello(line: Line) -> None:
    line.token = (await line.ask("hello", name="racer", format=RACE_FORMAT))["token"]


def create(server: Server, game: str, count: int, racers: int = RACERS) -> list[str]:
    """Create races of a game. Except for time limit, countdown and attempts, all options have their defaults."""
    options = {"limit_ms": LIMIT_MS, "start_delay_ms": 0, "max_racers": racers, "attempts": 0}
    return [server.ask("/api/v1/races", {**book(game).opening, "options": options})["race"] for _ in range(count)]


async def begin(
    server: Server,
    lines: Sequence[Line],
    game: str,
    *,
    racers: int = RACERS,
    races: Sequence[str] = (),
    legal: bool = True,
    views: str = "full",
) -> list[str]:
    """Start races with `racers` connections each, by default new ones of a game, and wait for the deal.

    `legal` and `views` are what racers request. Return the race ids.
    """
    racers = min(racers, len(lines))
    groups = [lines[at : at + racers] for at in range(0, len(lines), racers)]
    races = [*races] or create(server, game, len(groups), racers)
    await asyncio.gather(
        *(_start(group, race, legal=legal, views=views) for group, race in zip(groups, races, strict=True))
    )
    for way, line in enumerate(lines):
        line.frames, line.at = frames(game, way), 0
        line.sent_at.clear()
    return races


async def _start(lines: Sequence[Line], race: str, **wanted: object) -> None:
    for line in lines:
        line.view = {}
    await asyncio.gather(*(line.ask("join", race=race, bot=True, **wanted) for line in lines))
    await asyncio.gather(*(line.ask("ready") for line in lines))
    await asyncio.gather(*(line.until_stage("running") for line in lines))
