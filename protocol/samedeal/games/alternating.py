"""What FreeCell and Klondike share: columns that go down in alternating colours, and foundations that go up in suit."""

from abc import abstractmethod
from functools import lru_cache
from typing import ClassVar, Final

from samedeal.cards import RANKS, SUITS, Card, Pile, pack, rank_of, suit_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import derived, replace

FOUNDATIONS = {suit: f"f{number}" for number, suit in enumerate(SUITS, start=1)}
SMALLEST: Final = 2
"""Up to this rank, cards are always safe on a foundation."""
_APART: Final = 2 * len(RANKS)
ORDER = {card: rank_of(card) + _APART * (rank_of(card) % 2 == (suit_of(card) in "HD")) for card in pack()}
"""The rank of each card, far higher for red cards of odd ranks and black cards of even ranks.

Cards whose colours alternate as they go down have consecutive numbers: if an ordered run is to go onto a card, the
difference between that card's number and the last one's is how many cards have to move.
"""
_COLOURS: Final = {"S": ("f2", "f4", "f3"), "H": ("f1", "f3", "f4"), "C": ("f2", "f4", "f1"), "D": ("f1", "f3", "f2")}
"""For each suit, the foundations of the other colour, and the other one of the same colour."""
_OF_SUIT: Final = {suit: (*[rank + suit for rank in RANKS], "") for suit in SUITS}


@lru_cache(4096)  # positions share their piles
def run_length(pile: Pile) -> int:
    """Return how many cards at the end of a column are in order."""
    count = min(1, len(pile))
    while count < len(pile) and ORDER[pile[-count - 1]] - ORDER[pile[-count]] == 1:
        count += 1
    return count


def ends(move: Move) -> tuple[str, str]:
    """Return the source and the target of a move of cards."""
    return ("waste", move[1:]) if move[0] == "w" else (move[:2], move[2:4])


class Alternating(Game, frozen=True):
    """A game with such columns and foundations."""

    goal = 52
    limit_ms = 15 * 60_000
    foundations = frozenset(FOUNDATIONS.values())
    labels = dict.fromkeys(FOUNDATIONS.values(), "A")
    to_empty: ClassVar[str]
    """Which cards go to an empty column, in a sentence."""
    can_return: ClassVar[bool] = False
    """Whether cards on the foundations can come back."""

    @derived
    def home(self) -> int:
        return self.table.count(FOUNDATIONS.values())

    @derived
    def following(self) -> dict[Card, str]:
        """The cards that go home next, each with its foundation."""
        piles = self.table.piles
        return {_OF_SUIT[suit][len(piles[place])]: place for suit, place in FOUNDATIONS.items()}

    @property
    @abstractmethod
    def _uncovered(self) -> list[tuple[str, Card]]:
        """The places from which ``home`` takes cards, with their last cards."""

    @property
    def _safe(self) -> list[str]:
        """The places whose card can go home and is not needed by lower cards."""
        return [place for place, card in self._uncovered if card in self.following and self._is_safe(card)]

    def _is_safe(self, card: Card) -> bool:
        """Return whether a card that goes home is not needed by lower cards."""
        piles, (one, other, same) = self.table.piles, _COLOURS[suit_of(card)]
        least = min(len(piles[one]), len(piles[other]))
        if self.can_return:
            least = min(least, len(piles[same]) + 1)
        return rank_of(card) <= max(SMALLEST, least + 1)

    def _all_home(self) -> Table:
        """Return the table after all cards have gone home that are safe, or become safe, there."""
        position = self
        while safe := position._safe:
            source = safe[0]
            target = position.following[position.table[source][-1]]
            position = replace(position, table=position.table.moved(source, target))
        return position.table

    def why(self, move: Move) -> str:
        if move == "home":
            return "These cards are safe: no lower card of the other colour needs them."
        _, target = ends(move)
        onto, moved = self.table.top(target), self._after(move).table[target][len(self.table[target])]
        if target in self.foundations:
            return f"{moved} follows in its suit."
        return f"{moved} goes onto {onto}: one lower, in the other colour." if onto else self.to_empty

    def _why_not_home(self, card: Card, target: str) -> str:
        if target != FOUNDATIONS[suit_of(card)]:
            return f"{card} does not belong on {target}: each foundation is of one suit."
        top = self.table.top(target)
        return (
            f"{card} does not follow {top}." if top else f"{card} does not go home yet: foundations start with the ace."
        )

    def _why_not_onto(self, source: str, target: str) -> str:
        card, onto = self.table[source][-1], self.table[target][-1]
        what = f"No card of {source} goes" if source[0] == "c" else f"{card} does not go"
        return f"{what} onto {onto}: columns go down in alternating colours, in order."
