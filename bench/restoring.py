"""Restoring: reading races from their logs after a restart, when all racers return at once, beside finished races."""

import asyncio
import signal
import time
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from tempfile import TemporaryDirectory
from urllib.error import HTTPError

from bench.load import Drive, close_all
from bench.machine import cpu_s, rss_bytes
from bench.racing import back, begin, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store


def restoring(plan: Plan) -> Iterator[Case]:
    """Kill a server with many races and start another one, to which all racers reconnect; also after many races."""
    for count in plan.sizes:
        yield Case(f"restore/{count}", partial(_restoring, count))
    yield Case("restart", partial(_restart, plan.finished), timeout_s=900)


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


async def _restart(count: int, run: Run) -> None:
    """Kill a server with its embedded store after many races of two racers, and start it again."""
    with TemporaryDirectory() as folder:
        with Server(env={"SAMEDEAL_DATA_DIR": folder}) as server:
            lines, races = await guests(server, run.plan.held_to), list[str]()
            while len(races) < count:
                races += await begin(server, lines, run.plan.games[len(races) % len(run.plan.games)], racers=2)
                await Drive(lines, {}).until(run.plan.live_plies)
                await asyncio.gather(*(line.ask("resign") for line in lines))
            while not _is_stored(server, races[-1]):  # noqa: ASYNC110 - only requests can tell
                await asyncio.sleep(0.05)
            server.end(signal.SIGKILL)
        began = time.perf_counter()
        with Server(env={"SAMEDEAL_DATA_DIR": folder}) as server:
            server.fetch("/readyz")
            run.note(f"restart/{count}/s", time.perf_counter() - began)
            run.note(f"restart/{count}/mib", sum(map(rss_bytes, server.pids)) / 2**20)
            server.fetch(f"/api/v1/replays/{races[0]}.json")


def _is_stored(server: Server, race: str) -> bool:
    try:
        server.fetch(f"/api/v1/replays/{race}.json")
    except HTTPError as error:
        if error.code not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            raise
        return False
    return True
