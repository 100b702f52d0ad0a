"""Jobs: computed in one bounded process, which is replaced after whatever goes wrong."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest
from msgspec import msgpack

from children import computing, runs
from gated_worker import Gate
from gates import gate
from samedeal.catalogue import GAMES
from samedeal.errors import Refused
from samedeal.friendly import first
from samedeal_server import job_worker, jobs, renderings
from samedeal_server.dealer import Dealer
from samedeal_server.jobs import JobFailed, Jobs, Task
from samedeal_server.renderings import Renderings
from stores import until

__all__ = ["gate"]
QUESTION = msgpack.encode(("corners", "root", {}, "friendly/1"))


@pytest.fixture
async def queue() -> AsyncIterator[Jobs]:
    running = Jobs(10, 5, "It is full.", cpu_s=1)
    yield running
    await running.stop()


def run(queue: Jobs, task: Task = "deal", question: bytes = QUESTION) -> "asyncio.Task[bytes]":
    async def run() -> bytes:
        with queue.turns.place("a") as place:
            return await queue.run(place, task, question)

    return asyncio.create_task(run())


async def abandon(*waiting: "asyncio.Task[bytes]") -> None:
    """Returns when nothing is left of these jobs."""
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_every_job_runs_in_the_same_process(queue: Jobs) -> None:
    expected = b"%d" % first(GAMES["corners"], "root", {}, "friendly/1")
    assert await asyncio.gather(*(run(queue) for _ in range(5))) == [expected] * 5
    (process,) = computing(os.getpid())
    assert await run(queue) == expected
    assert computing(os.getpid()) == [process]


async def test_the_process_is_replaced_after_so_many_jobs_and_ends_when_there_are_none(
    queue: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_JOBS", 2)
    monkeypatch.setattr(jobs, "IDLE_S", 0.01)
    await run(queue)
    await run(queue)
    await run(queue)
    await until(lambda: not computing(os.getpid()))


async def test_a_process_gives_way_and_has_limits(queue: Jobs, gate: Gate) -> None:
    waiting = run(queue)
    await until(lambda: gate.noted)
    ((process, _),) = gate.noted
    limits = Path(f"/proc/{process}/limits").read_text()
    assert os.getpriority(os.PRIO_PROCESS, process) >= 10
    assert f"Max address space         {2**30}" in limits
    (cpu,) = (line.split() for line in limits.splitlines() if line.startswith("Max cpu time"))
    assert int(cpu[3]) in (2, 3)
    await abandon(waiting)


@pytest.mark.skipif(sys.platform != "linux", reason="platform: only Linux schedules processes on idle cores")
@pytest.mark.parametrize(("has_jobs", "policy"), [(Dealer, "SCHED_IDLE"), (Renderings, "SCHED_OTHER")])
async def test_searches_run_on_idle_cores_only(
    has_jobs: type[Dealer] | type[Renderings], policy: str, gate: Gate
) -> None:
    queue = has_jobs().jobs
    waiting = run(queue)
    await until(lambda: gate.noted)
    ((process, _),) = gate.noted
    assert os.sched_getscheduler(process) == getattr(os, policy)
    await abandon(waiting)
    await queue.stop()


async def test_a_job_that_nobody_waits_for_ends_and_the_next_one_runs(queue: Jobs, gate: Gate) -> None:
    waiting, following = run(queue), run(queue)
    await until(lambda: gate.noted)
    ((process, _),) = gate.noted
    await abandon(waiting)
    gate.allow(2)
    assert await following == b"0"
    assert not runs(process)


@pytest.mark.parametrize(("how", "why"), [("spinning", "processor time"), ("greedy", "status 12")])
async def test_a_job_that_takes_too_much_fails_and_the_next_one_runs(
    queue: Jobs, gate: Gate, how: str, why: str
) -> None:
    gate.allow(2)
    gate.misbehave(how, "deal")
    with pytest.raises(JobFailed, match=f"'deal' was ended.*{why}"):
        await run(queue)
    gate.misbehave(how)
    assert await run(queue) == b"0"


async def test_a_job_whose_process_is_killed_fails_and_the_next_one_runs(queue: Jobs, gate: Gate) -> None:
    waiting = run(queue)
    await until(lambda: gate.noted)
    os.kill(gate.noted[0][0], signal.SIGKILL)
    with pytest.raises(JobFailed, match="killed by signal 9"):
        await waiting
    gate.allow(2)
    assert await run(queue) == b"0"


async def test_a_job_that_fails_says_why_and_leaves_the_process_as_it_is(queue: Jobs) -> None:
    with pytest.raises(JobFailed, match="'deal' failed: KeyError"):
        await run(queue, question=msgpack.encode(("chess", "root", {}, "friendly/1")))
    with pytest.raises(Refused) as refused:
        await run(queue, "steps", b"odd")
    assert refused.value.code == "unsupported-version"
    assert len(computing(os.getpid())) == 1


async def test_a_process_that_cannot_be_started_fails_the_job(queue: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(JobFailed, match="no process can be started"):
        await run(queue)


async def test_a_rendering_is_made_once_and_kept_while_there_is_room(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, questions = Renderings(), [msgpack.encode(("gallery", f"{seed}", {}, 0, bytes(32), "json")) for seed in "ab"]
    gate.allow(100)
    try:
        first, *others = await asyncio.gather(*(made.made("a", "play", questions[0]) for _ in range(3)))
        assert others == [first, first]
        assert len(gate.noted) == 1
        monkeypatch.setattr(renderings, "CACHE_BYTES", len(first) + 100)
        await made.made("a", "play", questions[1])
        assert len(gate.noted) == 2
        assert await made.made("a", "play", questions[0]) == first
        assert len(gate.noted) == 3
        assert made.jobs.turns.places == 0
    finally:
        await made.stop()


async def test_the_queue_of_renderings_is_bounded_for_each_address(gate: Gate) -> None:
    made = Renderings()
    waiting = [
        asyncio.create_task(made.made("a", "steps", bytes([number])))
        for number in range(renderings.MAX_RENDERINGS_PER_ADDRESS)
    ]
    await until(lambda: gate.noted)
    with pytest.raises(Refused, match="Too many"):
        await made.made("a", "steps", b"one more")
    await abandon(*waiting)
    assert made.jobs.turns.places == 0
    await made.stop()


def test_the_server_and_the_process_know_the_same_tasks() -> None:
    assert set(get_args(Task)) == set(job_worker.TASKS)
