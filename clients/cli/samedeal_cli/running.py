"""Runs coroutines, with cleanup when the process is terminated or one of them has finished."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Timer
from typing import Any, Final, TypeVar

from samedeal_cli.failure import TERMINATED

T = TypeVar("T")

GRACE_S: Final = 5.0
"""How long the event loop may take to react to a request to end (s)."""
AGAIN_S: Final = 0.5
"""How much longer it may take after another request (s)."""


class WayOut:
    """Ends the process on request, even while its event loop is blocked."""

    def __init__(self, restore: Callable[[], None] = lambda: None, *, patient: bool = False) -> None:
        """`restore` restores the terminal. It is called in another thread. With `patient`, wait for the event loop
        however long it is blocked, so that what is running can delete its files.
        """
        self._restore, self._patient = restore, patient
        self._reacted = True  # not an Event: a signal handler that waits for its lock could wait for ever

    def request(self, code: int, loop: asyncio.AbstractEventLoop, react: Callable[[], None] = lambda: None) -> None:
        """Call `react` in the event loop, or exit with `code` if that takes GRACE_S or, after another request, AGAIN_S.

        Call this in another thread than the event loop's, or in a signal handler, which runs while the loop is blocked.
        """
        wait_s = GRACE_S if self._reacted else AGAIN_S
        self._reacted = False
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._react, react)
        timer = Timer(wait_s, self._leave_if_blocked, (code,))
        timer.daemon = True
        timer.start()

    def _react(self, react: Callable[[], None]) -> None:
        self._reacted = True
        react()

    def _leave_if_blocked(self, code: int) -> None:
        if not (self._patient or self._reacted):
            self._restore()
            os._exit(code)


def run(main: Coroutine[Any, Any, T], way_out: WayOut | None = None) -> T:
    """Like ``asyncio.run``, but SIGTERM and SIGHUP cancel the coroutine and exit with TERMINATED.

    If SIGHUP is ignored, as by ``nohup``, it stays ignored.
    """
    terminated = asyncio.Event()
    try:
        result = asyncio.run(_cancel_on_signal(main, terminated, way_out or WayOut()))
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


async def _cancel_on_signal(main: Coroutine[Any, Any, T], terminated: asyncio.Event, way_out: WayOut) -> T:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def terminate() -> None:
        terminated.set()
        if task:
            task.cancel()

    # Windows has no such signals.
    ending = () if sys.platform == "win32" else (signal.SIGTERM, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in ending if signal.getsignal(number) != signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, lambda *_: way_out.request(TERMINATED, loop, terminate))
    try:
        return await main
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
