"""The computer's plays as replays: computed one at a time in a worker, cached, and limited per address."""

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from samedeal_server.jobs.renderings import MAX_RENDERINGS_PER_ADDRESS
from support.child_processes import computing, runs
from support.gated_worker import Gate
from support.gates import gate
from support.http_api import problem
from support.logged_server import Answer, LoggedServer, request
from support.stores import until

pytestmark = pytest.mark.tier(2)

__all__ = ["gate"]


class GatedServer(LoggedServer):
    """A server whose jobs wait until the test releases them."""

    program = ("-m", "support.gated_server")


def address(k: int) -> str:
    return f"/api/v1/deals/the-edge:1/par/{k}.json"


def requested(server: LoggedServer, k: int) -> "asyncio.Task[Answer]":
    return asyncio.create_task(asyncio.to_thread(request, server, "GET", address(k)))


async def test_plays_are_made_one_at_a_time_in_a_process(redis_url: str, tmp_path: Path) -> None:
    with LoggedServer(redis_url, tmp_path / "log").start() as server:
        assert server.process
        answers = await asyncio.gather(*(requested(server, k) for k in range(10)))
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == 10
        assert len(computing(server.process.pid)) == 1
        assert server.failures() == []


async def test_a_play_is_computed_once_and_cached(redis_url: str, tmp_path: Path) -> None:
    with LoggedServer(redis_url, tmp_path / "log").start() as server:
        assert server.process
        first = await requested(server, 7)
        (pid,) = computing(server.process.pid)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not runs(pid))
        assert (await requested(server, 7)).body == first.body
        assert computing(server.process.pid) == []
        assert (await requested(server, 8)).status == 200


async def test_an_address_cannot_have_plays_without_end(redis_url: str, tmp_path: Path, gate: Gate) -> None:
    with GatedServer(redis_url, tmp_path / "log").start() as server:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_RENDERINGS_PER_ADDRESS + 3))
        waiting = [requested(server, k) for k in range(MAX_RENDERINGS_PER_ADDRESS + 3)]
        await until(lambda: sum(task.done() for task in waiting) == 3)
        await until(lambda: gate.noted)
        assert len(gate.noted) == 1
        gate.allow(1_000)
        answers = await asyncio.gather(*waiting)
        refused = [answer for answer in answers if answer.status != 200]
        assert len(refused) == 3
        assert all(problem(answer, "too-many", "Try again") for answer in refused)
