"""Limits of a process that computes: low priority, bounded time and memory, and an end no later than its parent's."""

import os
import signal
import sys
from typing import Final

NICENESS: Final = 19
"""How far a computing process gives way to the server."""
MAX_MEMORY: Final = 2**30
"""The address space of a computing process, in bytes."""
PR_SET_PDEATHSIG: Final = 1


def limit_process(memory: int = MAX_MEMORY) -> None:
    """Lowers the priority of this process, bounds its memory in bytes, and ends it when its parent has died."""
    import resource  # unavailable on Windows

    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_with_parent()


def limit_cpu(seconds: int, grace_s: int | None = None) -> None:
    """Lets this process use so many more seconds of processor time; then it receives SIGXCPU.

    If it handles that signal, it is killed `grace_s` later; that limit cannot be raised again.
    """
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1] if grace_s is None else soft + grace_s
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _end_with_parent() -> None:
    """Has the system kill this process when its parent dies. Elsewhere than on Linux its limit of time ends it."""
    if sys.platform == "linux":
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the system was asked
            os._exit(1)
