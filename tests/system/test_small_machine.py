"""A machine with one core, on which another program is busy: races still get their deals."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from samedeal.wire import messages as m
from samedeal_server.work.process import SOON
from support.child_processes import computing
from support.servers import Server, racers
from support.waiting import LIMIT_S, until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="platform: pins processes to a core"),
    pytest.mark.tier(3),
]


@contextmanager
def one_busy_core() -> Iterator[None]:
    """Pin this process and those that it starts to one core, on which another program computes all the time."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
            try:
                yield
            finally:
                busy.kill()
    finally:
        os.sched_setaffinity(0, cores)


async def test_a_race_starts_on_a_busy_core(redis_url: str) -> None:
    with one_busy_core(), Server(redis_url, soon=f"{SOON}") as server:
        race = server.create("the-edge", filter="certified/1", max_racers=1, start_delay_ms=0)
        async with racers(server, "ada") as (ada,):
            await ada.join(race)
            await ada.ask(m.Ready)
            await ada.until(lambda view: view.stage == "countdown")
            await ada.ask(m.Nonce, nonce=ada.nonce.hex())
            assert server.process
            search = await search_process(server.process.pid)
            await ada.ask(m.Ping)  # now the server has also chosen its scheduling class
            assert os.sched_getscheduler(search) != os.SCHED_IDLE, "the search would wait for the other program to end"
            async with asyncio.timeout(LIMIT_S):
                await ada.until(lambda view: view.stage == "running")


async def search_process(server: int) -> int:
    """Wait until a server has started its only worker process and lowered its priority. Return its id."""
    await until(lambda: [pid for pid in computing(server) if os.getpriority(os.PRIO_PROCESS, pid)])
    (pid,) = computing(server)
    return pid
