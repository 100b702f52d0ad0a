"""Memory: what an idle connection and a live race cost, and racing while ten thousand connections are held."""

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
"""Connections that come before anything is counted: with them the server has loaded all it needs."""
FILES_BESIDES = 300
"""Files that the server, its store and the load have open beside connections, or keep for others."""


def memory(plan: Plan) -> Iterator[Case]:
    """What is kept for those who do nothing, and for races."""
    yield Case("memory/idle", partial(_idle, plan))
    for game in plan.games:
        for count in plan.live if game == plan.games[0] else (plan.some_live,):
            yield Case(f"memory/race/{game}/{count}", partial(_races, plan, game, count))


async def _idle(plan: Plan, figures: Figures) -> None:
    racers = plan.sizes[-1]
    if (needed := plan.idle[-1] + racers + FIRST + FILES_BESIDES) > open_files():
        raise LoadError(f"a process may have {open_files():,} files open here, and {needed:,} are needed (ulimit -Hn)")
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
    """So many races of five racers each, who are connected before anything is counted."""
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
