"""The table: named piles of cards. Every game's position is one of these and little more."""

from collections.abc import Iterable, Mapping
from typing import Self

from msgspec import Struct

from samedeal.cards import Card, Pile


class Table(Struct, frozen=True):
    """Piles by the name of their place. A table never changes: a move makes a new one."""

    piles: dict[str, Pile]

    @classmethod
    def laid(cls, cards: Pile, sizes: Mapping[str, int], rest: str) -> Self:
        """Deals cards from the front of the deck onto each place in turn; the others onto `rest`, first on top."""
        piles, start = dict[str, Pile](), 0
        for place, size in sizes.items():
            piles[place] = cards[start : start + size]
            start += size
        return cls({**piles, rest: cards[start:][::-1]})

    def __getitem__(self, place: str) -> Pile:
        return self.piles[place]

    def top(self, place: str) -> Card | None:
        """The card on top of a place, or None where it is empty."""
        pile = self.piles[place]
        return pile[-1] if pile else None

    def tops(self, places: Iterable[str]) -> list[tuple[str, Card]]:
        """Each of the places that has a card, with its top card."""
        piles = self.piles
        return [(place, pile[-1]) for place in places if (pile := piles[place])]

    def empty(self, places: Iterable[str]) -> list[str]:
        """Each of the places that has no card."""
        piles = self.piles
        return [place for place in places if not piles[place]]

    def full(self, places: Iterable[str]) -> bool:
        """Whether each of the places has a card."""
        return all(map(self.piles.__getitem__, places))

    def count(self, places: Iterable[str]) -> int:
        """How many cards lie on the places together."""
        return sum(map(len, map(self.piles.__getitem__, places)))

    def moved(self, source: str, target: str) -> Self:
        """The table with the top card of `source` on top of `target`."""
        piles = self.piles.copy()
        pile = piles[source]
        piles[source], piles[target] = pile[:-1], (*piles[target], pile[-1])
        return type(self)(piles)

    def turned(self, source: str, target: str) -> Self:
        """The table with the whole pile of `source` turned over onto `target`."""
        return self.put({source: (), target: (*self.piles[target], *self.piles[source][::-1])})

    def put(self, piles: dict[str, Pile]) -> Self:
        """The table with these piles in place of the old."""
        return type(self)(self.piles | piles)
