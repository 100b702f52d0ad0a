"""The Edge: fill the grid, clear groups that make ten, fill it again, until all twelve face cards are in their cells.

Jacks, queens and kings go only to cells of their own: kings to the corners, queens to the middle of the top and bottom
rows, jacks to the middle of the left and right columns. Other cards go anywhere. Groups can be removed only when all
sixteen cells are full: a ten alone, or any number of cards that add up to ten, with aces counting as one. At least one
group must be removed before the next card is drawn; removing more is optional.

The game is won as soon as the twelfth face card is placed. It is lost when a face card is drawn that has no free cell,
or when the grid is full and no group can be removed.
"""

from collections.abc import Sequence

from samedeal.cards import TEN
from samedeal.game import Move
from samedeal.games.grid import EDGE, FACES, Grid, written
from samedeal.values import derived


class TheEdge(Grid, frozen=True):
    """A position of The Edge."""

    slug = "the-edge"
    title = "The Edge"
    pitch = "Fill a grid, clear groups that add up to ten, and find a place at the edge for all twelve face cards."
    how = (
        "Place each card you get.",
        "Grid full? Clear cards that add up to ten.",
        "Bring all twelve face cards to their cells.",
    )
    rules = "the-edge/1"
    collection = "corner"
    group_name = "groups that make ten"
    writing = (
        "b2 places the card in hand, a2+b3+d1 removes a group (cells in alphabetical order), c2- removes a ten, and "
        "draw draws the next card after a removal."
    )

    def _moves_without_hand(self) -> list[Move]:
        return self._groups if self._full else [*self._groups, "draw"]

    @derived
    def won(self) -> bool:
        return self.table.full(EDGE) and self._faces == FACES

    @derived
    def _groups(self) -> list[Move]:
        """Tens, and any number of cards that add up to ten."""
        groups: list[Move] = []
        _collect_groups(self._numbers, 0, TEN, "", groups)
        return groups

    def why(self, move: Move) -> str:
        return "After clearing a group you may draw." if move == "draw" else super().why(move)

    def _what_to_remove(self) -> str:
        if self._full:
            return super()._what_to_remove()
        return "Draw the next card, or clear more groups that make ten" if self._groups else "Draw the next card"

    @property
    def _cause(self) -> str:
        return f"all {FACES} face cards are in their cells" if self.won else super()._cause

    def _why_not_draw(self) -> str:
        if self.table["hand"]:
            return "Place the card in hand first."
        return "Remove at least one group before you draw the next card."


def _collect_groups(numbers: Sequence[tuple[str, int]], first: int, total: int, cells: str, groups: list[Move]) -> None:
    """Append all groups that extend ``cells`` with cells from index ``first`` on whose ranks add up to ``total``.

    ``cells`` is empty or the beginning of a move that ends with a plus sign.
    """
    for index in range(first, len(numbers)):
        cell, rank = numbers[index]
        if rank == total:
            groups.append(cells + cell if cells else written([cell]))
        elif rank < total:
            _collect_groups(numbers, index + 1, total - rank, f"{cells}{cell}+", groups)
