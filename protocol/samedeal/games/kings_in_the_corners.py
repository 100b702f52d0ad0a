"""Kings in the Corners: fill the grid and clear every ten and every pair that makes ten, until the stock is empty.

Jacks, queens and kings go only to cells of their own: kings to the corners, queens to the middle of the top and bottom
rows, jacks to the middle of the left and right columns. Other cards go anywhere. When all sixteen cells are full, tens
are removed alone and other cards in pairs that add up to ten, with aces counting as one. When no ten or pair is left,
the next card is drawn.

The game is won when the last card of the stock is placed. It is lost when a face card is drawn that has no free cell,
or when the grid is full, no ten or pair can be removed, and the stock is not empty.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Self

from samedeal.cards import TEN
from samedeal.game import Move
from samedeal.games.grid import Grid, written
from samedeal.values import derived


class KingsInTheCorners(Grid, frozen=True):
    """A position of Kings in the Corners."""

    slug = "kings-in-the-corners"
    title = "Kings in the Corners"
    pitch = "Fill the grid, and clear tens and pairs that add up to ten, until the stock is empty."
    how = (
        "Place each card you get.",
        "Grid full? Clear tens and pairs that make ten.",
        "Kings go in corners; queens and jacks on edges.",
    )
    rules = "kings-in-the-corners/1"
    collection = "corner"
    largest_group = 2

    def _removed(self, cells: Sequence[str]) -> Self:
        removed = super()._removed(cells)
        return removed if removed._groups else removed._drawn()

    @derived
    def _groups(self) -> list[Move]:
        """Tens and pairs."""
        numbers = self._numbers
        tens = [(cell,) for cell, rank in numbers if rank == TEN]
        pairs = [(a, b) for (a, x), (b, y) in combinations(numbers, 2) if x + y == TEN]
        return list(map(written, sorted([*tens, *pairs])))
