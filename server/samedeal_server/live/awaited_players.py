"""Awaited players: for whom a rematch, or the race that replaces a lobby, waits and reserves seats."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final

from samedeal.race.events import NEVER
from samedeal.race.race import Race

AWAY_MS: Final = 10_000
"""How long a rematch waits for somebody who is disconnected, and for programs that are connected (ms)."""


class AwaitedPlayers:
    """The players of the race before a rematch, people who missed that race and watch it, and those who were waiting in
    a lobby that was replaced.

    A player is missing until they have had a seat in the new race.
    """

    __slots__ = ("_connected", "_names", "_now", "_programs_until", "_seen", "bots_from", "people")

    def __init__(
        self,
        before: Race | None = None,
        second_last: Race | None = None,
        connected: Callable[[], Collection[str]] = frozenset,
        now: Callable[[], int] = int,
        lobby: Race | None = None,
        following: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`connected` returns the public ids of all who are connected to the race before. `second_last` is the race
        that it follows: players who were only in that one have missed a race. `now` is the clock of the store.
        `lobby` is the race that was replaced, as it was then, and `following` are the names of those for whom it was
        waiting itself, by public id.
        """
        raced = [seat for seat in before.roster if not seat.server] if before else []
        missed = [seat for seat in second_last.roster if not seat.bot] if second_last else []
        waiting = [seat for seat in lobby.roster if not seat.server] if lobby else []
        self._names = {**following, **{seat.player: seat.name for seat in (*missed, *waiting, *raced)}}
        self.people = frozenset(seat.player for seat in raced if not seat.bot)
        """Those for whom seats stay reserved until the countdown, by public id."""
        self._programs_until = {seat.player: now() + AWAY_MS for seat in (*raced, *waiting) if seat.bot}
        just_seen = self.people.union(following, (seat.player for seat in waiting))
        self._seen = {player: now() if player in just_seen else -AWAY_MS for player in self._names}
        self.bots_from = lobby or before
        """The race whose server bots follow to this one."""
        self._connected, self._now = connected, now

    def until(self) -> dict[str, int]:
        """Return until when the rematch waits for each player, by public id (ms since 1970-01-01 UTC)."""
        if not self._names:
            return {}
        now, connected = self._now(), self._connected()
        self._seen |= dict.fromkeys(self._names.keys() & connected, now)
        until = {player: NEVER if player in connected else at + AWAY_MS for player, at in self._seen.items()}
        return until | {player: min(until[player], end) for player, end in self._programs_until.items()}

    def awaited(self, race: Race) -> dict[str, str]:
        """Return the names of those for whom the rematch waits now, by public id."""
        now, had_seat = self._now(), {seat.player for seat in race.seats}
        return {
            player: self._names[player] for player, at in self.until().items() if now < at and player not in had_seat
        }

    def free_seats(self, race: Race, player: str | None = None) -> int:
        """Return how many seats a player can choose from: those that are neither taken nor reserved for others.

        The people of the race before come first, so that they always get one, and those who missed it come next.
        """
        had_seat = {seat.player for seat in race.seats}
        reserved = self.people if player in self._names else self.people | self.awaited(race).keys()
        return race.options.max_racers - len(race.roster) - len(reserved - had_seat - {player})
