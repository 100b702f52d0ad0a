"""Limits of a process that computes: low priority, bounded time and memory, and an end no later than its parent's."""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

NICENESS: Final = 19
"""How far a computing process gives way to the server."""
MAX_MEMORY: Final = 2**30
"""The address space of a computing process, in bytes."""
PR_SET_PDEATHSIG: Final = 1


def lower_priority(process: int, *, when_idle: bool = False) -> None:
    """Has a process that was just started give way to the server, from its first instruction on.

    With `when_idle`, Linux runs it only on cores that nothing else wants: nobody may wait for it with a time limit.
    """
    with suppress(OSError):  # it has ended already, or a sandbox forbids this
        os.setpriority(os.PRIO_PROCESS, process, NICENESS)
        if when_idle and hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(process, os.SCHED_IDLE, os.sched_param(0))


def limit_process(memory: int = MAX_MEMORY) -> None:
    """Bounds the memory of this process in bytes, and ends it when its parent has died."""
    import resource  # unavailable on Windows

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
