"""Standard streams that are closed, that nobody reads, or whose reader has gone."""

import os
import platform
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from support.clusters import free_ports
from support.servers import Server
from support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.tier(2)

WRITE = {"x86_64": "1", "aarch64": "64"}.get(platform.machine(), "write")
"""The number of the system call ``write``."""
NOBODY = "http://127.0.0.1:1"


class StreamServer(Server):
    """A server with given standard streams. It logs every request."""

    def __init__(self, redis_url: str) -> None:
        super().__init__(redis_url, access_log="on", log_records_per_minute="0")

    @contextmanager
    def run(self, redirections: str = "", **streams: Any) -> Iterator["subprocess.Popen[str]"]:
        """Start the server from a shell with redirections, or with streams, and wait until it is ready or has ended."""
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        program = " ".join(self.program)
        command = ["sh", "-c", f'exec "$0" {program} --port {port} {redirections}', sys.executable]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL) | streams
        with subprocess.Popen(command, env=self._env, text=True, **streams) as process:
            try:
                wait_until(lambda: self._is_ready() or process.poll() is not None)
                yield process
            finally:
                process.kill()

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False


def target(pid: int, descriptor: int) -> str:
    """Return what an open descriptor of a process refers to; nothing if it is closed."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except OSError:
        return ""


@pytest.mark.parametrize("closed", [(0, 1, 2), (1,)], ids=str)
def test_server_opens_closed_streams_and_stops_when_told(closed: tuple[int, ...], redis_url: str) -> None:
    with StreamServer(redis_url).run(" ".join(f"{descriptor}>&-" for descriptor in closed)) as process:
        assert process.poll() is None, "the server has ended"
        assert {target(process.pid, descriptor) for descriptor in closed} == {"/dev/null"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize(
    ("words", "closed"),
    [("join calm-otter-42", 0), ("rules corners", 1)],
)
def test_commands_run_with_a_closed_stream(words: str, closed: int, tmp_path: Path) -> None:
    command = f'exec "$0" -m samedeal_cli.main {words} {closed}>&-'
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "SAMEDEAL_SERVER": NOBODY}
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], env=os.environ | home, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert "unexpected" not in done.stderr


def test_server_survives_the_end_of_the_program_that_reads_its_log(redis_url: str) -> None:
    server = StreamServer(redis_url)
    with server.run(stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stderr.close()
        assert [server.get("/healthz")[0] for _ in range(5)] == [200] * 5
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0


def test_server_answers_and_stops_although_nobody_reads_its_terminal(redis_url: str) -> None:
    ours, theirs = pty.openpty()
    try:
        server = StreamServer(redis_url)
        with (
            server.run(stdin=theirs, stdout=theirs, stderr=theirs) as process,
            closing(HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)) as connection,
        ):
            for _ in range(400):  # a terminal holds at most 64 KiB
                connection.request("GET", "/healthz")
                wait_for_answer(connection, process.pid)
                assert connection.getresponse().read()
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 0
    finally:
        os.close(ours)
        os.close(theirs)


def wait_for_answer(connection: HTTPConnection, pid: int) -> None:
    """Wait until an answer arrives. Fails as soon as the server's main thread does nothing but wait in a write."""
    end, writing = time.monotonic() + LIMIT_S, 0
    while not select.select([connection.sock], [], [], 0.05)[0]:
        call = Path(f"/proc/{pid}/syscall").read_text().split()[0]
        writing = writing + 1 if call == WRITE else 0
        assert writing < 20, "the server waits for somebody to read its log"
        assert time.monotonic() < end
