"""The Edge: fill the grid, clear groups that make ten, fill it again, until all twelve face cards are in their cells.

Jacks, queens and kings go only to cells of their own: kings to the corners, queens to the middle of the top and bottom
rows, jacks to the middle of the left and right columns. Other cards go anywhere. Only when all sixteen cells are full
may groups be removed: a ten alone, or any number of cards that add up to ten, the ace counting one. At least one group
must go before the next card is drawn; how many more is the player's choice.

The game is won the moment the twelfth face card is placed. It is lost when a face card is drawn that has no free cell,
or when the grid is full and holds no group.
"""

from collections.abc import Sequence
from typing import Self

from samedeal.cards import TEN
from samedeal.game import Move
from samedeal.games.grid import EDGE, FACES, Grid, written
from samedeal.values import derived


class TheEdge(Grid, frozen=True):
    """A position of The Edge."""

    slug = "the-edge"
    title = "The Edge"
    rules = "the-edge/1"
    writing = (
        "a cell such as b2 places the card in hand; a2+b3+d1 removes a group, its cells in the order of the alphabet, "
        "c2- a ten alone; draw turns up the next card once a group is gone."
    )

    def _moves(self) -> list[Move]:
        moves = super()._moves()
        return moves if self.table["hand"] or self._full else [*moves, "draw"]

    def _after(self, move: Move) -> Self:
        return self._drawn() if move == "draw" else super()._after(move)

    @derived
    def won(self) -> bool:
        return self.table.full(EDGE) and self._faces == FACES

    @derived
    def _groups(self) -> list[Move]:
        """Tens, and any number of cards that add up to ten."""
        found = list[tuple[str, ...]]()
        _add_up(self._numbers, 0, TEN, (), found)
        return list(map(written, found))

    def _why_not_draw(self) -> str:
        if self.table["hand"]:
            return "The card in hand is placed first."
        return "At least one group is removed before the next card is drawn."


def _add_up(
    numbers: Sequence[tuple[str, int]], first: int, total: int, cells: tuple[str, ...], found: list[tuple[str, ...]]
) -> None:
    """Finds all groups that begin with these cells and go on with some from the first on that make up the total."""
    for at in range(first, len(numbers)):
        cell, rank = numbers[at]
        if rank == total:
            found.append((*cells, cell))
        elif rank < total:
            _add_up(numbers, at + 1, total - rank, (*cells, cell), found)
