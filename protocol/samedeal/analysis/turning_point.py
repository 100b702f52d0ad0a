"""Turning points: until which move a play could still be won.

A position that can be won follows only from positions that can be won, so along one play the answer changes once, from
yes to no. Undo and restart return to an earlier position, where another line begins; only the last line counts.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from samedeal.game import Game, Move
from samedeal.race.run import RESTART, UNDO
from samedeal.solver.solution import Solution

Search = Callable[[Game], Solution]


class Point(NamedTuple):
    """A position on a line."""

    step: int
    """The number of the racer's move after which the position was last on the table; 0 for the deal."""
    position: Game
    moves: tuple[Move, ...]
    """The moves that lead to it from the deal."""


class TurningPoint(Struct, frozen=True, kw_only=True):
    """Until when a racer who did not win could have won."""

    seat: int
    step: int | None
    """The number of the racer's last move after which a win was found, counting undo and restart; 0 for the deal, None
    if no win was found."""
    is_end: bool
    """Whether the racer stopped there, with a table that could still be won."""
    proven: bool
    """Whether it is proved that there is no win after the next move, or from the deal if ``step`` is None."""

    def brief(self) -> str:
        """Return until when the racer could have solved the deal, in words that follow the name; empty if no solution
        was found.
        """
        if self.step is None:
            return ""
        if self.is_end:
            return "could still have solved it at the end"
        until = f"up to move {self.step}" if self.step else "before the first move"
        return f"could have solved it {'' if self.proven else 'at least '}{until}"

    def described(self) -> str:
        """Return the turning point in words that follow the racer's name."""
        if self.step is None:
            return f"had no {'way to solve it' if self.proven else 'known solution'}"
        return self.brief()


def last_line(deal: Game, moves: Iterable[Move]) -> list[Point]:
    """Return the positions of the last attempt, without those that were undone. `moves` are all moves of a racer."""
    line = [Point(0, deal, ())]
    for step, move in enumerate(moves, start=1):
        if move == RESTART:
            line = [Point(step, deal, ())]
        elif move == UNDO:
            line = [*line[:-2], line[-2]._replace(step=step)]
        else:
            last = line[-1]
            line.append(Point(step, last.position.after(move), (*last.moves, move)))
    return line


class Turn(NamedTuple):
    """Where a line turns."""

    last: int
    """The index of the last position for which a win was found, or -1."""
    proven: bool
    """Whether it is proved that there is no win from the next one."""
    winning: tuple[Move, ...]
    """The moves from the deal to a win through the last such position; () if there is none."""


def turn_of(line: Sequence[Point], deal: Solution, search: Search) -> Turn:
    """Return where a line turns, given the solution of its first position. It is found by bisection.

    Where a search ends without a win or a proof, the positions on both sides of it are searched, too: later ones are
    easier, so a win may be found there.
    """
    last, winning, lost, unsolved = -1, tuple[Move, ...](), len(line), set[int]()
    index, solution = 0, deal
    while True:
        if solution.outcome == "lost":
            lost = index
        elif solution.outcome == "open":
            unsolved.add(index)
        else:
            last, winning = index, (*line[index].moves, *solution.line)
            while last + 1 < lost and line[last + 1].moves == winning[: len(line[last + 1].moves)]:
                last += 1
        unknown = [other for other in range(last + 1, lost) if other not in unsolved]
        if not unknown:
            return Turn(last, lost == last + 1 < len(line), winning)
        index = unknown[len(unknown) // 2]
        solution = search(line[index].position)
