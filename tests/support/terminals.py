"""Programs on a pseudo-terminal."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from support.waiting import LIMIT_S


@contextmanager
def at_a_terminal(
    environment: Mapping[str, str], command: Sequence[str]
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Start a program on a new terminal; yield its process and our end of the terminal."""
    with new_terminal() as (ours, theirs):
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        try:
            yield process, ours
        finally:
            process.kill()
            process.wait()


@contextmanager
def new_terminal() -> Iterator[tuple[int, int]]:
    """Open a terminal, and yield its two ends: ours and that of a program."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def until(terminal: int, *wanted: str) -> str:
    """Read from the terminal until it shows one of the texts; return everything read."""
    text, end = b"", time.monotonic() + LIMIT_S
    while not any(each in text.decode(errors="replace") for each in wanted):
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, text
        text += os.read(terminal, 65_536)
    return text.decode(errors="replace")  # the output can end within a character


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
