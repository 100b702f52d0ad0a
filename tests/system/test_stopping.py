"""SIGTERM and SIGHUP stop a server at any time and within a time limit."""

import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

SIGNAL_AT_STARTUP = """
import os, signal
from samedeal_server import __main__ as program

def stop():
    os.kill(os.getpid(), signal.{signal})

program._tune_gc = stop  # called just before uvicorn installs its signal handlers
program.main()
"""
IGNORING_SIGHUP = """
import signal
from samedeal_server.__main__ import main
signal.signal(signal.SIGHUP, signal.SIG_IGN)
main()
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


class ProgramServer(Server):
    """Runs a given program as a server and captures its output."""

    def run(self, program: str, *arguments: str) -> "subprocess.Popen[str]":
        """Start the program without waiting for it."""
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", program, "--port", "0", *arguments]
        return subprocess.Popen(command, env=self._env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("arguments", [(), ("--worker", "1", "--sockets", "/nowhere")])
def test_signal_during_startup_stops_the_server(name: str, arguments: tuple[str, ...], redis_url: str) -> None:
    with ProgramServer(redis_url).run(SIGNAL_AT_STARTUP.format(signal=name), *arguments) as process:
        try:
            process.wait(LIMIT_S)
        finally:
            process.kill()
    assert process.returncode == 0


def test_server_under_nohup_ignores_sighup(redis_url: str) -> None:
    with ProgramServer(redis_url).run(IGNORING_SIGHUP) as process:
        assert process.stdout
        try:
            url = process.stdout.readline().split()[-1]
            process.send_signal(signal.SIGHUP)
            with urlopen(f"{url}/readyz", timeout=LIMIT_S) as response:
                assert response.status == 200
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT_S)
        finally:
            process.kill()
    assert process.returncode == 0


def test_hanging_shutdown_writes_a_traceback_and_exits(redis_url: str) -> None:
    with ProgramServer(redis_url).run(HANGING) as process:
        assert process.stdout
        assert process.stderr
        try:
            assert "http://" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT_S)
        finally:
            process.kill()
        assert process.returncode == 1
        assert "Timeout" in process.stderr.read()
