"""Counters: how many instructions a server executes in user mode, counted by the processor or by valgrind."""

import ctypes
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Protocol

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
"""The number of the system call."""
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"
SLOWDOWN = 50
"""About how many times slower a server runs under valgrind. Its clock runs as much slower, so that group commits are as
large as usual, and that what is done a few times per second does not outweigh the moves."""
CONTROL_S = 60.0
"""Timeout for starting and stopping to count (s)."""


class Counter(Protocol):
    """Counts the instructions of a server."""

    title: str
    prefix: Sequence[str]
    """What precedes the server's command."""
    env: Mapping[str, str]
    """Environment variables of the server."""

    def start(self, pid: int) -> None:
        """Start counting the instructions of a process and all its threads."""

    def stop(self) -> int:
        """Stop counting, and return the number of instructions."""


class Processor:
    """The processor's counters. Raises OSError where there are none."""

    title = "the processor"
    prefix: Sequence[str] = ()

    def __init__(self) -> None:
        self.env: Mapping[str, str] = {}
        os.close(_open_counter(0))
        self._files: list[int] = []

    def start(self, pid: int) -> None:
        self._files = [_open_counter(int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir()]

    def stop(self) -> int:
        total = sum(int.from_bytes(os.read(file, 8), sys.byteorder) for file in self._files)
        for file in self._files:
            os.close(file)
        return total


def _open_counter(task: int) -> int:
    """Count the user instructions of a thread and of threads that it starts. 0 is this thread."""
    kind, size, config = 0, 64, 1  # PERF_TYPE_HARDWARE, PERF_ATTR_SIZE_VER0, PERF_COUNT_HW_INSTRUCTIONS
    flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR
    attributes = struct.pack("=IIQQQQQQQ", kind, size, config, 0, 0, 0, flags, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    file: int = libc.syscall(PERF_EVENT_OPEN.get(platform.machine(), -1), attributes, task, -1, -1, 0)
    if file < 0:
        raise OSError(ctypes.get_errno(), "the processor's counters are not available")
    return file


class Valgrind:
    """Valgrind's callgrind, which is started with the server. Raises OSError if it is not installed."""

    title = "valgrind"

    def __init__(self, folder: Path) -> None:
        libraries = glob(FAKETIME)
        if not shutil.which("valgrind") or not libraries:
            raise FileNotFoundError("valgrind and faketime are not installed")
        self._file = folder / "callgrind"
        self._pid = 0
        self.env: Mapping[str, str] = {"LD_PRELOAD": libraries[0], "FAKETIME": f"+0 x{1 / SLOWDOWN}"}
        self.prefix: Sequence[str] = (
            "valgrind",
            "-q",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={self._file}",
        )

    def start(self, pid: int) -> None:
        self._pid = pid
        self._control("--instr=on")

    def stop(self) -> int:
        self._control("--dump")
        (dump,) = self._file.parent.glob(f"{self._file.name}.*")
        found = re.search(r"^totals: (\d+)$", dump.read_text(), re.MULTILINE)
        if not found:
            raise RuntimeError(f"valgrind counted nothing: {dump.read_text()[-500:]}")
        return int(found[1])

    def _control(self, option: str) -> None:
        command = ["callgrind_control", option, f"{self._pid}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=CONTROL_S, check=False)
        if "OK" not in done.stdout:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")


def counter_for(folder: Path) -> Counter:
    """Return the processor's counters, or valgrind with its files in `folder`. Raises OSError if there are neither."""
    try:
        return Processor()
    except OSError:
        return Valgrind(folder)


def counted_by() -> str:
    """Return what counts instructions here, or an empty string."""
    try:
        return counter_for(Path()).title
    except OSError:
        return ""
