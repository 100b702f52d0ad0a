"""Restoring: reading races from their logs after a restart, when all racers return at once."""

import signal
import time
from collections.abc import Iterator
from functools import partial

from bench.load import Drive, close_all
from bench.machine import cpu_s
from bench.racing import back, begin, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store


def restoring(plan: Plan) -> Iterator[Case]:
    """Kill a server with many races and start another one, to which all racers reconnect."""
    for count in plan.sizes:
        yield Case(f"restore/{count}", partial(_restoring, count))


async def _restoring(count: int, run: Run) -> None:
    with Store() as store:
        with Server(store) as server:
            lines = await guests(server, count)
            races = await begin(server, lines, run.plan.games[0], racers=1)
            await Drive(lines, {}).until(run.plan.live_plies)
            server.end(signal.SIGKILL)
        with Server(store) as server:
            server.fetch("/healthz")
            began, before = time.perf_counter(), cpu_s(server.pids)
            again = await back(server, lines, races)
            run.note(f"restore/all/{count}/s", time.perf_counter() - began)
            run.note(f"restore/all/{count}/server-ms-each", 1000 * (cpu_s(server.pids) - before) / count)
            await close_all(again)
