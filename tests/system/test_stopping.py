"""SIGTERM and SIGHUP stop a server at any time and within a time limit."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.request import urlopen

import pytest

from support.clusters import free_ports
from support.servers import Server
from support.waiting import LIMIT_S, until

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
from samedeal_server.live.registry import Registry

async def hang(registry):
    await asyncio.Event().wait()

Registry.stop = hang
program.STOP_S = 0.5
program.main()
"""
STUCK = """
import asyncio
from samedeal_server import __main__ as program

async def ignore_cancellation():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def fail(server, sockets=None):
    server.task = asyncio.ensure_future(ignore_cancellation())
    await asyncio.sleep(0)
    raise OSError("it does not start")

program._Server.startup = fail
program.STOP_S = 0.5
program.main()
"""
WORKER = "from samedeal_server.__main__ import main; main()"
AS_WORKER = ("--worker", "1", "--sockets", "/nowhere")


class ProgramServer(Server):
    """Runs a given program as a server and captures its output."""

    @contextmanager
    def run(self, program: str, *arguments: str, stderr: int = subprocess.PIPE) -> Iterator["subprocess.Popen[str]"]:
        """Start the program without waiting for it, and wait for its end afterwards."""
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", program, "--port", "0", *arguments]
        with subprocess.Popen(command, env=self._env, stdin=pipe, stdout=pipe, stderr=stderr, text=True) as process:
            try:
                yield process
                process.wait(LIMIT_S)
            finally:
                process.kill()


@pytest.mark.parametrize(("name", "arguments"), [("SIGHUP", ()), ("SIGTERM", AS_WORKER)])
def test_signal_during_startup_stops_the_server(name: str, arguments: tuple[str, ...], redis_url: str) -> None:
    with ProgramServer(redis_url).run(SIGNAL_AT_STARTUP.format(signal=name), *arguments) as process:
        pass
    assert process.returncode == 0


def test_server_under_nohup_ignores_sighup(redis_url: str) -> None:
    with ProgramServer(redis_url).run(IGNORING_SIGHUP) as process:
        assert process.stdout
        url = process.stdout.readline().split()[-1]
        process.send_signal(signal.SIGHUP)
        with urlopen(f"{url}/readyz", timeout=LIMIT_S) as response:
            assert response.status == 200
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


@pytest.mark.parametrize("arguments", [(), AS_WORKER])
def test_hanging_shutdown_writes_a_traceback_and_exits(arguments: tuple[str, ...], redis_url: str) -> None:
    with ProgramServer(redis_url).run(HANGING, *arguments) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        assert "http://" in process.stdout.readline()
        if arguments:
            process.stdin.close()  # as when the supervisor is killed
        else:
            process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 1
        assert "Timeout" in process.stderr.read()


def test_hanging_shutdown_ends_although_nobody_reads_the_traceback(redis_url: str) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    try:
        with ProgramServer(redis_url).run(HANGING, stderr=writing) as process:
            assert process.stdout
            assert "http://" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
    finally:
        os.close(reading)
        os.close(writing)
    assert process.returncode == -signal.SIGALRM


def test_a_worker_ends_although_a_task_survives_its_failed_start(redis_url: str) -> None:
    with ProgramServer(redis_url).run(STUCK, *AS_WORKER) as process:
        pass
    assert process.returncode == 1


async def test_a_worker_whose_supervisor_ends_before_it_serves_stops(redis_url: str) -> None:
    (port,) = free_ports(1)
    server = ProgramServer(redis_url)
    server.url = f"http://127.0.0.1:{port}"
    with server.run(WORKER, *AS_WORKER, "--port", f"{port}") as process:
        assert process.stdin
        assert process.stdout
        process.stdout.close()
        await until(lambda: is_ready(server))
        process.stdin.close()
        await asyncio.to_thread(process.wait, LIMIT_S)
    assert process.returncode == 0


def is_ready(server: Server) -> bool:
    try:
        return server.get("/readyz")[0] == 200
    except OSError:
        return False
