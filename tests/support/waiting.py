"""Waiting for a condition: a test that waits in vain fails, and says what it waited for."""

import asyncio
import os
import time
from collections.abc import Callable
from inspect import getsource, isawaitable, isfunction

LIMIT_S = int(os.environ.get("TEST_LIMIT_S", "50"))
"""How long tests wait for one thing. Pytest ends a test that does not say how long it takes after 180 s. Measured tests
(see ``make coverage``) take several times as long, and wait longer."""


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait until a function returns something true, or an awaitable of it.

    Raises AssertionError after LIMIT_S, with a description of the condition, by default its source.
    """
    end = time.monotonic() + LIMIT_S
    while not (await value if isawaitable(value := condition()) else value):
        _check(end, condition, what)
        await asyncio.sleep(0.005)


def wait_until(condition: Callable[[], object], what: str = "") -> None:
    """Block until a function returns something true. Raises AssertionError as `until` does."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        _check(end, condition, what)
        time.sleep(0.01)


def _check(end: float, condition: Callable[[], object], what: str) -> None:
    if time.monotonic() > end:
        what = what or (getsource(condition).strip() if isfunction(condition) else repr(condition))
        raise AssertionError(f"not true within {LIMIT_S} s: {what}")
