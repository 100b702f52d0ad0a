"""Restoring: reading races from their logs after a restart, one at a time and all at once."""

import signal
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.figures import Figures
from bench.load import Drive, close_all
from bench.machine import cpu_s
from bench.plan import Case, Plan
from bench.racing import RACERS, back, begin, guests
from bench.services import Server, Store


def restoring(plan: Plan) -> Iterator[Case]:
    """Kill a server with many races and start another one, to which all racers reconnect at once."""
    for count in plan.sizes:
        yield Case(f"restore/{count}", partial(_restoring, plan, count))


async def _restoring(plan: Plan, count: int, figures: Figures) -> None:
    game = plan.games[0]
    with tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder, Store(Path(folder)) as store:
        with Server(store, Path(folder)) as server:
            lines, long = await guests(server, count), await guests(server, RACERS)
            races = await begin(server, lines, game, racers=1)
            await Drive(lines, {}).until(plan.live_plies)
            (race,) = await begin(server, long, game)
            await Drive(long, {}).until(2 * plan.plies[1])
            server.end(signal.SIGKILL)
        with Server(store, Path(folder)) as server:
            server.fetch("/healthz")
            began = time.perf_counter()
            server.ask(f"/api/v1/races/{race}")
            figures.note(f"restore/one/{count}/ms", 1000 * (time.perf_counter() - began))
            began, before = time.perf_counter(), cpu_s(server.pids)
            again = await back(server, lines, races)
            figures.note(f"restore/all/{count}/s", time.perf_counter() - began)
            figures.note(f"restore/all/{count}/server-ms-each", 1000 * (cpu_s(server.pids) - before) / count)
            await close_all(again)
