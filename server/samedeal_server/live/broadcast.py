"""Broadcast: notifies a race's listeners of new entries and reactions, and caches the encodings that they share."""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, Protocol

from samedeal.race.events import Entry, Moved, Resigned, Taken
from samedeal.race.race import Race
from samedeal.wire.messages import Reaction
from samedeal_server.net.limits import too_many
from samedeal_server.store.clock import Clock

PROGRESS_EVERY_S = 0.25
"""Minimum interval between updates that only report the progress of others (s)."""
MAX_STALENESS_MS = 50
"""Maximum clock staleness in an encoded view that spectators share (ms)."""
REACTION_INTERVAL_MS = 1_000
"""Minimum interval between the reactions of a seat (ms)."""
MAX_REACTION_AGE_MS = 5_000
"""Reactions that arrive later than this from another process are dropped (ms)."""

Update = Literal["progress", "view"]


class Listener(Protocol):
    """A subscriber to a race."""

    @property
    def is_watching(self) -> bool:
        """Whether it counts as somebody who watches the race without a seat."""
        ...

    def on_entries(self, race: Race, entries: Sequence[Entry]) -> None:
        """Handle new entries; `race` is the race after them. Must return immediately and must not raise.

        Without entries, something besides the log has changed.
        """

    def on_progress(self, race: Race) -> None:
        """Handle a change of a ghost or of the number of watchers. Must return immediately and must not raise."""

    def on_reaction(self, reaction: Reaction) -> None:
        """Handle a racer's reaction. Must return immediately and must not raise."""

    def on_dropped(self) -> None:
        """Handle the end of updates: this process cannot continue the race. Must return immediately."""


def update_after(race: Race, entries: Sequence[Entry], seat: int | None) -> Update | None:
    """Return the update after new entries for a seat or a spectator (None), or None for no update.

    ``race`` is the race after them. The rate at which others play a sealed deal says how well they do.
    """
    is_hidden = seat is None and race.header.is_sealed_heat and race.stage == "running"
    if is_hidden and all(isinstance(entry.event, Moved | Resigned | Taken) for entry in entries):
        return None
    for entry in entries:
        if not isinstance(event := entry.event, Moved) or event.seat == seat:
            return "view"
    return "progress" if entries else "view"


class Broadcast:
    """The listeners of one race."""

    __slots__ = ("_clock", "_encodings", "_encodings_key", "_listeners", "_reacted_at")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._listeners = dict[Listener, str | None]()
        self._encodings: dict[Hashable, bytes] = {}
        self._encodings_key: tuple[str, int] | None = None
        self._reacted_at = dict[int, int]()  # when each seat sent its newest reaction (ms)

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    @property
    def watchers(self) -> int:
        """The number of listeners that watch the race without a seat."""
        return sum(listener.is_watching for listener in self._listeners)

    @property
    def players(self) -> set[str]:
        """The public ids of the guests whose connections listen."""
        return {player for player in self._listeners.values() if player}

    def add(self, listener: Listener, player: str | None = None) -> None:
        """Add a listener, which can be the connection of a guest with a public id."""
        self._listeners[listener] = player

    def remove(self, listener: Listener) -> None:
        """Remove a listener if it is subscribed."""
        self._listeners.pop(listener, None)

    def publish(self, race: Race, entries: Sequence[Entry]) -> None:
        """Pass new entries to all listeners; `race` is the race after them. Without entries, see ``Listener``."""
        if not entries:
            self._encodings_key = None
        for listener in tuple(self._listeners):
            listener.on_entries(race, entries)

    def publish_progress(self, race: Race) -> None:
        """Tell all listeners that a ghost or the number of watchers has changed."""
        self._encodings_key = None
        for listener in tuple(self._listeners):
            listener.on_progress(race)

    def check_reaction(self, seat: int, now: int) -> None:
        """Raise Refused("too-many") if a seat has sent a reaction within REACTION_INTERVAL_MS before ``now`` (ms)."""
        if now < self._reacted_at.get(seat, now - REACTION_INTERVAL_MS) + REACTION_INTERVAL_MS:
            raise too_many("reactions", "Send at most one reaction per second.")

    def publish_reaction(self, reaction: Reaction, sent_at: int, now: int) -> None:
        """Pass on a reaction that was sent at ``sent_at`` (ms), unless it is old or was passed on before.

        Reactions are not in the log, and can be lost.
        """
        if now - sent_at > MAX_REACTION_AGE_MS or sent_at <= self._reacted_at.get(reaction.seat, -1):
            return
        self._reacted_at[reaction.seat] = sent_at
        for listener in tuple(self._listeners):
            listener.on_reaction(reaction)

    def drop(self) -> None:
        """Tell all listeners that there are no more updates."""
        for listener in tuple(self._listeners):
            listener.on_dropped()

    def shared_encoding(self, race: Race, kind: Hashable, encode: Callable[[], bytes]) -> bytes:
        """Return what `encode` returns, cached by `kind` until the race changes or MAX_STALENESS_MS have passed."""
        key = race.digest, self._clock.now() // MAX_STALENESS_MS
        if key != self._encodings_key:
            self._encodings, self._encodings_key = {}, key
        data = self._encodings.get(kind)
        if data is None:
            data = self._encodings[kind] = encode()
        return data
