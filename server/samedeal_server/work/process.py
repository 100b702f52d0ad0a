"""Worker processes: the frames they exchange with the server, and limits on their priority, CPU time and memory."""

import os
import signal
import sys
from contextlib import suppress
from struct import Struct
from typing import Final, Literal

Task = Literal[
    "deal",
    "par",
    "play",
    "par-chart",
    "bot-move",
    "replay",
    "steps",
    "ghosts",
    "finished-race",
    "verify",
    "stored-replay",
    "qr",
    "ratings",
    "card",
    "card-png",
    "pace",
    "solution",
    "analysis",
    "solution-replay",
    "solution-steps",
    "advice",
    "board",
]
"""What a worker computes. Its function of the same name documents the input and the output."""
HEADER: Final = Struct(">cI")
"""The kind of a frame and the number of bytes that follow."""
JOB: Final = b"J"
"""To the worker: MessagePack of the task's name, the CPU seconds that it may use, and its question."""
PROGRESS: Final = b"P"
"""From the worker: the progress, in decimal digits."""
ANSWER: Final = b"A"
REFUSED: Final = b"R"
"""From the worker: MessagePack of the code and text of a refusal."""
FAILED: Final = b"F"
"""From the worker: why the job failed, in UTF-8. The worker can take the next job."""


def frame(kind: bytes, data: bytes) -> bytes:
    """Encode a frame."""
    return HEADER.pack(kind, len(data)) + data


SOON: Final = 10
"""The niceness of jobs that people wait for. Next to busy programs, a higher value would delay a one-second job by half
a minute."""
LATER: Final = 19
"""The niceness of long computations."""
MAX_MEMORY: Final = 2**30
"""The address space of a worker process, in bytes."""
OUT_OF_MEMORY: Final = 12
"""The exit status of a process that exceeded its memory limit."""
PR_SET_PDEATHSIG: Final = 1


def lower_priority(pid: int, niceness: int, *, only_when_idle: bool = False) -> None:
    """Lower the priority of a process that has just been started, so that it does not delay the server.

    With `only_when_idle`, Linux runs it only on cores that are otherwise idle, which may be never: use it only for
    work that can be skipped.
    """
    with suppress(OSError):  # the process may have exited already, or a sandbox forbids it
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        if only_when_idle and hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def limit_process(memory: int) -> None:
    """Limit the memory of this process (in bytes), and end it when its parent dies."""
    import resource  # unavailable on Windows

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_with_parent()


def limit_cpu(seconds: int) -> None:
    """Allow this process that many more CPU seconds, after which it receives SIGXCPU."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _end_with_parent() -> None:
    """On Linux, have the kernel kill this process when its parent dies. Elsewhere, the CPU limit ends it."""
    if sys.platform == "linux":
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before the call
            os._exit(1)
