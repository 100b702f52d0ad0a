"""The console of line mode: lines of output above a prompt, and lines of input that don't block the event loop."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from textwrap import wrap
from typing import Any, Final, Self

from samedeal_cli.render.text_width import cells

_AHEAD: Final = 64
"""Number of lines to read ahead."""
PROMPT: Final = "> "


class Console:
    """Standard input and output, with a prompt that stays below the output."""

    def __init__(self, *, silent: bool, prompts: bool, wrap_width: int | None) -> None:
        """`silent` writes nothing; `wrap_width` is the width at which sentences wrap, or None for never."""
        self._silent, self._prompts, self._wrap_width = silent, prompts and not silent, wrap_width
        self._prompt_shown = False
        self._editor: Editor | None = None

    def input_lines(self, words: Callable[[], Iterable[str]]) -> AsyncGenerator[str, None]:
        """The lines of standard input. The Tab key completes `words`."""
        self._editor = Editor.here(words) if self._prompts else None
        return self._editor.lines() if self._editor else typed_lines()

    def write(self, *lines: str) -> None:
        """Write lines above the prompt and the unfinished input, if any."""
        if self._silent or not lines:
            return
        at_prompt = self._at_prompt
        if at_prompt:
            sys.stdout.write("\r\x1b[K" if self._editor else "\r")
        for line in lines:
            sys.stdout.write(f"{self._wrapped(line)}\n")
        if at_prompt:
            sys.stdout.write(f"{PROMPT}{self._editor.typed if self._editor else ''}")
        sys.stdout.flush()

    def prompt(self) -> None:
        if self._editor:
            self._editor.ask()
        elif self._prompts:
            self._prompt_shown = True
            sys.stdout.write(PROMPT)
            sys.stdout.flush()

    def line_entered(self) -> None:
        """Handle Enter at the prompt."""
        self._prompt_shown = False

    def leave_prompt(self) -> None:
        """Leave the prompt. It is not shown again."""
        if self._at_prompt:
            self._prompt_shown, self._editor = False, None
            sys.stdout.write("\n")
            sys.stdout.flush()

    @property
    def _at_prompt(self) -> bool:
        return self._editor.shown if self._editor else self._prompt_shown

    def _wrapped(self, line: str) -> str:
        """Break a long sentence between words. Links and deal codes stay whole."""
        if self._wrap_width is None or "\x1b" in line or cells(line) <= self._wrap_width:
            return line
        broken = wrap(line, self._wrap_width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join(broken)


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
