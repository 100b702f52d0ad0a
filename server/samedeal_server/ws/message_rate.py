"""MessageRate: a token bucket for the messages of one connection."""

from collections.abc import Callable

from samedeal_server.ops import metrics


class MessageRate:
    """Delays messages beyond a rate. None is refused or lost: a flood only slows down its sender."""

    __slots__ = ("_burst", "_now_s", "_per_s", "_refilled_at_s", "_tokens")

    def __init__(self, per_s: float, burst: int, now_s: Callable[[], float]) -> None:
        """`burst` is the size of a full bucket."""
        self._per_s, self._burst, self._now_s = per_s, float(burst), now_s
        self._tokens = self._burst
        self._refilled_at_s = 0.0

    def delay_s(self) -> float:
        """Take a token. Return how many seconds to wait before handling the message; zero or less for no wait."""
        self._refill()
        self._tokens -= 1
        if self._tokens < 0:
            metrics.MESSAGES_DELAYED.inc()
        return -self._tokens / self._per_s

    def take(self) -> bool:
        """Take a token if the next message need not wait, and return whether it was taken."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self) -> None:
        now_s = self._now_s()
        self._tokens = min(self._burst, self._tokens + (now_s - self._refilled_at_s) * self._per_s)
        self._refilled_at_s = now_s
