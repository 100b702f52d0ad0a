"""Allowances: how much of what costs the server something one address may ask for in a minute."""

import math
import time
from collections.abc import Callable
from typing import Final

from samedeal.errors import Refused
from samedeal_server.addresses import network
from samedeal_server.settings import Settings

MOST_REMEMBERED = 10_000
PROMPT: Final = 50
"""How many request tokens one address is granted at once: enough to load the page and to join a race."""
MAX_DELAY_S: Final = 4.0
"""How long the use of the last token of a full bucket is delayed: less than a handshake may take."""


class Allowance:
    """A token bucket for each address."""

    def __init__(
        self,
        what: str,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        burst: int | None = None,
        prompt: float = math.inf,
    ) -> None:
        """`what` names the tokens in refusals; 0 per minute lifts the limit. `burst` is the size of a full bucket.

        The use of the first `prompt` tokens is not delayed, that of the last one by MAX_DELAY_S; see ``take``.
        """
        self._what, self._per_s, self._clock, self._prompt = what, per_minute / 60, clock, prompt
        self._full = float(per_minute if burst is None else burst)
        self._left: dict[str, tuple[float, float]] = {}  # how many were left, and when, of those who took some lately

    def take(self, address: str, count: int = 1) -> float:
        """Takes tokens, and returns for how many seconds their use should be delayed.

        Raises Refused("too-many") without taking any if there are too few.
        """
        if not self._per_s:
            return 0.0
        key, now = network(address), self._clock()
        left, at = self._left.get(key, (self._full, now))
        left = min(self._full, left + (now - at) * self._per_s)
        if left < count:
            wait_s = math.ceil((count - left) / self._per_s)
            text = f"Too many {self._what} from this address; try again in {wait_s} s."
            raise Refused("too-many", text, retry_after_s=wait_s)
        self._note(key, left - count, now)
        late = self._full - left + count - self._prompt
        return MAX_DELAY_S * late / (self._full - self._prompt) if late > 0 else 0.0

    def _note(self, key: str, left: float, now: float) -> None:
        """Whoever has not been here for longest is forgotten when there are too many: that bounds the memory."""
        self._left.pop(key, None)
        self._left[key] = left, now
        if len(self._left) > MOST_REMEMBERED:
            del self._left[next(iter(self._left))]


class Allowances:
    """All that there are."""

    def __init__(self, settings: Settings) -> None:
        self.requests = Allowance(
            "requests", settings.requests_per_second * 60, burst=settings.request_burst, prompt=PROMPT
        )
        self.races = Allowance("new races", settings.races_per_minute)
        self.guests = Allowance("new guests", settings.guests_per_minute)
        self.wrong_tokens = Allowance("unknown tokens", settings.wrong_tokens_per_minute)
