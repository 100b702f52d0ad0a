"""Reads lines from standard input without blocking the event loop."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, Self

_AHEAD: Final = 64
"""Number of lines to read ahead."""
PROMPT: Final = "> "


async def typed_lines() -> AsyncGenerator[str, None]:
    """Yield the lines of standard input without their line ends.

    A daemon thread reads the file descriptor. It blocks neither the event loop nor the exit of the process, whether
    standard input is a terminal, a pipe or a file.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop, room = asyncio.get_running_loop(), threading.Semaphore(_AHEAD)

    def put(line: str | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        rest = b""
        try:
            while data := _read():
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    put(line.decode(errors="replace").rstrip("\r"))
            if rest:
                put(rest.decode(errors="replace"))
            put(None)
        except RuntimeError:
            pass  # the event loop is closed

    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) is not None:
        room.release()
        yield line


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

        lines: asyncio.Queue[str | None] = asyncio.Queue()
        loop, before = asyncio.get_running_loop(), termios.tcgetattr(0)

        def read() -> None:
            line: str | None = ""
            with suppress(RuntimeError):  # the event loop is closed
                while line is not None:
                    self._requested.acquire()
                    try:
                        line = input(PROMPT)
                    except (EOFError, OSError):
                        line = None
                    self.shown = False
                    loop.call_soon_threadsafe(lines.put_nowait, line)

        threading.Thread(target=read, daemon=True).start()
        try:
            while (line := await lines.get()) is not None:
                yield line
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def _show(self) -> None:
        self.shown = True


def _read() -> bytes:
    try:
        return os.read(0, 65_536)
    except OSError:
        return b""
