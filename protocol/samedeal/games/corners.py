"""Corners: build each foundation up in suit, wrapping from king to ace, from a reserve of five cards.

The four foundations start with the first card of each suit in the deck. An empty place of the reserve is filled from
the stock at once or, in the easier variant ``refill=waste``, from the waste if it is not empty. Cards are drawn one at
a time to the waste, which can be redealt twice.
"""

from typing import Self

from samedeal.cards import KING, RANKS, SUITS, Pile, pack, rank_of, suit_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import derived, replace

FOUNDATIONS = {suit: f"f{row}" for row, suit in enumerate(SUITS, start=1)}
RESERVE = ("r1", "r2", "r3", "r4", "r5")
PASSES = 3
AFTER = {card: RANKS[rank_of(card) % KING] + suit_of(card) for card in pack()}
"""The card that follows each card on a foundation."""
_MOVES = {**{place: place for place in RESERVE}, "waste": "w"}
"""The move that plays the card of each place to its foundation."""


class Corners(Game, frozen=True):
    """A position of Corners."""

    slug = "corners"
    title = "Corners"
    pitch = "Build four foundations around a cross of five cards, in three passes through the stock."
    how = (
        "Build each corner up in suit; aces follow kings.",
        "Play from the cross or the waste.",
        "Nothing fits? Draw; you get three passes.",
    )
    rules = "corners/1"
    collection = "corner"
    goal = 48
    limit_ms = 6 * 60_000
    foundations = frozenset(FOUNDATIONS.values())
    options = {"refill": ("stock", "waste")}
    layout = """
        f1  .   r1  .   f2
        .   r2  r3  r4  .
        f3  .   r5  .   f4
        stock waste
    """

    passed: int = 1
    """The current pass through the stock, 1 to 3."""
    refill: str = "stock"

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        bases = tuple(next(card for card in cards if suit_of(card) == suit) for suit in SUITS)
        others = tuple(card for card in cards if card not in bases)
        sizes = dict.fromkeys((*FOUNDATIONS.values(), *RESERVE), 1) | {"waste": 0}
        return cls(Table.laid(bases + others, sizes, rest="stock"), refill=str(variant.get("refill", "stock")))

    def _moves(self) -> list[Move]:
        piles = self.table.piles
        foundations = [piles[place] for place in FOUNDATIONS.values()]
        wanted = [AFTER[foundation[-1]] for foundation in foundations if len(foundation) < KING]
        moves = [_MOVES[place] for place, card in self.table.tops(_MOVES) if card in wanted]
        if piles["stock"]:
            moves.append("draw")
        elif piles["waste"] and self.passed < PASSES:
            moves.append("redeal")
        return moves

    def _after(self, move: Move) -> Self:
        match move:
            case "draw":
                return replace(self, table=self.table.moved("stock", "waste"))._filled()
            case "redeal":
                return replace(self, table=self.table.turned("waste", "stock"), passed=self.passed + 1)._filled()
            case source:
                place = "waste" if source == "w" else source
                return replace(
                    self, table=self.table.moved(place, FOUNDATIONS[suit_of(self.table[place][-1])])
                )._filled()

    @derived
    def home(self) -> int:
        return self.table.count(FOUNDATIONS.values()) - len(FOUNDATIONS)

    @property
    def notes(self) -> dict[str, str]:
        return {"pass": f"{self.passed} of {PASSES}"}

    @property
    def instruction(self) -> str:
        words = {"draw": "draw a card", "redeal": "turn the waste over"}
        moves = self.moves()
        others = [words[move] for move in moves if move in words]
        if len(others) < len(moves):
            return " or ".join(["Build the foundations up in suit", *others])
        return f"Nothing fits a foundation: {others[0]}" if others else ""

    @property
    def _cause(self) -> str:
        return super()._cause if self.won else "nothing fits a foundation, and there are no cards left to draw"

    def recalled(self) -> dict[str, Pile]:
        """Return the stock after a redeal: all its cards have been on the waste."""
        return {"stock": self.table["stock"]} if self.passed > 1 else {}

    def why_not(self, move: Move) -> str:
        match move:
            case "draw":
                return "The stock is empty."
            case "redeal" if self.table["stock"]:
                return "You can redeal only when the stock is empty."
            case "redeal" if not self.table["waste"]:
                return "The waste is empty."
            case "redeal":
                return f"This is pass {self.passed} of {PASSES}: there are no more redeals."
            case "w" | "r1" | "r2" | "r3" | "r4" | "r5":
                card = self.table.top("waste" if move == "w" else move)
                if card is None:
                    return "That place is empty."
                foundation = self.table[FOUNDATIONS[suit_of(card)]]
                return (
                    f"{card} does not follow {foundation[-1]}: foundations go up in suit, and the ace follows the king."
                )
            case _:
                return (
                    f"{move!r} is not a move in Corners: r1 to r5 or w plays a card, draw draws one, "
                    "and redeal turns the waste over."
                )

    def why(self, move: Move) -> str:
        if move == "draw":
            return "You can draw a card to the waste at any time."
        if move == "redeal":
            return f"When the stock is empty, the waste is turned over: this begins pass {self.passed + 1} of {PASSES}."
        card = self.table["waste" if move == "w" else move][-1]
        return f"{card} follows {self.table[FOUNDATIONS[suit_of(card)]][-1]}: foundations go up in suit."

    def _filled(self) -> Self:
        """Return the position with the empty places of the reserve filled while there are cards."""
        table = self.table
        for place in table.empty(RESERVE):
            sources = ("waste", "stock") if self.refill == "waste" else ("stock",)
            for source in sources:
                if table[source]:
                    table = table.moved(source, place)
                    break
        return self if table is self.table else replace(self, table=table)
