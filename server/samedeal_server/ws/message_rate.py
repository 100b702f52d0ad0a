"""MessageRate: a token bucket for the messages of one connection."""

from collections.abc import Callable


class MessageRate:
    """Delays messages beyond a rate. None is refused or lost: a flood only slows down its sender."""

    def __init__(self, per_s: float, burst: int, now_s: Callable[[], float]) -> None:
        """`burst` is the size of a full bucket."""
        self._per_s, self._burst, self._now_s = per_s, float(burst), now_s
        self._tokens = self._burst
        self._refilled_at_s = 0.0

    def delay_s(self) -> float:
        """Take a token. Return how many seconds to wait before handling the message; zero or less for no wait."""
        now_s = self._now_s()
        refill = (now_s - self._refilled_at_s) * self._per_s
        self._tokens, self._refilled_at_s = min(self._burst, self._tokens + refill) - 1, now_s
        return -self._tokens / self._per_s
