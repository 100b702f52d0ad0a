"""Running what is asynchronous: that it ends cleanly and with the right code, whoever ends it."""

import asyncio
import os
import signal
import sys
import termios
from pathlib import Path

import pytest

from samedeal_cli.running import run
from support.servers import Server
from support.terminals import at_a_terminal, until


def test_what_comes_out_is_answered() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    assert run(answer()) == 7


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_cleans_up_first(how: signal.Signals) -> None:
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


def test_who_ends_well_after_having_been_told_to_has_been_told_all_the_same() -> None:
    async def stubborn() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    with pytest.raises(SystemExit) as end:
        run(stubborn())
    assert end.value.code == 143


def test_what_is_cancelled_from_within_is_only_that() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())


def test_the_full_screen_leaves_the_terminal_as_it_was_when_it_is_told_to_end(store_url: str, tmp_path: Path) -> None:
    with Server(store_url) as server:
        environment = os.environ | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path)}
        environment |= {"SAMEDEAL_SERVER": server.url, "COLUMNS": "100", "LINES": "32"}
        command = [sys.executable, "-m", "samedeal_cli.main", "solo", "corners:42"]
        with at_a_terminal(environment, command) as (process, terminal):
            before = termios.tcgetattr(terminal)
            text = until(terminal, "stock")
            assert "\x1b[?1049h" in text
            process.terminate()
            assert "\x1b[?1049l" in until(terminal, "\x1b[?1049l")
            assert process.wait(30) == 143
            assert termios.tcgetattr(terminal) == before
