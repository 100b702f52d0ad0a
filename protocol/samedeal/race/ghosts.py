"""Ghosts: racers of finished races who take part in a later race on the same deal, each at their own pace.

At any moment a ghost shows what it showed as a live rival the same time after its own deal, and nothing else.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from samedeal.race.events import Closed, Dealt, Entry, Moved, Resigned, Whole
from samedeal.race.race import Race
from samedeal.race.standings import Standing

MAX_GHOSTS: Final = 32
"""The maximum number of ghosts in a race."""


class Ghost(Struct, frozen=True, kw_only=True):
    """A ghost at one moment. It has neither a place nor a seat."""

    ghost: Whole
    """The number of the ghost in its race, from 1. It is independent of seat numbers."""
    name: str
    bot: bool
    outcome: str
    """As in a standing, but always ``ready`` before the deal."""
    done: bool
    home: Whole
    """The most cards home in any attempt so far, out of ``goal``."""
    goal: Whole
    progress: float
    ms: Whole
    """The time from the deal to the win, or until ``home`` was first reached."""

    @classmethod
    def of(cls, standing: Standing) -> Self:
        """Return what a ghost shows at the time of a standing, without its number."""
        return cls(ghost=0, **{name: getattr(standing, name) for name in _SHOWN})


_SHOWN: Final = Ghost.__struct_fields__[1:]


class Track(Struct, frozen=True, array_like=True):
    """One racer's standing over time."""

    times: tuple[int, ...]
    """The times of changes since the deal, in order; the first is that of the deal."""
    ghosts: tuple[Ghost, ...]
    """What is shown from each of these times on."""

    @classmethod
    def of_result(cls, standing: Standing) -> Self:
        """Return the track of a racer given only the final standing: no cards home until its time, then all of it."""
        end = Ghost.of(standing)
        return cls((0, standing.ms), (replace(end, outcome="playing", done=False, home=0, progress=0.0, ms=0), end))

    def at(self, ms: float, number: int) -> Ghost:
        """Return the ghost with a number at a time after the deal; ``inf`` for the end."""
        return replace(self.ghosts[bisect_right(self.times, ms) - 1], ghost=number)

    def before_deal(self, number: int) -> Ghost:
        """Return the ghost with a number before the deal."""
        return replace(self.ghosts[0], ghost=number, outcome="ready", done=False, home=0, progress=0.0, ms=0)


def tracks(race: Race, entries: Iterable[Entry]) -> tuple[Track, ...]:
    """Return the track of everyone who was dealt cards, by seat, given a race before its first entry and its log.

    Raises Refused if the log is invalid.
    """
    changes: dict[int, dict[int, Ghost]] = {}
    for entry in entries:
        race, event = race.after(entry), entry.event
        at_ms = entry.at - (race.started_at or 0)
        if isinstance(event, Dealt):
            changes = {seat.number: {} for seat in race.roster if seat.run}
        if isinstance(event, Dealt | Closed):
            news = [standing for standing in race.standings() if standing.seat in changes]
        elif isinstance(event, Moved | Resigned):
            standing = race.seat(event.seat).standing
            news = [standing] if standing else []
        else:
            continue
        for standing in news:
            ghost, known = Ghost.of(standing), changes[standing.seat]
            if not known or known[next(reversed(known))] != ghost:
                known[at_ms] = ghost
    return tuple(
        Track(tuple(changes[seat.number]), tuple(changes[seat.number].values()))
        for seat in race.roster
        if seat.number in changes
    )


def ghosts_at(tracks: Sequence[Track], race: Race, now: int) -> tuple[Ghost, ...]:
    """Return the ghosts of a race at the time ``now``, best first. After the race they show how they ended."""
    numbered = enumerate(tracks, start=1)
    if race.started_at is None:
        return tuple([track.before_deal(number) for number, track in numbered])
    ms = inf if race.closed else max(0, now - race.started_at)
    return tuple(sorted([track.at(ms, number) for number, track in numbered], key=_rank))


def next_change_at(tracks: Iterable[Track], race: Race, now: int) -> int | None:
    """Return when a ghost of a running race changes next after the time ``now``, or None if none does."""
    if race.started_at is None:
        return None
    ms, times = now - race.started_at, list[int]()
    for track in tracks:
        index = bisect_right(track.times, ms)
        times += track.times[index : index + 1]
    return race.started_at + min(times) if times else None


def _rank(ghost: Ghost) -> tuple[bool, int, int]:
    """Sort key like that of seats, without a hint at how the ghosts ended."""
    won = ghost.outcome == "won"
    return (not won, 0 if won else -ghost.home, ghost.ms)
