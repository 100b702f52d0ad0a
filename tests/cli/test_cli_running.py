"""Running coroutines: cleanup and exit codes after signals and cancellation."""

import asyncio
import os
import signal
import time

import pytest

from samedeal_cli.running import WayOut, run

pytestmark = pytest.mark.tier(2)


def test_run_returns_the_result() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    assert run(answer()) == 7


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_runs_cleanup(how: signal.Signals) -> None:
    cleaned = []

    async def last() -> None:
        try:
            os.kill(os.getpid(), how)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(how)

    with pytest.raises(SystemExit) as end:
        run(last())
    assert end.value.code == 143
    assert cleaned == [how]


def test_sigterm_sets_exit_code_even_if_the_coroutine_returns() -> None:
    async def stubborn() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    with pytest.raises(SystemExit) as end:
        run(stubborn())
    assert end.value.code == 143


def test_ignored_sighup_stays_ignored() -> None:
    async def hung_up() -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.01)
        return 7

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert run(hung_up()) == 7
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_patient_way_out_waits_for_a_blocked_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_cli.running.GRACE_S", 0.01)
    monkeypatch.setattr("samedeal_cli.running.AGAIN_S", 0.01)
    cleaned = []

    async def blocked() -> None:
        try:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.1)
            await asyncio.Event().wait()
        finally:
            cleaned.append("files")

    with pytest.raises(SystemExit) as end:
        run(blocked(), WayOut(patient=True))
    assert end.value.code == 143
    assert cleaned == ["files"]


def test_internal_cancellation_is_raised() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())
