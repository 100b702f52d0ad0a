"""Typed: the lines of standard input as they come, read without holding anything else up."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from typing import Final

_AHEAD: Final = 64
"""How many lines are read before they are wanted."""


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


def _read() -> bytes:
    try:
        return os.read(0, 65_536)
    except OSError:
        return b""
