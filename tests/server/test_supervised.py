"""Background loops continue after errors, and one bad race does not stop the sweep."""

import asyncio
import logging
from typing import Any

import pytest

from samedeal.errors import Refused
from samedeal_server.net.supervised import cancelled, supervised
from support.rooms import LATER_MS, opened
from support.stores import Movable, process, run, until

pytestmark = pytest.mark.tier(2)


async def test_a_supervised_loop_logs_errors_and_continues(caplog: pytest.LogCaptureFixture) -> None:
    errors = [ValueError("first"), Refused("store-unavailable", "second"), KeyError("third")]
    done = asyncio.Event()

    async def step() -> None:
        if errors:
            raise errors.pop(0)
        done.set()

    task = asyncio.create_task(supervised("counting sheep", step, 0.0))
    await asyncio.wait_for(done.wait(), 60)
    await cancelled([task])
    messages = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in messages] == [logging.ERROR, logging.WARNING, logging.ERROR]
    assert all("counting sheep" in text for _, text in messages)


async def test_cancelled_repeats_a_swallowed_cancellation() -> None:
    swallowed = 0

    async def deaf() -> None:
        nonlocal swallowed
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if swallowed < 3:
                swallowed += 1
            else:
                raise

    task = asyncio.create_task(supervised("not listening", deaf, 0.0))
    await asyncio.sleep(0)
    await asyncio.wait_for(cancelled([task]), 60)
    assert swallowed == 3


@pytest.mark.parametrize(
    "line",
    [
        {"e": b'[%d,1,{"seat":1,"move":"\xff","t":"moved"}]', "h": b"0" * 64},
        {"e": b'[%d,1,{"seat":1,"move":"draw","t":"moved"}]', "h": b"\xff"},
        {"e": b'[%d,1,{"seat":1,"move":"draw","t":"moved"}]'},
    ],
)
async def test_an_unreadable_log_does_not_prevent_closing_other_races(
    line: dict[str, bytes], redis_url: str, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal_server.live.registry.SWEEP_EVERY_S", 0.1)
    async with process(redis_url) as before:
        bad, good = await opened(before), await opened(before)
        for room in (bad, good):
            await run(room)
        n = bad.race.n + 1
        fields = {key: value.replace(b"%d", b"%d" % n) for key, value in line.items()}
        redis.xadd(f"race:{{{bad.race.id}}}:log", fields, id=f"{n}-0")
        redis.zadd("races:due", {bad.race.id: 1, good.race.id: 2})
    async with process(redis_url, started=True, ahead_ms=LATER_MS) as after:
        await until(lambda: redis.exists(f"replay:{{{good.race.id}}}"))
        await until(lambda: (redis.zscore("races:due", bad.race.id) or 0) > 2)
        assert not any(task.done() for task in after.registry._tasks)
        redis.zadd("races:due", {bad.race.id: 1})
        await until(lambda: (redis.zscore("races:due", bad.race.id) or 0) > 2)  # the sweep still runs


async def test_the_clock_is_measured_again_after_a_failure(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0

    class Failing(Movable):
        async def measure(self) -> None:
            nonlocal measured
            measured += 1
            if measured == 3:
                raise ValueError("not a time")
            await super().measure()

    monkeypatch.setattr("samedeal_server.live.registry.MEASURED_EVERY_S", 0.01)
    async with process(redis_url, started=True, clock=Failing):
        await until(lambda: measured > 5)
