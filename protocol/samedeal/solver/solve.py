"""Solving: the search for a winning line in each game. It knows the stock and all face-down cards.

A budget is a number of positions, never a time, and no search uses floating-point numbers or the order of sets, so
every interpreter finds the same line.
"""

from collections.abc import Callable
from typing import Any, Final

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

SOLVERS: Final[dict[str, Callable[[Any, int], Solution]]] = {
    "corner-stones": corner_stones_search.search,
    "the-edge": grid_search.search,
    "corners": corners_search.search,
    "kings-in-the-corners": grid_search.search,
    "gallery": gallery_search.search,
    "golf": golf_search.search,
    "freecell": freecell_search.search,
    "klondike": klondike_search.search,
}
"""The solvers, by the slug of the game."""
BUDGETS: Final = {
    "corner-stones": 200_000,
    "the-edge": 100_000,
    "corners": 100_000,
    "kings-in-the-corners": 100_000,
    "gallery": 500_000,
    "golf": 200_000,
    "freecell": 50_000,
    "klondike": 100_000,
}
"""Budgets with which most deals are decided within a few seconds."""


def solve(start: Game, budget: int) -> Solution:
    """Search for a winning line from a position, visiting at most ``budget`` positions.

    The line is played again before it is returned. Raises KeyError for a game without a solver.
    """
    if start.over:
        return Solution("won" if start.won else "lost", 0)
    solution = SOLVERS[start.slug](start, budget)
    end = start
    for move in solution.line:
        end = end.after(move)
    if end.won != (solution.outcome == "won"):
        raise AssertionError(f"the line does not win: {' '.join(solution.line)}")
    return solution
