"""Temporary servers: processes whose data is deleted when they stop."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from samedeal_cli.failure import Failure
from samedeal_cli.local_server import EVERYWHERE, is_free, lan_address, server_command
from samedeal_cli.settings import demo_file

START_S: Final = 30.0
"""Maximum time until the server accepts connections."""
STOP_S: Final = 15.0
POLL_S: Final = 0.05
MAX_PORTS: Final = 100
STARTED: Final = "samedeal serves at "
PORT_TAKEN: Final = "address already in use"
"""What the server logs when it has started, and when its port is taken."""


@dataclass(frozen=True)
class Server:
    """A running temporary server."""

    url: str
    """Its URL on this machine."""
    link: str
    """Its URL for other people."""
    port: int


@contextmanager
def temporary_server(port: int, *, lan: bool = False) -> Iterator[Server]:
    """Run a temporary server on the first free port, starting at `port`, which other commands of this account find."""
    host, shown = (EVERYWHERE, lan_address()) if lan else ("127.0.0.1", "127.0.0.1")
    directory = Path(tempfile.mkdtemp(prefix="samedeal-demo-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        for number in range(port, min(port + MAX_PORTS, 65536)):
            if not is_free(host, number):
                continue
            process = _start(host, number, f"http://{shown}:{number}", directory)
            if _wait_until_started(process, directory / "log"):
                server = Server(f"http://127.0.0.1:{number}", f"http://{shown}:{number}", number)
                with _advertised(server):
                    yield server
                return
            _stop(process)  # another program was faster
        raise Failure(f"no free port found, starting from {port}")
    finally:
        if process:
            _stop(process)
        shutil.rmtree(directory, ignore_errors=True)


def _start(host: str, port: int, public_url: str, directory: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SAMEDEAL_")}
    environment.pop("REDIS_URL", None)
    environment |= {
        "SAMEDEAL_DATA_DIR": str(directory / "data"),
        "SAMEDEAL_PUBLIC_URL": public_url,
        "SAMEDEAL_LOG_LEVEL": "warning",
    }
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603 (our own program)
            server_command(host, port),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C must not reach the server before our connections are closed
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )


def _die_with_parent() -> None:
    """Ask the kernel to terminate the server when this process dies."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _wait_until_started(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Return True once the server has started, or False if its port is taken. Raises Failure with its last output."""
    for _ in range(round(START_S / POLL_S)):
        output = _text(log)
        if STARTED in output:
            return True
        if process.poll() is not None:
            if PORT_TAKEN in output.lower():
                return False
            raise Failure(f"the server did not start: {(output.splitlines() or ['no output'])[-1]}")
        time.sleep(POLL_S)
    raise Failure(f"the server did not start within {START_S:.0f} s")


def _text(log: Path) -> str:
    return log.read_text(errors="replace").strip()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server and its child processes."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _advertised(server: Server) -> Iterator[None]:
    content = json.dumps({"url": server.url, "pid": os.getpid()})
    demo_file().write_text(content)
    try:
        yield
    finally:
        with suppress(OSError):
            if demo_file().read_text() == content:
                demo_file().unlink()
