"""Golf: clear seven columns of five cards onto one waste pile, one rank up or down at a time.

The last card of a column goes onto the waste if it is one rank higher or lower, whatever the suits. Nothing goes onto a
king, and so only a two onto an ace; with ``wrap``, kings and aces are next to each other, and a queen goes onto a king.
The 16 cards of the stock are turned over onto the waste one at a time. All cards of the columns are face up.

The game is over when the stock is empty and nothing can be played. The score is the number of cards that are left in
the columns: lower is better, and 0 wins.
"""

from typing import Self

from samedeal.cards import KING, RANKS, Card, Pile, rank_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import derived, replace

COLUMNS = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")
HEIGHT = 5
_NEXT = {rank: (*[rank - 1] * (rank > 1), *[rank + 1] * (rank < KING)) for rank in range(1, KING + 1)}
NEIGHBOURS = {
    False: {rank: () if rank == KING else ranks for rank, ranks in _NEXT.items()},
    True: {rank: {1: (KING, 2), KING: (KING - 1, 1)}.get(rank, ranks) for rank, ranks in _NEXT.items()},
}
"""The ranks that go onto each rank, without and with ``wrap``."""


class Golf(Game, frozen=True):
    """A position of Golf."""

    slug = "golf"
    title = "Golf"
    pitch = "Clear seven columns onto one pile, up or down by one. A round takes a minute or two."
    how = (
        "Play cards one rank above or below the pile.",
        "Suits do not matter. Nothing goes onto a king.",
        "Nothing fits? Draw one of 16 cards.",
    )
    rules = "golf/1"
    goal = len(COLUMNS) * HEIGHT
    limit_ms = 2 * 60_000
    attempts = 1
    fanned = frozenset(COLUMNS)
    options = {"wrap": (False, True)}
    counted = "left"
    dead_end = "over"
    layout = """
        c1  c2  c3  c4  c5  c6  c7
        stock waste
    """

    wrap: bool = False
    """Whether kings and aces are next to each other."""

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        table = Table.laid(cards, dict.fromkeys(COLUMNS, HEIGHT) | {"waste": 1}, rest="stock")
        return cls(table, wrap=bool(variant.get("wrap", False)))

    def _moves(self) -> list[Move]:
        piles = self.table.piles
        fitting = NEIGHBOURS[self.wrap][rank_of(piles["waste"][-1])]
        moves = [place for place in COLUMNS if (pile := piles[place]) and rank_of(pile[-1]) in fitting]
        return [*moves, "draw"] if piles["stock"] else moves

    def _after(self, move: Move) -> Self:
        return replace(self, table=self.table.moved("stock" if move == "draw" else move, "waste"))

    @derived
    def home(self) -> int:
        return self.goal - self.table.count(COLUMNS)

    @property
    def notes(self) -> dict[str, str]:
        return {"score": str(self.score)}

    @property
    def instruction(self) -> str:
        if self.over:
            return ""
        top, draw = self.table["waste"][-1], "draw a card" if self.table["stock"] else ""
        if self._word_moves == [*self._legal]:
            return f"Nothing fits the {top}: {draw}"
        return " or ".join(filter(None, [f"Play {self._wanted(top)} onto the {top}", draw]))

    @property
    def _cause(self) -> str:
        return super()._cause if self.won else "nothing can be played, and the stock is empty"

    def why_not(self, move: Move) -> str:
        if move == "draw":
            return "The stock is empty."
        if move not in COLUMNS:
            return f"{move!r} is not a move in Golf: c1 to c7 plays a card, and draw turns over a card."
        card = self.table.top(move)
        if card is None:
            return f"{move} is empty."
        top = self.table["waste"][-1]
        wanted = self._wanted(top)
        return f"{card} does not go onto {top}: {f'only {wanted} does' if wanted else 'nothing goes onto a king'}."

    def why(self, move: Move) -> str:
        if move == "draw":
            return "You can draw a card from the stock at any time."
        return f"{self.table[move][-1]} is next to {self.table['waste'][-1]} in rank."

    def _wanted(self, top: Card) -> str:
        """Return the ranks that go onto a card, in words."""
        ranks = [RANKS[rank - 1].replace("T", "10") for rank in NEIGHBOURS[self.wrap][rank_of(top)]]
        return " or ".join(f"{'an' if rank in ('A', '8') else 'a'} {rank}" for rank in ranks)
