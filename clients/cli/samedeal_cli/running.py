"""Runs coroutines, with cleanup when the process is terminated or one of them has finished."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from samedeal_cli.failure import TERMINATED

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, but SIGTERM and SIGHUP cancel the coroutine and exit with TERMINATED."""
    terminated = asyncio.Event()
    try:
        result = asyncio.run(_cancel_on_signal(main, terminated))
    except asyncio.CancelledError:
        if not terminated.is_set():
            raise
    if terminated.is_set():
        sys.exit(TERMINATED)
    return result


async def first_of(*coroutines: Coroutine[Any, Any, T]) -> T:
    """Return the result of the coroutine that finishes first, in doubt of an earlier one, and cancel the others."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _cancel_on_signal(main: Coroutine[Any, Any, T], terminated: asyncio.Event) -> T:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def terminate() -> None:
        terminated.set()
        if task:
            task.cancel()

    with suppress(NotImplementedError):  # not on Windows
        for number in filter(None, (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))):
            loop.add_signal_handler(number, terminate)
    return await main
