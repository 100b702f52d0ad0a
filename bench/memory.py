"""Memory: the cost of an idle connection and of a live race, and racing with ten thousand idle connections."""

import asyncio
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.figures import Figures
from bench.load import Drive, LoadError, close_all
from bench.machine import open_files, rss_bytes
from bench.moves import note
from bench.plan import Case, Plan
from bench.racing import RACERS, begin, guests
from bench.services import Server, Store

FIRST = 50
"""Connections before the first measurement, so that the server has loaded all its code."""
FILES_BESIDES = 300
"""Open files of the server, the store and the load generator besides connections."""


def memory(plan: Plan) -> Iterator[Case]:
    """Measure the memory of idle connections and of races."""
    yield Case("memory/idle", partial(_idle, plan))
    for game in plan.games:
        for count in plan.live if game == plan.games[0] else (plan.some_live,):
            yield Case(f"memory/race/{game}/{count}", partial(_races, plan, game, count))


async def _idle(plan: Plan, figures: Figures) -> None:
    racers = plan.sizes[-1]
    if (needed := plan.idle[-1] + racers + FIRST + FILES_BESIDES) > open_files():
        raise LoadError(f"the limit on open files is {open_files():,}, but {needed:,} are needed (ulimit -Hn)")
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        held = await guests(server, FIRST)
        before = rss_bytes(server.pid)
        for count in plan.idle:
            held += await guests(server, FIRST + count - len(held))
            await asyncio.sleep(0.5)
            figures.note(f"memory/idle/{count}/kib", (rss_bytes(server.pid) - before) / 1024 / count)
        lines = await guests(server, racers)
        await begin(server, lines, plan.games[0])
        drive = Drive(lines, {"server": [server]})
        note(figures, f"memory/racing-while-{plan.idle[-1]}-idle/{racers}", await drive.flat_out(*plan.pace))
        alive = sum(not line.transport.is_disconnected for line in held if line.transport)
        figures.note("memory/idle/still-held", alive - FIRST)
        await close_all([*held, *lines])


async def _races(plan: Plan, game: str, count: int, figures: Figures) -> None:
    """Measure the memory of races. Their racers connect before the first measurement."""
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        first, lines = await guests(server, FIRST), await guests(server, RACERS * count)
        await begin(server, first, game)
        await Drive(first, {}).until(plan.live_plies)
        before = rss_bytes(server.pid)
        await begin(server, lines, game)
        dealt = rss_bytes(server.pid)
        await Drive(lines, {}).until(plan.live_plies)
        figures.note(f"memory/race/{game}/{count}/dealt-kib", (dealt - before) / 1024 / count)
        figures.note(f"memory/race/{game}/{count}/kib", (rss_bytes(server.pid) - before) / 1024 / count)
        await close_all([*first, *lines])
