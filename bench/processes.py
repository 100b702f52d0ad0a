"""Processes: two workers compared with one, sharing two cores with the load generator and the store."""

import asyncio
from collections.abc import Iterator
from functools import partial

from bench import machine
from bench.load import Drive, close_all
from bench.machine import LOAD_CORE, SERVER_CORE
from bench.moves import note
from bench.racing import RACERS, begin, create, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store

BOTH = (SERVER_CORE, LOAD_CORE)
IDLE_S = 5.0
"""After this time, the process that opened a race has dropped it if none of the racers is there (s)."""
WAYS = {"one": (1, False), "two-workers-routed": (2, True), "two-workers": (2, False)}
"""The number of workers of each measurement, and whether connections are routed by race."""


def processes(plan: Plan) -> Iterator[Case]:
    """Measure without pinning. The servers share the two cores with the load generator and the store."""
    for way, (workers, routed) in WAYS.items():
        name = f"processes/{way}"
        yield Case(name, partial(_processes, name, workers, routed))


async def _processes(name: str, workers: int, routed: bool, run: Run) -> None:
    """If connections are routed, their URLs name their races, so that each race is in one worker."""
    plan = run.plan
    game, racers, races = plan.games[0], min(RACERS, plan.held_to), list[str]()
    machine.pin(0, *BOTH)
    try:
        with Store(BOTH) as store, Server(store, BOTH, workers=workers) as server:
            if routed:
                races = create(server, game, -(-plan.held_to // racers), racers)
            lines = await guests(server, plan.held_to, [race for race in races for _ in range(racers)][: plan.held_to])
            await begin(server, lines, game, races=races)
            await asyncio.sleep(IDLE_S if routed else 0)
            note(run, name, await Drive(lines, {"server": [server], "store": [store]}).flat_out(*plan.pace))
            await close_all(lines)
    finally:
        machine.pin(0, LOAD_CORE)
