"""Processes: two server processes compared with one, sharing two cores with the load generator and the store."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench import machine
from bench.figures import Figures
from bench.load import Drive, Line, close_all
from bench.machine import LOAD_CORE, SERVER_CORE
from bench.moves import note
from bench.plan import Case, Plan
from bench.racing import RACERS, begin, create, guests
from bench.services import Server, Store

BOTH = (SERVER_CORE, LOAD_CORE)
IDLE_S = 5.0
"""After this time, the process that opened a race has dropped it if none of the racers is there (s)."""
ONE_PORT = (
    ("processes/one", 1, False),
    ("processes/two-workers-routed", 2, True),
    ("processes/two-workers", 2, False),
)
"""The name of each measurement, the number of workers, and whether connections are routed by race."""


def processes(plan: Plan) -> Iterator[Case]:
    """Measure without pinning. The servers share the two cores with the load generator and the store."""
    for name, workers, routed in ONE_PORT:
        yield Case(name, partial(_one_port, plan, name, workers, routed))
    for name, apart in (("processes/two-races-apart", True), ("processes/two-races-shared", False)):
        yield Case(name, partial(_two_ports, plan, name, apart))


@contextmanager
def _unpinned() -> Iterator[None]:
    machine.pin(0, *BOTH)
    try:
        yield
    finally:
        machine.pin(0, LOAD_CORE)


async def _one_port(plan: Plan, name: str, workers: int, routed: bool, figures: Figures) -> None:
    """If connections are routed, their URLs name their races, so that each race is in one worker."""
    with (
        _unpinned(),
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder), BOTH) as store,
        Server(store, Path(folder), BOTH, workers=f"{workers}") as server,
    ):
        racers, races = min(RACERS, plan.held_to), list[str]()
        if routed:
            races = create(server, plan.games[0], -(-plan.held_to // racers), racers)
        lines = await guests(server, plan.held_to, [race for race in races for _ in range(racers)][: plan.held_to])
        await begin(server, lines, plan.games[0], races=races)
        await asyncio.sleep(IDLE_S if routed else 0)
        await _measure(figures, plan, name, lines, [server], store)


async def _two_ports(plan: Plan, name: str, apart: bool, figures: Figures) -> None:
    """Each race is on one process with all its racers, or its racers are on both."""
    with _unpinned(), ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="samedeal-bench-")))
        store = stack.enter_context(Store(folder, BOTH))
        servers = [stack.enter_context(Server(store, folder, BOTH)) for _ in range(2)]
        halves = [await guests(server, plan.held_to // 2) for server in servers]
        if apart:
            for server, half in zip(servers, halves, strict=True):
                await begin(server, half, plan.games[0])
            lines = [*halves[0], *halves[1]]
        else:
            lines = [line for pair in zip(*halves, strict=True) for line in pair]
            await begin(servers[0], lines, plan.games[0])
        await _measure(figures, plan, name, lines, servers, store)


async def _measure(
    figures: Figures, plan: Plan, name: str, lines: list[Line], servers: list[Server], store: Store
) -> None:
    measured = await Drive(lines, {"server": servers, "store": [store]}).flat_out(*plan.pace)
    note(figures, name, measured)
    figures.note(f"{name}/store-us", measured.cpu_us("store"))
    figures.note(f"{name}/load-us", measured.cpu_us("load"))
    await close_all(lines)
