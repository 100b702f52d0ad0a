"""Limits of worker processes: low priority, bounded CPU time and memory, and no longer life than the parent's."""

import os
import signal
import sys
from typing import Final

NICENESS: Final = 19
MAX_MEMORY: Final = 2**30
"""The address space of a worker process, in bytes."""
PR_SET_PDEATHSIG: Final = 1


def limit_process(memory: int = MAX_MEMORY) -> None:
    """Lower the priority of this process, limit its memory (in bytes), and end it when its parent dies."""
    import resource  # unavailable on Windows

    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_with_parent()


def limit_cpu(seconds: int, grace_s: int | None = None) -> None:
    """Allow this process that many more CPU seconds, after which it receives SIGXCPU.

    If it handles that signal, it is killed `grace_s` later; that limit cannot be raised again.
    """
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1] if grace_s is None else soft + grace_s
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _end_with_parent() -> None:
    """On Linux, have the kernel kill this process when its parent dies. Elsewhere, the CPU limit ends it."""
    if sys.platform == "linux":
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before the call
            os._exit(1)
