"""A recording: a finished race laid out for looking at, every table of every racer and when it came."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import mean
from typing import Final, Literal, NamedTuple, Self

from samedeal.game import Game, Move
from samedeal.race.events import Header, Moved, Resigned
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run
from samedeal.race.seat import Standing
from samedeal.replays.replay import Replay
from samedeal_cli.render.phrases import told_apart

MarkKind = Literal["home", "undo", "restart", "think", "end"]
"""What is marked on a racer's way: a card that came home, a move taken back, another attempt, a move that was long
thought about, and where the racer stopped."""
THINK_MS: Final = 2_000
"""A pause is a long think if it is at least this long, and several times as long as usual for its racer."""
THINK_TIMES: Final = 3


class Step(NamedTuple):
    """A racer's table after one more move; the first is the deal."""

    n: int
    """The number of the log's entry."""
    at: int
    """Milliseconds since the deal."""
    move: Move
    game: Game
    attempt: int
    best: int
    """The most cards home in any attempt so far."""


class Mark(NamedTuple):
    """A point of a racer's way that is worth going to."""

    n: int
    at: int
    kind: MarkKind


@dataclass(frozen=True)
class Track:
    """One racer's way through the deal."""

    standing: Standing
    """The last one, with a name that tells the racer from the others."""
    steps: Sequence[Step]
    ended: Mark

    def index(self, n: int) -> int:
        """How many moves were made up to an entry of the log."""
        return max(0, bisect_right(self._numbers, n) - 1)

    def step(self, n: int) -> Step:
        """Where the racer was after an entry of the log."""
        return self.steps[self.index(n)]

    def outcome(self, n: int) -> str:
        """What the racer's game was called after an entry of the log."""
        return self.standing.outcome if n >= self.ended.n else self.step(n).game.outcome

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """All that is marked, in the order in which it happened."""
        return tuple(sorted([*self._marks(), self.ended], key=lambda mark: mark.n))

    @cached_property
    def times(self) -> tuple[int, ...]:
        return tuple(step.at for step in self.steps)

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        return tuple(step.n for step in self.steps)

    def _marks(self) -> list[Mark]:
        pauses = [after.at - before.at for before, after in pairwise(self.steps)]
        long = max(THINK_MS, THINK_TIMES * mean(pauses)) if pauses else 0
        marks = []
        for (before, step), pause in zip(pairwise(self.steps), pauses, strict=True):
            if pause > long:
                marks.append(Mark(step.n, step.at, "think"))
            if step.move in (UNDO, RESTART):
                marks.append(Mark(step.n, step.at, "undo" if step.move == UNDO else "restart"))
            elif step.game.home > before.game.home:
                marks.append(Mark(step.n, step.at, "home"))
        return marks


@dataclass(frozen=True)
class Recording:
    """A race that is over, as far as there is something to look at."""

    header: Header
    game: type[Game]
    deal: str
    dealt_at: int
    """When the cards were dealt, in milliseconds since 1970."""
    length: int
    """How long it lasted from the deal on, in milliseconds."""
    tracks: tuple[Track, ...]
    """Everybody who was dealt to, by seat."""
    dealt_n: int
    """The number of the entry that dealt."""
    entry_times: Sequence[int]
    """When each entry of the log came, in milliseconds since the deal; in order."""

    @classmethod
    def of(cls, replay: Replay) -> Self:
        """What a replay shows. Raises Refused where its log does not hold, and LookupError if nobody was dealt to."""
        steps: dict[int, list[Step]] = {}
        ended: dict[int, Mark] = {}
        dealt = last = None
        # One pass, and of each race only what is new in it: the whole races would take memory by the square.
        for entry, race in zip(replay.entries, _after_each(replay), strict=True):
            last = race
            if race.started_at is None:
                continue
            if dealt is None:
                dealt = race
                steps = {seat.number: [_step(race, seat.run, "")] for seat in race.roster if seat.run}
            if isinstance(entry.event, Moved | Resigned):
                seat = race.seats[entry.event.seat - 1]
                if seat.run and isinstance(entry.event, Moved):
                    steps[seat.number].append(_step(race, seat.run, entry.event.move))
                if seat.run and seat.run.done:
                    ended[seat.number] = Mark(entry.n, entry.at - race.started_at, "end")
        if dealt is None or last is None or dealt.started_at is None or not steps:
            raise LookupError("nobody was dealt to in this race: there is nothing to look at")
        length = min(last.at, dealt.ends_at or last.at) - dealt.started_at
        close = Mark(last.n, length, "end")
        standings = {standing.seat: standing for standing in told_apart(last.standings())}
        return cls(
            header=replay.header,
            game=dealt.game,
            deal=dealt.deal or "",
            dealt_at=dealt.started_at,
            length=length,
            tracks=tuple(Track(standings[seat], tuple(way), ended.get(seat, close)) for seat, way in steps.items()),
            dealt_n=dealt.n,
            entry_times=tuple(min(length, entry.at - dealt.started_at) for entry in replay.entries),
        )

    def number(self, ms: float) -> int:
        """The number of the last entry that had come so long after the deal."""
        return max(self.dealt_n, bisect_right(self.entry_times, ms))

    def time(self, n: int) -> int:
        """When an entry came, in milliseconds since the deal."""
        return self.entry_times[n - 1]

    def racer(self, seat: int) -> int | None:
        """Which of the tracks is that of a seat."""
        seats = [track.standing.seat for track in self.tracks]
        return seats.index(seat) if seat in seats else None

    @cached_property
    def first(self) -> int:
        """Which of the tracks is that of the best racer."""
        return min(range(len(self.tracks)), key=lambda index: self.tracks[index].standing.place)

    @cached_property
    def times(self) -> tuple[int, ...]:
        """When anybody moved, in order."""
        return tuple(sorted({at for track in self.tracks for at in track.times}))


def gap(times: Sequence[int], at: float, end: int) -> tuple[int, int]:
    """Between which of the times a moment lies: the last up to it and the first after it, or the end."""
    before = bisect_right(times, at)
    return times[max(0, before - 1)], times[before] if before < len(times) else end


def neighbours(marks: Sequence[Mark], n: int) -> tuple[Mark | None, Mark | None]:
    """The last mark before an entry of the log and the first after it."""
    before, after = bisect_left(marks, n, key=_number), bisect_right(marks, n, key=_number)
    return marks[before - 1] if before else None, marks[after] if after < len(marks) else None


def _number(mark: Mark) -> int:
    return mark.n


def _after_each(replay: Replay) -> Iterator[Race]:
    races = replay.races()
    next(races)
    return races


def _step(race: Race, run: Run, move: Move) -> Step:
    return Step(race.n, race.at - (race.started_at or 0), move, run.game, run.attempts, run.peak)
