"""Reads lines from standard input without blocking the event loop."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, Self

_AHEAD: Final = 64
"""Number of lines to read ahead."""
PROMPT: Final = "> "


async def threaded(lines: Iterable[str]) -> AsyncGenerator[str, None]:
    """Yield items from an iterator that blocks.

    A daemon thread runs it, which blocks neither the event loop nor the exit of the process.
    """
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    loop, room = asyncio.get_running_loop(), threading.Semaphore(_AHEAD)

    def run() -> None:
        with suppress(RuntimeError):  # the event loop is closed
            for line in lines:
                room.acquire()
                loop.call_soon_threadsafe(queue.put_nowait, line)
            loop.call_soon_threadsafe(queue.put_nowait, None)

    threading.Thread(target=run, daemon=True).start()
    while (line := await queue.get()) is not None:
        room.release()
        yield line


def typed_lines() -> AsyncGenerator[str, None]:
    """Yield the lines of standard input, a terminal, a pipe or a file, without their line ends."""

    def lines() -> Iterator[str]:
        rest = b""
        while data := _read():
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
        if rest:
            yield rest.decode(errors="replace")

    return threaded(lines())


class Editor:
    """A prompt at a terminal with line editing and history.

    It knows the unfinished line, so that output can be written above it.
    """

    def __init__(self, readline: Any, words: Callable[[], Iterable[str]]) -> None:
        """The Tab key completes `words`."""
        self._readline = readline
        self._requested = threading.Semaphore(0)
        self.shown = False
        """Whether the prompt is shown on the last line, with the unfinished input."""
        readline.parse_and_bind("set enable-bracketed-paste off")
        readline.parse_and_bind("tab: complete")
        readline.set_completer_delims(" ")
        readline.set_completer(lambda prefix, n: [*(word for word in words() if word.startswith(prefix)), None][n])
        readline.set_pre_input_hook(self._show)

    @classmethod
    def here(cls, words: Callable[[], Iterable[str]]) -> Self | None:
        """Return an editor if there is a terminal and GNU readline."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
            return None
        try:
            readline: Any = import_module("readline")
        except ImportError:
            return None
        return cls(readline, words) if "GNU" in (readline.__doc__ or "") else None

    @property
    def typed(self) -> str:
        return str(self._readline.get_line_buffer())

    def ask(self) -> None:
        """Show the prompt for one more line."""
        self._requested.release()

    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield the requested lines. Restores the terminal at the end."""
        import termios

        before = termios.tcgetattr(0)
        try:
            async for line in threaded(self._input_lines()):
                yield line
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def _input_lines(self) -> Iterator[str]:
        with suppress(EOFError, OSError):
            while True:
                self._requested.acquire()
                try:
                    line = input(PROMPT)
                finally:
                    self.shown = False
                yield line

    def _show(self) -> None:
        self.shown = True


def _read() -> bytes:
    try:
        return os.read(0, 65_536)
    except OSError:
        return b""
