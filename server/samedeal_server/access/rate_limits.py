"""Rate limits of client addresses."""

import math
import time
from collections.abc import Callable
from typing import Final

from samedeal_server.access.network import network
from samedeal_server.ops.refusals import Limit, too_many
from samedeal_server.settings import Settings

MAX_REMEMBERED = 10_000
"""How many addresses each limit tracks."""
PROMPT = 50.0
"""How many request tokens an address gets without delay: enough to load the page and join a race."""
MAX_DELAY_S: Final = 4.0
"""The delay for the last token of a full bucket: less than a handshake may take."""


class RateLimit:
    """A token bucket for each address."""

    def __init__(
        self,
        what: str,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        burst: int | None = None,
        prompt: float = math.inf,
        limit: Limit = "other",
    ) -> None:
        """`what` names the tokens in refusals; 0 per minute disables the limit. `burst` is the capacity of the bucket.

        `prompt` is how many tokens are granted without delay. Beyond that the delay grows, up to MAX_DELAY_S for the
        last token of a full bucket. `limit` is the name in the metrics.
        """
        self._what, self._per_s, self._clock, self._prompt = what, per_minute / 60, clock, prompt
        self._limit: Limit = limit
        self._full = float(per_minute if burst is None else burst)
        self._left: dict[str, tuple[float, float]] = {}  # tokens left, and the time of the last request, by network

    def take(self, address: str, count: int = 1) -> float:
        """Take tokens and return by how many seconds to delay the request.

        Raises Refused("too-many") if there are too few tokens, without taking any.
        """
        if not self._per_s:
            return 0.0
        key, now = network(address), self._clock()
        left, at = self._left.get(key, (self._full, now))
        left = min(self._full, left + (now - at) * self._per_s)
        if left < count:
            wait_s = math.ceil((count - left) / self._per_s)
            text = f"Too many {self._what} from this address; try again in {wait_s} s."
            raise too_many(self._limit, text, address, retry_after_s=wait_s)
        self._store(key, left - count, now)
        late = self._full - left + count - self._prompt
        return MAX_DELAY_S * late / (self._full - self._prompt) if late > 0 else 0.0

    def _store(self, key: str, left: float, now: float) -> None:
        """Store the tokens left, and forget the least recently used address if there are too many."""
        self._left.pop(key, None)
        self._left[key] = left, now
        if len(self._left) > MAX_REMEMBERED:
            del self._left[next(iter(self._left))]


class RateLimits:
    """The rate limits of the server."""

    def __init__(self, settings: Settings) -> None:
        self.requests = RateLimit(
            "requests",
            settings.requests_per_second * 60,
            burst=settings.request_burst,
            prompt=PROMPT,
            limit="requests_per_second",
        )
        self.races = RateLimit("new races", settings.races_per_minute, limit="races_per_minute")
        self.guests = RateLimit("new guests", settings.guests_per_minute, limit="guests_per_minute")
        self.wrong_tokens = RateLimit(
            "unknown tokens and codes", settings.wrong_tokens_per_minute, limit="wrong_tokens_per_minute"
        )
