"""The clock of all races: that of Redis, so that all processes agree on the time."""

import time

from samedeal_server.store.connection import Store

MEASURED_EVERY_S = 5
_SAMPLES = 3


class Clock:
    """The time of Redis in milliseconds since 1970-01-01 UTC: the local monotonic clock plus a measured offset."""

    __slots__ = ("_offset_ms", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offset_ms = time.time_ns() // 1_000_000 - _steady_ms()

    def now(self) -> int:
        return _steady_ms() + self._offset_ms

    async def measure(self) -> None:
        """Measure the offset with the fastest of several requests. Raises Refused("store-unavailable")."""
        best_ms: int | None = None
        for _ in range(_SAMPLES):
            before = _steady_ms()
            seconds, micros = await self._store.ask("TIME")
            after = _steady_ms()
            if best_ms is None or after - before < best_ms:
                best_ms = after - before
                self._offset_ms = int(seconds) * 1000 + int(micros) // 1000 - (before + after) // 2


def _steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000
