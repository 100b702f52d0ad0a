"""Allowances: how much of what costs the server something one address may ask for in a minute."""

import time
from collections.abc import Callable

from samedeal.errors import Refused
from samedeal_server.addresses import network
from samedeal_server.settings import Settings

MOST_REMEMBERED = 10_000


class Allowance:
    """So many a minute for each address, if need be all at once."""

    def __init__(self, what: str, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`what` is told to those who have had enough; 0 a minute is any number."""
        self._what, self._per_minute, self._clock = what, per_minute, clock
        self._left: dict[str, tuple[float, float]] = {}  # how many were left, and when, of those who took some lately

    def take(self, address: str) -> None:
        """Takes one. Raises Refused("too-many") where none is left."""
        if not self._per_minute:
            return
        key, now = network(address), self._clock()
        left = self._left_of(key, now)
        if left < 1:
            raise Refused("too-many", f"Too many {self._what} from this address; wait a minute.")
        self._note(key, left - 1, now)

    def give_back(self, address: str) -> None:
        """Gives back one that was taken and was not needed."""
        if self._per_minute:
            key, now = network(address), self._clock()
            self._note(key, self._left_of(key, now) + 1, now)

    def _left_of(self, key: str, now: float) -> float:
        left, at = self._left.get(key, (float(self._per_minute), now))
        return min(float(self._per_minute), left + (now - at) * self._per_minute / 60)

    def _note(self, key: str, left: float, now: float) -> None:
        """Whoever has not been here for longest is forgotten when there are too many: that bounds the memory."""
        self._left.pop(key, None)
        self._left[key] = left, now
        if len(self._left) > MOST_REMEMBERED:
            del self._left[next(iter(self._left))]


class Allowances:
    """All that there are. A server behind a proxy knows no addresses, and has none."""

    def __init__(self, settings: Settings) -> None:
        known = settings.connections_per_address > 0
        self.races = Allowance("new races", settings.races_per_minute * known)
        self.guests = Allowance("new guests", settings.guests_per_minute * known)
        self.wrong_tokens = Allowance("unknown tokens", settings.wrong_tokens_per_minute * known)
