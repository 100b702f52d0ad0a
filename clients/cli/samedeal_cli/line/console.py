"""The console of line mode: output above a prompt or as JSON, and lines of input that don't block the event loop."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from textwrap import wrap
from typing import Any, Final

import msgspec

from samedeal import codec
from samedeal.wire.messages import FromServer, Welcome
from samedeal_cli.render.text_width import cells

_AHEAD: Final = 64
"""Number of lines to read ahead."""
PROMPT: Final = "> "


class Console:
    """Standard input and output, with a prompt that stays below the output.

    On a terminal with GNU readline, the prompt has line editing and history. The unfinished line is known, so output
    can be written above it.
    """

    def __init__(self, *, silent: bool, prompts: bool, wrap_width: int | None) -> None:
        """`silent` writes nothing; `wrap_width` is the width at which sentences wrap, or None for never."""
        self._silent, self._prompts, self._wrap_width = silent, prompts and not silent, wrap_width
        self._prompt_shown = False
        """Whether the prompt is on the last line, with the unfinished input."""
        self._requested = threading.Semaphore(0)
        self._readline: Any = None

    def input_lines(self, words: Callable[[], Iterable[str]]) -> AsyncGenerator[str, None]:
        """The lines of standard input. The Tab key completes `words`."""
        self._readline = _readline() if self._prompts else None
        if self._readline is None:
            return threaded(_typed_lines())
        self._readline.parse_and_bind("set enable-bracketed-paste off")
        self._readline.parse_and_bind("tab: complete")
        self._readline.set_completer_delims(" ")
        self._readline.set_completer(
            lambda prefix, n: [*(word for word in words() if word.startswith(prefix)), None][n]
        )
        self._readline.set_pre_input_hook(partial(setattr, self, "_prompt_shown", True))
        return self._edited_lines()

    def write(self, *lines: str) -> None:
        """Write lines above the prompt and the unfinished input, if any."""
        if self._silent or not lines:
            return
        at_prompt = self._prompt_shown
        if at_prompt:
            sys.stdout.write("\r\x1b[K" if self._readline else "\r")
        for line in lines:
            sys.stdout.write(f"{self._wrapped(line)}\n")
        if at_prompt:
            sys.stdout.write(f"{PROMPT}{self._readline.get_line_buffer() if self._readline else ''}")
        sys.stdout.flush()

    def prompt(self) -> None:
        """Show the prompt for one more line."""
        if self._readline:
            self._requested.release()
        elif self._prompts:
            self._prompt_shown = True
            sys.stdout.write(PROMPT)
            sys.stdout.flush()

    def line_entered(self) -> None:
        """Handle Enter at the prompt."""
        self._prompt_shown = False

    def leave_prompt(self) -> None:
        """Leave the prompt. It is not shown again."""
        if self._prompt_shown:
            self._prompt_shown, self._readline = False, None
            sys.stdout.write("\n")
            sys.stdout.flush()

    async def _edited_lines(self) -> AsyncGenerator[str, None]:
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
            while self._requested.acquire():
                try:
                    line = input(PROMPT)
                finally:
                    self._prompt_shown = False
                yield line

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


def _typed_lines() -> Iterator[str]:
    """Yield the lines of standard input, a terminal, a pipe or a file, without their line ends."""
    rest = b""
    while data := _read():
        *whole, rest = (rest + data).split(b"\n")
        yield from (line.decode(errors="replace").rstrip("\r") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _readline() -> Any:
    """Return the readline module if there is a terminal and it is GNU readline, else None."""
    if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        with suppress(ImportError):
            readline: Any = import_module("readline")
            return readline if "GNU" in (readline.__doc__ or "") else None
    return None


def _read() -> bytes:
    try:
        return os.read(0, 65_536)
    except OSError:
        return b""


def print_message(message: FromServer) -> None:
    """Print a message as a line of JSON, without the secret token."""
    if isinstance(message, Welcome) and message.token:
        message = Welcome(re=message.re, player=message.player, name=message.name, server=message.server)
    _print_json(codec.encode(message, "json"))


def print_event(kind: str, **fields: object) -> None:
    """Print an event of this program; `kind` is its ``t``."""
    _print_json(msgspec.json.encode({"t": kind, **fields}))


def _print_json(line: bytes) -> None:
    sys.stdout.write(f"{line.decode()}\n")
    sys.stdout.flush()
