"""Stopping: SIGTERM ends a server whenever it comes, and within a bounded time whatever hangs."""

import signal
import subprocess
import sys

import pytest

from support.servers import Server

AT_THE_WORST_MOMENT = """
import os, signal
from samedeal_server import __main__ as program

def stop():
    os.kill(os.getpid(), signal.SIGTERM)

program._tune_gc = stop  # called just before uvicorn installs its signal handlers
program.main()
"""
HANGING = """
import asyncio
from samedeal_server import __main__ as program
from samedeal_server.races.registry import Registry

async def hang(registry):
    await asyncio.Event().wait()

Registry.stop = hang
program.STOP_S = 0.5
program.main()
"""


class Started(Server):
    """A server process that runs a given program and whose output is kept."""

    def run(self, program: str, *arguments: str) -> "subprocess.Popen[str]":
        """Starts it and returns at once."""
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", program, "--port", "0", *arguments]
        return subprocess.Popen(command, env=self._env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("arguments", [(), ("--worker", "1")])
def test_sigterm_stops_a_server_that_is_about_to_serve(arguments: tuple[str, ...], redis_url: str) -> None:
    with Started(redis_url).run(AT_THE_WORST_MOMENT, *arguments) as process:
        try:
            process.wait(30)
        finally:
            process.kill()
    assert process.returncode == 0


def test_a_server_that_hangs_while_it_stops_says_where_and_exits(redis_url: str) -> None:
    with Started(redis_url).run(HANGING) as process:
        assert process.stdout
        assert process.stderr
        try:
            assert "http://" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        finally:
            process.kill()
        assert process.returncode == 1
        assert "Timeout" in process.stderr.read()
