"""Memory: the cost of an idle connection and of a live race, and racing with ten thousand idle connections."""

import asyncio
from collections.abc import Iterator
from functools import partial

from bench.load import Drive, LoadError, close_all
from bench.machine import open_files, rss_bytes
from bench.racing import RACERS, begin, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store

FIRST = 50
"""Connections before the first measurement, so that the server has loaded all its code."""
FILES_BESIDES = 300
"""Open files of the server, the store and the load generator besides connections."""


def memory(plan: Plan) -> Iterator[Case]:
    """Measure the memory of idle connections and of races."""
    yield Case("memory/idle", _idle)
    for game in plan.games:
        for count in plan.live if game == plan.games[0] else plan.live[:1]:
            yield Case(f"memory/race/{game}/{count}", partial(_races, game, count))


async def _idle(run: Run) -> None:
    """Measure idle connections, and count how many survive while others race."""
    plan = run.plan
    racers = plan.sizes[-1]
    if (needed := plan.idle[-1] + racers + FIRST + FILES_BESIDES) > open_files():
        raise LoadError(f"the limit on open files is {open_files():,}, but {needed:,} are needed (ulimit -Hn)")
    with Store() as store, Server(store) as server:
        held = await guests(server, FIRST)
        before = rss_bytes(server.pid)
        for count in plan.idle:
            held += await guests(server, FIRST + count - len(held))
            await asyncio.sleep(0.5)
            run.note(f"memory/idle/{count}/kib", (rss_bytes(server.pid) - before) / 1024 / count)
        lines = await guests(server, racers)
        await begin(server, lines, plan.games[0])
        await Drive(lines, {}).flat_out(*plan.pace)
        alive = sum(not line.transport.is_disconnected for line in held if line.transport)
        run.note("memory/idle/still-held", alive - FIRST)
        await close_all([*held, *lines])


async def _races(game: str, count: int, run: Run) -> None:
    """Measure the memory of races. Their racers connect before the first measurement."""
    with Store() as store, Server(store) as server:
        first, lines = await guests(server, FIRST), await guests(server, RACERS * count)
        await begin(server, first, game)
        await Drive(first, {}).until(run.plan.live_plies)
        before = rss_bytes(server.pid)
        await begin(server, lines, game)
        await Drive(lines, {}).until(run.plan.live_plies)
        run.note(f"memory/race/{game}/{count}/kib", (rss_bytes(server.pid) - before) / 1024 / count)
        await close_all([*first, *lines])
