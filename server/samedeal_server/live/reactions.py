"""Reactions: what racers send each other besides the log, to the listeners of one race. They can be lost."""

from collections.abc import Callable
from typing import Final

from samedeal.wire.messages import Reaction
from samedeal_server.net.limits import too_many

INTERVAL_MS: Final = 1_000
"""Minimum interval between the reactions of a seat (ms)."""
MAX_AGE_MS: Final = 5_000
"""Reactions that arrive later than this from another process are dropped (ms)."""

OnReaction = Callable[[Reaction], None]
"""Handles a reaction. Must return immediately and must not raise."""


class Reactions:
    """The reactions in one race, from all processes."""

    def __init__(self) -> None:
        self._listeners = set[OnReaction]()
        self._sent_at = dict[int, int]()  # when each seat sent its newest reaction (ms)

    def add(self, listener: OnReaction) -> None:
        self._listeners.add(listener)

    def remove(self, listener: OnReaction) -> None:
        """Remove a listener if it is subscribed."""
        self._listeners.discard(listener)

    def check(self, seat: int, now: int) -> None:
        """Raise Refused("too-many") if a seat has already sent a reaction within INTERVAL_MS before ``now`` (ms)."""
        if now < self._sent_at.get(seat, now - INTERVAL_MS) + INTERVAL_MS:
            raise too_many("reactions", "Send at most one reaction per second.")

    def publish(self, reaction: Reaction, sent_at: int, now: int) -> None:
        """Pass on a reaction that was sent at ``sent_at`` (ms), unless it is old or was passed on before."""
        if now - sent_at > MAX_AGE_MS or sent_at <= self._sent_at.get(reaction.seat, -1):
            return
        self._sent_at[reaction.seat] = sent_at
        for listener in tuple(self._listeners):
            listener(reaction)
