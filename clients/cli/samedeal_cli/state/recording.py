"""A finished race for playback: every table of every racer, its time, and marks on the timelines of racers."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from statistics import mean
from typing import Final, Literal, NamedTuple, Self

from msgspec.structs import replace

from samedeal.game import Game, Move
from samedeal.race.events import Header, Moved, Resigned
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.race.standings import Seat, Standing
from samedeal.replays.replay import Replay
from samedeal_cli.render.phrases import with_unique_names

MarkKind = Literal["home", "undo", "restart", "think", "turn", "end"]
"""A marked event of a racer: a card that went home, an undo, a restart, a long think, the turning point, the end."""
THINK_MS: Final = 2_000
"""A long think lasts at least this long, and several times as long as the racer's average pause."""
THINK_TIMES: Final = 3


class Step(NamedTuple):
    """A racer's table after a move; the first step is the deal."""

    n: int
    """The number of the log entry."""
    at: int
    """Milliseconds since the deal."""
    move: Move
    game: Game
    standing: Standing
    """The racer's standing, without the place and with the name as in the log."""


class Mark(NamedTuple):
    """An event on the timeline of a racer."""

    n: int
    at: int
    kind: MarkKind


@dataclass(frozen=True)
class Track:
    """The timeline of one racer."""

    standing: Standing
    """The final standing, with a unique name."""
    steps: Sequence[Step]
    ended: Mark

    def index(self, n: int) -> int:
        """Return how many moves the racer had made at a log entry."""
        return max(0, bisect_right(self.steps, n, key=lambda step: step.n) - 1)

    def step(self, n: int) -> Step:
        """Return the racer's step at a log entry."""
        return self.steps[self.index(n)]

    def at(self, n: int) -> Standing:
        """Return the racer's standing at a log entry, with the place at the end, and once final, its time."""
        if n >= self.ended.n:
            return replace(self.standing, ms=self.ended.at)
        return replace(self.step(n).standing, place=self.standing.place, name=self.standing.name)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, in order."""
        return tuple(sorted([*_marks(self.steps), self.ended], key=lambda mark: mark.n))

    @cached_property
    def times(self) -> tuple[int, ...]:
        return tuple(step.at for step in self.steps)


@dataclass(frozen=True)
class Recording:
    """A finished race that was dealt."""

    header: Header
    game: type[Game]
    deal: str
    dealt_at: int
    """The time of the deal, in milliseconds since 1970."""
    length: int
    """The duration of the race from the deal, in milliseconds."""
    tracks: tuple[Track, ...]
    """The racers with a table, by seat."""
    dealt_n: int
    """The number of the entry of the deal."""
    entry_times: Sequence[int]
    """The times of the log entries, in milliseconds since the deal."""

    @classmethod
    def of(cls, replay: Replay) -> Self:
        """Build the recording of a replay. Raises Refused for an invalid log, and LookupError if it has no deal."""
        steps: dict[int, list[Step]] = {}
        ended: dict[int, Mark] = {}
        dealt = last = None
        # Keep only the new table of each race: keeping every race takes quadratic memory.
        for entry, race in zip(replay.entries, islice(replay.races(), 1, None), strict=True):
            last = race
            if race.started_at is None:
                continue
            if dealt is None:
                dealt = race
                steps = {seat.number: [_step(race, seat, "")] for seat in race.roster if seat.run}
            if isinstance(entry.event, Moved | Resigned):
                seat = race.seats[entry.event.seat - 1]
                if seat.run and isinstance(entry.event, Moved):
                    steps[seat.number].append(_step(race, seat, entry.event.move))
                if seat.run and seat.run.done:
                    ended[seat.number] = Mark(entry.n, entry.at - race.started_at, "end")
        if dealt is None or last is None or dealt.started_at is None or not steps:
            raise LookupError("this race has no deal: there is nothing to watch")
        length = min(last.at, dealt.ends_at or last.at) - dealt.started_at
        close = Mark(last.n, length, "end")
        standings = {standing.seat: standing for standing in with_unique_names(last.standings())}
        return cls(
            header=replay.header,
            game=dealt.game,
            deal=dealt.deal or "",
            dealt_at=dealt.started_at,
            length=length,
            tracks=tuple(Track(standings[seat], tuple(track), ended.get(seat, close)) for seat, track in steps.items()),
            dealt_n=dealt.n,
            entry_times=tuple(min(length, entry.at - dealt.started_at) for entry in replay.entries),
        )

    def number(self, ms: float) -> int:
        """Return the number of the last entry at a time, in milliseconds since the deal."""
        return max(self.dealt_n, bisect_right(self.entry_times, ms))

    def time(self, n: int) -> int:
        """Return the time of an entry, in milliseconds since the deal."""
        return self.entry_times[n - 1]

    @cached_property
    def first(self) -> int:
        """The index of the best racer's track."""
        return min(range(len(self.tracks)), key=lambda index: self.tracks[index].standing.place)

    @cached_property
    def times(self) -> tuple[int, ...]:
        """The times of all moves, in order."""
        return tuple(sorted({at for track in self.tracks for at in track.times}))


def _marks(steps: Sequence[Step]) -> list[Mark]:
    """Return the marks of a racer's moves, in order."""
    pauses = [after.at - before.at for before, after in pairwise(steps)]
    long = max(THINK_MS, THINK_TIMES * mean(pauses)) if pauses else 0
    found = []
    for (before, step), pause in zip(pairwise(steps), pauses, strict=True):
        if pause > long:
            found.append(Mark(step.n, step.at, "think"))
        if step.move in (UNDO, RESTART):
            found.append(Mark(step.n, step.at, "undo" if step.move == UNDO else "restart"))
        elif step.game.home > before.game.home:
            found.append(Mark(step.n, step.at, "home"))
    return found


def _step(race: Race, seat: Seat, move: Move) -> Step:
    if seat.run is None or seat.standing is None:
        raise AssertionError("a racer without a table cannot move")
    return Step(race.n, race.at - (race.started_at or 0), move, seat.run.game, seat.standing)
