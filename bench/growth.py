"""Growth: the cost of a move with more races, more racers in a race, and more moves before it."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.figures import Figures
from bench.load import Drive, close_all
from bench.plan import Case, Plan
from bench.racing import begin, guests
from bench.services import Server, Store

MOVING = 10
"""The number of active races; the others are idle."""
MOVES = 100
"""The number of moves of each racer over which the cost is measured."""


def growth(plan: Plan) -> Iterator[Case]:
    """Measure the server's CPU time per move."""
    for count in plan.sizes:
        yield Case(f"growth/races/{count}", partial(_races, plan, count))
    yield Case("growth/plies", partial(_plies, plan))
    for racers in plan.per_race:
        yield Case(f"growth/racers/{racers}", partial(_racers, plan, racers))


async def _races(plan: Plan, count: int, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, count)
        await begin(server, lines, plan.games[0], racers=1)
        measured = await Drive(lines[:MOVING], {"server": [server], "store": [store]}).flat_out(*plan.pace)
        figures.note(f"growth/races/{count}/server-us", measured.cpu_us("server"))
        figures.note(f"growth/races/{count}/store-us", measured.cpu_us("store"))
        await close_all(lines)


async def _plies(plan: Plan, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, MOVING)
        await begin(server, lines, plan.games[0], racers=1)
        drive = Drive(lines, {"server": [server]})
        for ply in plan.plies:
            await drive.until(ply)
            figures.note(f"growth/plies/{ply}/server-us", (await drive.until(ply + MOVES)).cpu_us("server"))
        await close_all(lines)


async def _racers(plan: Plan, racers: int, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, max(plan.per_race))
        await begin(server, lines, plan.games[0], racers=racers)
        measured = await Drive(lines, {"server": [server]}).flat_out(*plan.pace)
        figures.note(f"growth/racers/{racers}/server-us", measured.cpu_us("server"))
        figures.note(f"growth/racers/{racers}/bytes-out", measured.bytes_in / measured.answers)
        await close_all(lines)
