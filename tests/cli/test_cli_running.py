"""Running coroutines: cleanup and exit codes after signals and cancellation."""

import asyncio
import os
import signal
import termios

import pytest

from samedeal_cli.running import run
from support.program import SAMEDEAL
from support.servers import Server
from support.terminals import at_a_terminal, new_terminal, until

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


def test_internal_cancellation_is_raised() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())


def test_sigterm_restores_the_terminal_of_the_full_screen(store_url: str) -> None:
    with Server(store_url) as server:
        environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "32"}
        environment |= {"SAMEDEAL_SERVER": server.url, "SAMEDEAL_NAME": "ada"}
        command = [*SAMEDEAL, "solo", "corners:42"]
        with at_a_terminal(environment, command) as (process, terminal), new_terminal() as (unused, _):
            until(terminal, "Enter to begin")
            os.write(terminal, b"\n")
            text = until(terminal, "stock")
            assert "\x1b[?1049h" in text
            process.terminate()
            assert "\x1b[?1049l" in until(terminal, "\x1b[?1049l")
            assert process.wait(50) == 143
            assert termios.tcgetattr(terminal) == termios.tcgetattr(unused)
