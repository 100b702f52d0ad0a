"""What the solvers share: the result of a search, the count of the positions that it visits, beams, and best first."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Literal, TypeVar

from msgspec import Struct

from samedeal.game import Move

T = TypeVar("T")
SolutionOutcome = Literal["won", "lost", "open"]
"""``won`` with a winning line, ``lost`` if there is provably none, ``open`` if the search ended before."""


class Solution(Struct, frozen=True):
    """The result of a search."""

    outcome: SolutionOutcome
    nodes: int
    """The number of positions visited."""
    line: tuple[Move, ...] = ()
    """The moves that win, from the position in which the search started."""


class BudgetSpent(Exception):
    """A search has visited as many positions as it may."""


class Search:
    """A search with a budget: the number of positions that it may visit."""

    def __init__(self, budget: int) -> None:
        self.budget, self.nodes = budget, 0

    def visit(self) -> None:
        """Count a position. Raises BudgetSpent if it is one too many."""
        if self.nodes == self.budget:
            raise BudgetSpent
        self.nodes += 1


Path = tuple[str, "Path"] | None
"""The last step, a move or what stands for it, and the path before it."""


class Beams(Search, ABC):
    """A beam search: each layer has the most promising positions that follow from those of the layer before."""

    @abstractmethod
    def run(self, width: int) -> tuple[Path, bool]:
        """Return a path to a win or None, and whether no layer had more than ``width`` positions."""

    def line(self, steps: Sequence[str]) -> tuple[Move, ...]:
        """Return the moves of a path, given its steps."""
        return tuple(steps)

    def solution(self, widths: Sequence[int]) -> Solution:
        """Search with successive widths until there is a solution or the budget is spent."""
        for width in widths:
            try:
                path, is_complete = self.run(width)
            except BudgetSpent:
                break
            if path:
                return Solution("won", self.nodes, self.line(moves_of(path)))
            if is_complete:
                return Solution("lost", self.nodes)
        return Solution("open", self.nodes)


def best_first(
    start: T,
    budget: int,
    steps: Callable[[T], Iterable[tuple[str, T]]],
    key: Callable[[T], Hashable],
    value: Callable[[T, int], int],
    home: Callable[[T], int],
) -> Solution:
    """Search for 52 cards home, always from the position with the least value and the newest of equal ones.

    ``steps`` returns moves, separated by spaces, with the position after them. Of positions with the same ``key`` one
    is searched. ``value`` also depends on the number of steps, and ``home`` is the number of cards home.
    """
    seen, nodes = set[Hashable](), 0
    heap: list[tuple[int, int, int, T, Path]] = [(0, 0, 0, start, None)]
    while heap:
        if nodes == budget:
            return Solution("open", nodes)
        nodes += 1
        _, _, length, state, path = heappop(heap)
        for step, after in steps(state):
            if home(after) == 52:
                return Solution("won", nodes, tuple(" ".join(moves_of((step, path))).split()))
            if (same := key(after)) not in seen:
                seen.add(same)
                heappush(heap, (value(after, length + 1), -len(seen), length + 1, after, (step, path)))
    return Solution("lost", nodes)


def put(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    """Return a tuple with another item at an index."""
    return (*items[:at], item, *items[at + 1 :])


def moves_of(path: Path) -> Sequence[str]:
    """Return the steps of a path in order."""
    steps = list[str]()
    while path:
        step, path = path
        steps.append(step)
    return steps[::-1]
