"""The processes that compute for a server, as the system sees them."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from samedeal_server.jobs.pool import WORKER
from support.stores import until


def computing(parent: int, worker: str = WORKER) -> list[int]:
    """The processes that compute for the server process `parent`."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (directory / "status").read_text()
            command = (directory / "cmdline").read_bytes()
            if f"\nPPid:\t{parent}\n" in status and worker.encode() in command:
                found.append(int(directory.name))
    return found


async def halted(parent: int) -> int:
    """The only process that computes for a server process, stopped before it can end its job."""
    await until(lambda: computing(parent))
    (pid,) = computing(parent)
    os.kill(pid, signal.SIGSTOP)
    return pid


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False
