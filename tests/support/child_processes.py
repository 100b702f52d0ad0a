"""The worker processes of a server."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from samedeal_server.work.pool import WORKER
from support.stores import until


def computing(parent: int, worker: str = WORKER) -> list[int]:
    """Return the worker processes of the server process `parent`."""
    pids = []
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (directory / "status").read_text()
            command = (directory / "cmdline").read_bytes()
            if f"\nPPid:\t{parent}\n" in status and worker.encode() in command:
                pids.append(int(directory.name))
    return pids


async def halted(parent: int) -> int:
    """Wait for a server's only worker process and stop it before it finishes its job."""
    await until(lambda: computing(parent))
    (pid,) = computing(parent)
    os.kill(pid, signal.SIGSTOP)
    return pid


def runs(pid: int) -> bool:
    """Return whether a process is running."""
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False
