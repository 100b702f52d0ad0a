"""Gallery: a proof that a position cannot be won, from the order in which the piles and the stock lie.

A family is the cards of one suit that belong in one row, such as both 2 5 8 J of hearts. For one family at a time, the
proof tries all orders in which its cards can go home, where every other card is out of the way as early as possible.
Time is the number of deals. This gives bounds on how early each card can go home, and the bounds of one family raise
those of others. If a family cannot go home even so, the position is lost. The reverse does not hold: many lost
positions have no such proof.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Final

from samedeal.cards import RANKS, Card, rank_of, suit_of
from samedeal.games.gallery import ACES, BASES, ROW_OF, STEP, TABLEAU, Gallery

_LEVELS: Final = range(4)
"""The cards of a run, from the base to the picture."""


def is_lost(start: Gallery) -> bool:
    """Return whether there is a proof that a position cannot be won."""
    return not _Bounds(start).settle()


class _Bounds:
    def __init__(self, start: Gallery) -> None:
        piles = start.table.piles
        home, empty, misplaced = start._spots
        self.home = Counter(card for spot in home for card in piles[spot])
        self.empty = Counter(spot[0] for spot in empty)
        self.cards: list[Card] = [piles[spot][0] for spot in misplaced]
        """All cards that are not home, misplaced ones first."""
        self.rows = [spot[0] for spot in misplaced]
        """The row in which each misplaced card lies."""
        self.arrivals = [0] * len(misplaced)
        """After how many deals each card is on the table."""
        self.above: list[Sequence[int]] = [()] * len(misplaced)
        """The cards that lie on each card, or will."""
        stock = piles["stock"][::-1]
        for column, place in enumerate(TABLEAU):
            dealt = stock[column :: len(TABLEAU)]
            first, pile = len(self.cards), [*piles[place], *dealt]
            self.cards += pile
            self.arrivals += [0] * len(piles[place]) + [*range(1, len(dealt) + 1)]
            self.above += [range(number + 1, first + len(pile)) for number in range(first, first + len(pile))]
        self.earliest = self.arrivals.copy()
        """After how many deals each card can be gone at the earliest."""
        self.last = max(self.arrivals, default=0)
        self.families = dict[str, list[int]]()
        """The cards of each family, by the base."""
        for number, card in enumerate(self.cards):
            if card not in ACES:
                base = RANKS[BASES[ROW_OF[rank_of(card)]] - 1] + suit_of(card)
                self.families.setdefault(base, []).append(number)

    def settle(self) -> bool:
        """Raise the bounds until nothing changes. Return whether every card can go home."""
        before = list[int]()
        while before != self.earliest:
            before = self.earliest.copy()
            for number, card in enumerate(self.cards):
                if card in ACES:
                    times = count(self.earliest[number])
                    self.earliest[number] = next(time for time in times if self.is_free(number, time, {}, 0))
            for base, family in self.families.items():
                if not self.settle_family(base, family):
                    return False
        return True

    def is_free(self, number: int, time: int, bits: dict[int, int], gone: int) -> bool:
        """Return whether nothing lies on a card, given which cards of the family are gone."""
        for other in self.above[number]:
            if self.arrivals[other] > time:
                return True
            if not gone & bits[other] if other in bits else self.earliest[other] > time:
                return False
        return True

    def settle_family(self, base: Card, family: Sequence[int]) -> bool:
        """Raise the bounds of a family. Return whether all of it can go home."""
        row = ROW_OF[rank_of(base)]
        levels = {number: (rank_of(self.cards[number]) - BASES[row]) // STEP for number in family}
        run = [RANKS[BASES[row] + STEP * level - 1] + suit_of(base) for level in _LEVELS]
        bits = {number: 1 << index for index, number in enumerate(family)}
        reached, union = {0: None}, 0
        for time in range(self.last + 1):
            spots = self.empty[row] + sum(
                self.earliest[number] <= time for number, on in enumerate(self.rows) if on == row and number not in bits
            )
            waiting = [*reached]
            for gone in waiting:  # more is appended
                homes = [self.home[card] for card in run]
                left = spots
                for number in family:
                    if gone & bits[number]:
                        homes[levels[number]] += 1
                        left += (self.rows[number] == row if number < len(self.rows) else 0) - (not levels[number])
                for number in family:
                    level, more = levels[number], gone | bits[number]
                    has_place = homes[level - 1] > homes[level] if level else left > 0
                    is_new = more not in reached and self.earliest[number] <= time
                    if is_new and has_place and self.is_free(number, time, bits, gone):
                        reached[more] = None
                        waiting.append(more)
            for gone in waiting:
                union |= gone
            for number in family:
                if not union & bits[number]:
                    self.earliest[number] = max(self.earliest[number], time + 1)
        return (1 << len(family)) - 1 in reached
