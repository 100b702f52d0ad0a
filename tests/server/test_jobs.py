"""Jobs: computed in one bounded worker process, which is replaced after any failure."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec import msgpack

from samedeal.computer.deal_filters import first
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal_server.live.deal_finder import DealFinder
from samedeal_server.work import pool, renderings
from samedeal_server.work.pool import JobFailed, Jobs
from samedeal_server.work.process import Task
from samedeal_server.work.renderings import Renderings
from support.child_processes import computing, runs
from support.gated_worker import Gate
from support.gates import gate
from support.stores import until

pytestmark = pytest.mark.tier(2)

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
    """Cancel jobs, and return once they have ended."""
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_jobs_share_one_process(queue: Jobs) -> None:
    expected = b"%d" % first(GAMES["corners"], "root", {}, "friendly/1")
    assert await asyncio.gather(*(run(queue) for _ in range(5))) == [expected] * 5
    (process,) = computing(os.getpid())
    assert await run(queue) == expected
    assert computing(os.getpid()) == [process]


async def test_the_process_is_replaced_after_max_jobs_and_ends_when_idle(
    queue: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MAX_JOBS", 2)
    monkeypatch.setattr(pool, "IDLE_S", 0.01)
    await run(queue)
    await run(queue)
    await run(queue)
    await until(lambda: not computing(os.getpid()))


async def test_a_process_has_low_priority_and_limits(queue: Jobs, gate: Gate) -> None:
    waiting = run(queue)
    await until(lambda: gate.noted)
    ((process, _),) = gate.noted
    limits = Path(f"/proc/{process}/limits").read_text()
    assert os.getpriority(os.PRIO_PROCESS, process) >= 10
    assert f"Max address space         {2**30}" in limits
    (cpu,) = (line.split() for line in limits.splitlines() if line.startswith("Max cpu time"))
    assert int(cpu[3]) in (2, 3)
    await abandon(waiting)


@pytest.mark.skipif(sys.platform != "linux", reason="platform: needs Linux's SCHED_IDLE")
@pytest.mark.parametrize(
    ("jobs", "policy", "niceness"),
    [
        (lambda: DealFinder().jobs, "SCHED_OTHER", 10),
        (lambda: Jobs(1, 1, "", only_when_idle=True), "SCHED_IDLE", 10),
    ],
)
async def test_jobs_that_people_wait_for_are_not_limited_to_idle_cores(
    jobs: Callable[[], Jobs], policy: str, niceness: int, gate: Gate
) -> None:
    queue = jobs()
    waiting = run(queue)
    await until(lambda: computing(os.getpid(), pool.WORKER))  # on busy cores, its job may not start
    (process,) = computing(os.getpid(), pool.WORKER)
    expected = getattr(os, policy), niceness
    await until(lambda: (os.sched_getscheduler(process), os.getpriority(os.PRIO_PROCESS, process)) == expected)
    await abandon(waiting)
    await queue.stop()


async def test_cancelling_a_job_ends_its_process_and_the_next_job_runs(queue: Jobs, gate: Gate) -> None:
    waiting, following = run(queue), run(queue)
    await until(lambda: gate.noted)
    ((process, _),) = gate.noted
    await abandon(waiting)
    gate.allow(2)
    assert await following == b"0"
    assert not runs(process)


@pytest.mark.parametrize(("how", "why"), [("spinning", "CPU time"), ("greedy", "status 12")])
async def test_a_job_that_exceeds_its_limits_fails_and_the_next_job_runs(
    queue: Jobs, gate: Gate, how: str, why: str
) -> None:
    gate.allow(2)
    gate.misbehave(how, "deal")
    with pytest.raises(JobFailed, match=f"'deal' was ended.*{why}"):
        await run(queue)
    gate.misbehave(how)
    assert await run(queue) == b"0"


async def test_a_job_fails_if_its_process_is_killed_and_the_next_job_runs(queue: Jobs, gate: Gate) -> None:
    waiting = run(queue)
    await until(lambda: gate.noted)
    os.kill(gate.noted[0][0], signal.SIGKILL)
    with pytest.raises(JobFailed, match="killed by signal 9"):
        await waiting
    gate.allow(2)
    assert await run(queue) == b"0"


async def test_a_failing_job_states_the_error_and_keeps_the_process(queue: Jobs) -> None:
    with pytest.raises(JobFailed, match="'deal' failed: KeyError"):
        await run(queue, question=msgpack.encode(("chess", "root", {}, "friendly/1")))
    with pytest.raises(Refused) as refused:
        await run(queue, "steps", b"odd")
    assert refused.value.code == "unsupported-version"
    assert len(computing(os.getpid())) == 1


async def test_a_job_fails_if_no_process_can_be_started(queue: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(JobFailed, match="cannot start a process"):
        await run(queue)


async def test_renderings_are_cached_while_there_is_room(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, questions = Renderings(), [msgpack.encode(("gallery", f"{seed}", {}, 0, bytes(32), "json")) for seed in "ab"]
    gate.allow(100)
    try:
        first, *others = await asyncio.gather(*(cache.render("a", "play", questions[0]) for _ in range(3)))
        assert others == [first, first]
        assert len(gate.noted) == 1
        monkeypatch.setattr(renderings, "CACHE_BYTES", len(first) + 100)
        await cache.render("a", "play", questions[1])
        assert len(gate.noted) == 2
        assert await cache.render("a", "play", questions[0]) == first
        assert len(gate.noted) == 3
        assert cache.slow_jobs.turns.places == 0
    finally:
        await cache.stop()


async def test_the_event_loop_serves_others_between_answers_that_waited_for_one_rendering(gate: Gate) -> None:
    cache, passes, answered = Renderings(), 0, list[int]()

    async def render() -> None:
        await cache.render("a", "qr", b"https://example.org")
        answered.append(passes)

    waiting = [asyncio.create_task(render()) for _ in range(5)]
    gate.allow(1)
    while not all(task.done() for task in waiting):
        passes += 1
        await asyncio.sleep(0)
    assert len(set(answered)) == len(waiting)
    await cache.stop()


async def test_the_rendering_queue_is_bounded_per_address(gate: Gate) -> None:
    cache = Renderings()
    waiting = [
        asyncio.create_task(cache.render("a", "steps", bytes([number])))
        for number in range(renderings.MAX_RENDERINGS_PER_ADDRESS)
    ]
    await until(lambda: gate.noted)
    with pytest.raises(Refused, match="Too many"):
        await cache.render("a", "steps", b"one more")
    waiting.append(asyncio.create_task(cache.render("a", "steps", bytes([0]))))  # the same as the first one
    await asyncio.sleep(0)
    assert not waiting[-1].done()
    await abandon(*waiting)
    assert cache.jobs.turns.places == 0
    await cache.stop()


async def test_quick_renderings_do_not_wait_for_slow_ones(gate: Gate) -> None:
    cache = Renderings()
    gate.allow(100)
    gate.misbehave("spinning", "play", "card-png", "steps")
    slow: dict[Task, bytes] = {"play": b"", "card-png": b"", "steps": bytes(renderings.LONG_BYTES)}
    waiting = [asyncio.create_task(cache.render("a", *question)) for question in slow.items()]
    await until(lambda: gate.noted)
    assert await cache.render("a", "qr", b"https://example.org")
    assert not any(task.done() for task in waiting)
    await abandon(*waiting)
    await cache.stop()
