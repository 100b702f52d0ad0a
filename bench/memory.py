"""Memory: what an idle connection and a live race cost, and racing while ten thousand connections are held."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Figures
from bench.load import Drive, close_all
from bench.machine import rss_bytes
from bench.moves import note
from bench.plan import Plan
from bench.racing import begin, guests
from bench.services import Server, Store

FIRST = 50
"""Connections that come before anything is counted: with them the server has loaded all it needs."""
PLIES = 40
"""How many moves each racer makes for the memory of a race."""


async def memory(figures: Figures, plan: Plan) -> None:
    """Measures what is kept for those who do nothing, and for races."""
    await _idle(figures, plan)
    for game in plan.games:
        await _races(figures, plan, game, plan.sizes if game == plan.games[0] else plan.sizes[-1:])


async def _idle(figures: Figures, plan: Plan) -> None:
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
        racers = plan.sizes[-1]
        lines = await guests(server, racers)
        await begin(server, lines, plan.games[0])
        drive = Drive(lines, {"server": [server]})
        note(figures, f"memory/racing-while-{plan.idle[-1]}-idle/{racers}", await drive.flat_out(*plan.pace))
        alive = sum(not line.transport.is_disconnected for line in held if line.transport)
        figures.note("memory/idle/still-held", alive - FIRST)
        await close_all([*held, *lines])


async def _races(figures: Figures, plan: Plan, game: str, counts: Sequence[int]) -> None:
    for count in counts:
        with (
            tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
            Store(Path(folder)) as store,
            Server(store, Path(folder)) as server,
        ):
            lines = await guests(server, count + FIRST)
            await begin(server, lines[count:], game, racers=1)
            before = rss_bytes(server.pid)
            await begin(server, lines[:count], game, racers=1)
            dealt = rss_bytes(server.pid)
            await Drive(lines[:count], {}).until(PLIES)
            figures.note(f"memory/race/{game}/{count}/dealt-kib", (dealt - before) / 1024 / count)
            figures.note(f"memory/race/{game}/{count}/kib", (rss_bytes(server.pid) - before) / 1024 / count)
            await close_all(lines)
