"""The clock of all races: that of Redis, so that all processes agree on the time.

A clock that is set while races run neither ends nor holds them: each race keeps the clock that it was opened with.
"""

import logging
import time

from samedeal_server.net import metrics
from samedeal_server.store.connection import Store

logger = logging.getLogger(__name__)

MEASURED_EVERY_S = 5
STEP_MS = 2_000
"""A larger change between two measurements means that the clock was set, rather than that it drifts (ms)."""
_SAMPLES = 3


class Clock:
    """The time of Redis in milliseconds since 1970-01-01 UTC: the local monotonic clock plus a measured offset."""

    __slots__ = ("_is_measured", "_last_step", "_offset_ms", "_store", "stepped_ms")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offset_ms = time.time_ns() // 1_000_000 - _steady_ms()
        self._is_measured = False
        self._last_step = 0, 0  # the times before and after it
        self.stepped_ms = 0
        """How far the clock was set forward in total, since the first measurement (ms)."""

    def now(self) -> int:
        return _steady_ms() + self._offset_ms

    @property
    def behind_ms(self) -> int:
        """How far the store's clock is ahead of this one because it was set (ms)."""
        return 0

    def reach(self, at: int) -> int:
        """Return the time, but not a time before ``at``."""
        return max(self.now(), at)

    async def measure(self) -> None:
        """Measure the offset with the fastest of several requests. Raises Refused("store-unavailable")."""
        best_ms, offset_ms = min([await _measured(self._store) for _ in range(_SAMPLES)])
        change_ms = offset_ms - self._offset_ms
        if self._is_measured and abs(change_ms) > STEP_MS + best_ms:
            logger.warning("the store's clock was set by %+.1f s; races keep their time", change_ms / 1000)
            metrics.CLOCK_STEPS.inc()
            self._last_step = self.now(), self.now() + change_ms
            self.stepped_ms += change_ms
        self._offset_ms, self._is_measured = offset_ms, True

    def stepped_since(self, at: int) -> int:
        """Return how far the clock was last set forward, if that was after a race had its newest entry at ``at``."""
        before, after = self._last_step
        return max(0, after - before) if at < (before + after) // 2 else 0


class RaceClock(Clock):
    """The clock of one race: that of the store as it was when the race was opened, if it has been set since."""

    __slots__ = ("_base_ms", "_clock")

    def __init__(self, clock: Clock, behind_ms: int = 0) -> None:
        """`behind_ms` is how far `clock` is ahead of the race's."""
        self._clock = clock
        self._base_ms = clock.stepped_ms - behind_ms

    @property
    def behind_ms(self) -> int:
        behind_ms = self._clock.stepped_ms - self._base_ms
        return behind_ms if abs(behind_ms) > STEP_MS else 0

    def now(self) -> int:
        return self._clock.now() - self._clock.stepped_ms + self._base_ms

    def reach(self, at: int) -> int:
        """Return the time, after setting a clock that is behind to ``at``: the log has the true time of a race."""
        if (late_ms := at - self.now()) > 0:
            self._base_ms += late_ms
        return max(self.now(), at)

    async def measure(self) -> None:
        await self._clock.measure()


async def ahead_ms(store: Store) -> int:
    """Return how far the clock of a store is ahead of this machine's. Raises Refused("store-unavailable")."""
    _, offset_ms = await _measured(store)
    return _steady_ms() + offset_ms - time.time_ns() // 1_000_000


async def _measured(store: Store) -> tuple[int, int]:
    """Return how long a request for the time took, and how far the store's clock is ahead of the steady one (ms)."""
    before = _steady_ms()
    seconds, micros = await store.ask("TIME")
    after = _steady_ms()
    return after - before, int(seconds) * 1000 + int(micros) // 1000 - (before + after) // 2


def _steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000
