"""Typed: the lines of standard input as they come, read without holding anything else up."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, Self

_AHEAD: Final = 64
"""How many lines are read before they are wanted."""
PROMPT: Final = "> "


async def typed_lines() -> AsyncGenerator[str, None]:
    """Each line of standard input without its end, until there is no more.

    A thread of its own reads the bare descriptor, so that it neither blocks the loop nor the end of the process,
    whether standard input is a terminal, a pipe or a file.
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
            pass  # the loop is gone, and nobody listens any more

    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) is not None:
        room.release()
        yield line


class Editor:
    """A line at a terminal that is edited as in a shell, with the lines before it at hand; and what of it there is yet.

    So news can be written above a line that somebody is typing.
    """

    def __init__(self, readline: Any, words: Callable[[], Iterable[str]]) -> None:
        """`words` are those that the Tab key completes."""
        self._readline = readline
        self._wanted = threading.Semaphore(0)
        self.shown = False
        """Whether the prompt stands in the last line, with what is typed behind it."""
        readline.parse_and_bind("set enable-bracketed-paste off")
        readline.parse_and_bind("tab: complete")
        readline.set_completer_delims(" ")
        readline.set_completer(lambda begun, n: [*(word for word in words() if word.startswith(begun)), None][n])
        readline.set_pre_input_hook(self._show)

    @classmethod
    def here(cls, words: Callable[[], Iterable[str]]) -> Self | None:
        """An editor, if there is a terminal and a library that can do it."""
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
        """Lets one more line be typed."""
        self._wanted.release()

    async def lines(self) -> AsyncGenerator[str, None]:
        """Each line that was asked for, until there is no more. The terminal is as it was before, whatever happens."""
        import termios

        lines: asyncio.Queue[str | None] = asyncio.Queue()
        loop, before = asyncio.get_running_loop(), termios.tcgetattr(0)

        def read() -> None:
            line: str | None = ""
            with suppress(RuntimeError):  # the loop is gone, and nobody listens any more
                while line is not None:
                    self._wanted.acquire()
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
