"""The bot of Corners since version 2: after a redeal it remembers the stock, and plays each choice out in its head."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from samedeal.cards import BACK, KING, Card
from samedeal.computer.bot import Seen, best
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.corners import AFTER, FOUNDATIONS, PASSES, RESERVE, Corners
from samedeal.solver import corners_search as solver

_ONE_IN: Final = 100
"""In the first pass, a card is drawn although cards are playable once in this many moves."""
_DELAYS: Final = 7
"""The number of plays from the reserve that it considers to delay by a draw, one at a time."""
_BUDGET: Final = 5_000
"""The number of positions that an expert visits to find a winning line."""


def regular(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play a card if possible, except once in a hundred moves of the first pass. As soon as the stock is known, make
    the move that brings most cards home if later cards are played as soon as possible, except at most one of the next.
    """
    moves = position.moves()
    cards = [move for move in moves if move not in ("draw", "redeal")]
    if not cards or len(moves) == 1:
        return moves
    if BACK in position.table["stock"] or _passed(position) == 1:
        return ["draw"] if "draw" in moves and words.below(_ONE_IN) == 0 else cards
    delays = range(_DELAYS + 1)
    return best(moves, lambda move: max(Outlook.of(position).played_out(move, delayed) for delayed in delays))


def expert(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play like ``regular``, but search for a winning line as soon as the stock is known."""
    moves = position.moves()
    if len(moves) > 1 and _passed(position) > 1 and BACK not in position.table["stock"]:
        refill = str(position.variant.get("refill", "stock"))
        start = Corners(position.table, passed=_passed(position), refill=refill)
        if line := solver.search(start, _BUDGET).line:
            return line[:1]
    return regular(position, last, words)


def _passed(position: Seen) -> int:
    return int(position.notes["pass"][0])


class Outlook(Struct):
    """A position with a known stock, in which cards are played as soon as possible."""

    wanted: dict[Card, int]
    """The cards that go home next, with the number of cards that their foundations still take."""
    reserve: list[Card | None]
    waste: list[Card]
    stock: list[Card]
    redeals: int
    refills_from_waste: bool

    @classmethod
    def of(cls, position: Seen) -> "Outlook":
        piles = position.table.piles
        foundations = [piles[place] for place in FOUNDATIONS.values()]
        return cls(
            {AFTER[pile[-1]]: KING - len(pile) for pile in foundations if len(pile) < KING},
            [position.table.top(place) for place in RESERVE],
            list(piles["waste"]),
            list(piles["stock"]),
            PASSES - _passed(position),
            position.variant.get("refill") == "waste",
        )

    def played_out(self, move: Move, delayed: int) -> int:
        """Return how many cards go home from this move on, if the first card that can be played always is.

        The play from the reserve with the number ``delayed`` is delayed by a draw if there is a stock; 0 is none.
        """
        home = plays = 0
        while move:
            if move == "draw":
                self.waste.append(self.stock.pop())
            elif move == "redeal":
                self.stock, self.waste, self.redeals = self.waste[::-1], [], self.redeals - 1
            else:
                self.play(move)
                home += 1
            self.fill()
            move = self.next_move()
            if move in RESERVE and self.stock:
                plays += 1
                if plays == delayed:
                    move = "draw"
        return home

    def play(self, move: Move) -> None:
        if move == "w":
            card = self.waste.pop()
        else:
            place = RESERVE.index(move)
            card, self.reserve[place] = self.reserve[place] or "", None
        left = self.wanted.pop(card) - 1
        if left:
            self.wanted[AFTER[card]] = left

    def fill(self) -> None:
        for place, card in enumerate(self.reserve):
            if card is None:
                source = self.waste if self.refills_from_waste and self.waste else self.stock
                if source:
                    self.reserve[place] = source.pop()

    def next_move(self) -> Move:
        for place, card in zip(RESERVE, self.reserve, strict=True):
            if card in self.wanted:
                return place
        if self.waste and self.waste[-1] in self.wanted:
            return "w"
        if self.stock:
            return "draw"
        return "redeal" if self.waste and self.redeals else ""
