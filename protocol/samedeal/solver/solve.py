"""Solving: the search for a winning line in each game. It knows the stock and all face-down cards.

A budget is a number of positions, never a time, and no search uses floating-point numbers or the order of sets, so
every interpreter finds the same line.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from samedeal.game import Game
from samedeal.solver import (
    corner_stones_search,
    corners_search,
    freecell_search,
    gallery_search,
    golf_search,
    grid_search,
    klondike_search,
)
from samedeal.solver.solution import Solution


class Solver(NamedTuple):
    """A search for winning lines, and how many positions it visits at most."""

    search: Callable[[Any, int], Solution]
    budget: int
    """With it, most deals are decided within a few seconds."""
    turning_point: int
    """For one search while looking for turning points."""
    turning_points: int
    """For all such searches in a race, about fifteen seconds."""


SOLVERS: Final = {
    "corner-stones": Solver(corner_stones_search.search, 200_000, 20_000, 400_000),
    "the-edge": Solver(grid_search.search, 100_000, 100_000, 4_000_000),
    "corners": Solver(corners_search.search, 100_000, 100_000, 4_000_000),
    "kings-in-the-corners": Solver(grid_search.search, 100_000, 100_000, 4_000_000),
    "gallery": Solver(gallery_search.search, 500_000, 30_000, 400_000),
    "golf": Solver(golf_search.search, 200_000, 50_000, 1_000_000),
    "freecell": Solver(freecell_search.search, 50_000, 10_000, 100_000),
    "klondike": Solver(klondike_search.search, 100_000, 20_000, 400_000),
}
"""The solvers, by the slug of the game."""


def solve(start: Game, budget: int) -> Solution:
    """Search for a winning line from a position, visiting at most ``budget`` positions.

    The line is played again before it is returned. Raises KeyError for a game without a solver.
    """
    if start.over:
        return Solution("won" if start.won else "lost", 0)
    solution = SOLVERS[start.slug].search(start, budget)
    end = start
    for move in solution.line:
        end = end.after(move)
    if end.won != (solution.outcome == "won"):
        raise AssertionError(f"the line does not win: {' '.join(solution.line)}")
    return solution
