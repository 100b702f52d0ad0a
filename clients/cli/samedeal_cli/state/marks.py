"""Marks on the timeline of a racer: cards that went home, long thinks, and others."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import mean
from typing import Final, Literal, NamedTuple

from samedeal.game import Game, Move
from samedeal.race.run import RESTART, UNDO

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
    attempt: int
    best: int
    """The most cards home in any attempt so far."""


class Mark(NamedTuple):
    """An event on the timeline of a racer."""

    n: int
    at: int
    kind: MarkKind


def marks(steps: Sequence[Step]) -> list[Mark]:
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
