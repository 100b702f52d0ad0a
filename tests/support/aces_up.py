"""Aces Up: discard every card except the aces.

Four piles start with one card each. A card is discarded when another pile shows a higher card of its suit; aces are
high. An empty pile takes the top card of any other pile. Each turn of the talon deals one card to every pile.
"""

from typing import Self

from samedeal.cards import Card, Pile, rank_of, suit_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import replace

PILES = ("p1", "p2", "p3", "p4")


class AcesUp(Game, frozen=True):
    """A position of Aces Up."""

    slug = "aces-up"
    title = "Aces Up"
    rules = "aces-up/1"
    goal = 48
    limit_ms = 3 * 60_000
    fanned = frozenset(PILES)
    foundations = frozenset({"discard"})
    stock = "talon"
    layout = """
        p1    p2    p3    p4
        talon discard
    """

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        return cls(Table.laid(cards, dict.fromkeys(PILES, 1) | {"discard": 0}, rest="talon"))

    def _moves(self) -> list[Move]:
        tops = self.table.tops(PILES)
        moves = [place for place, card in tops if self._is_beaten(card)]
        crowded = [place for place, _ in tops if len(self.table[place]) > 1]
        moves += [source + target for source in crowded for target in self.table.empty(PILES)]
        return [*moves, "turn"] if self.table["talon"] else moves

    def _after(self, move: Move) -> Self:
        table = self.table
        if move == "turn":
            for place in PILES:
                table = table.moved("talon", place)
            return replace(self, table=table)
        return replace(self, table=table.moved(move[:2], move[2:] or "discard"))

    @property
    def home(self) -> int:
        return len(self.table["discard"])

    def why_not(self, move: Move) -> str:
        source, target = move[:2], move[2:]
        if move == "turn":
            return "The talon is empty."
        if source not in PILES or target not in ("", *PILES):
            return f"{move!r} is not a move in Aces Up: p1 discards, p1p2 fills an empty pile, turn deals four cards."
        if not target:
            return "No other pile shows a higher card of that suit."
        return "Only an empty pile takes a card, and only from a pile with several cards."

    def _is_beaten(self, card: Card) -> bool:
        tops = (other for _, other in self.table.tops(PILES))
        return any(suit_of(other) == suit_of(card) and _height(other) > _height(card) for other in tops)


def _height(card: Card) -> int:
    return (rank_of(card) - 2) % 13
