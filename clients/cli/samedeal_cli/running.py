"""Running what is asynchronous: to its end, or until the program is told to end, with everything cleaned up before."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from samedeal_cli.failure import TERMINATED

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``; SIGTERM, and the terminal's going, cancel it, and the program ends with a code of its own."""
    told = asyncio.Event()
    try:
        result = asyncio.run(_until_told(main, told))
    except asyncio.CancelledError:
        if not told.is_set():
            raise
    if told.is_set():
        sys.exit(TERMINATED)
    return result


async def _until_told(main: Coroutine[Any, Any, T], told: asyncio.Event) -> T:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def end() -> None:
        told.set()
        if task:
            task.cancel()

    with suppress(NotImplementedError):  # not on Windows
        for number in filter(None, (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))):
            loop.add_signal_handler(number, end)
    return await main
