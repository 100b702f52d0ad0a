"""The table: named piles of cards, the main part of every game's position."""

from collections.abc import Iterable, Mapping
from typing import Self

from msgspec import Struct

from samedeal.cards import Card, Pile


class Table(Struct, frozen=True):
    """Immutable piles by the name of their place."""

    piles: dict[str, Pile]

    @classmethod
    def laid(cls, cards: Pile, sizes: Mapping[str, int], rest: str) -> Self:
        """Deal ``sizes[place]`` cards to each place in turn, and the others to ``rest``, the first of them on top."""
        piles, start = dict[str, Pile](), 0
        for place, size in sizes.items():
            piles[place] = cards[start : start + size]
            start += size
        return cls({**piles, rest: cards[start:][::-1]})

    def __hash__(self) -> int:
        """Positions can be in sets, as searches need it. Their order there differs from run to run."""
        return tuple(self.piles.values()).__hash__()

    def __getitem__(self, place: str) -> Pile:
        return self.piles[place]

    def top(self, place: str) -> Card | None:
        """Return the top card of a place, or None if it is empty."""
        pile = self.piles[place]
        return pile[-1] if pile else None

    def tops(self, places: Iterable[str]) -> list[tuple[str, Card]]:
        """Return the places that are not empty, with their top cards."""
        piles = self.piles
        return [(place, pile[-1]) for place in places if (pile := piles[place])]

    def empty(self, places: Iterable[str]) -> list[str]:
        """Return the places that are empty."""
        piles = self.piles
        return [place for place in places if not piles[place]]

    def full(self, places: Iterable[str]) -> bool:
        """Return whether none of the places is empty."""
        piles = self.piles
        return all(piles[place] for place in places)

    def count(self, places: Iterable[str]) -> int:
        """Return the total number of cards on the places."""
        piles = self.piles
        return sum([len(piles[place]) for place in places])

    def moved(self, source: str, target: str, count: int = 1) -> Self:
        """Return the table with the last cards of ``source`` moved to ``target``."""
        piles = self.piles.copy()
        pile = piles[source]
        piles[source], piles[target] = pile[:-count], piles[target] + pile[-count:]
        return type(self)(piles)

    def turned(self, source: str, target: str) -> Self:
        """Return the table with the whole pile of ``source`` turned over onto ``target``."""
        return self.put({source: (), target: (*self.piles[target], *self.piles[source][::-1])})

    def put(self, piles: dict[str, Pile]) -> Self:
        """Return the table with these piles replaced."""
        return type(self)(self.piles | piles)
