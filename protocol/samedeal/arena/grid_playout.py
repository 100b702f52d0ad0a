"""Playouts on the grid: only what lies in each class of cells counts, and plays are a few cards long."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from samedeal.cards import TEN, Pile, rank_of
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.grid import FACES
from samedeal.solver.grid_search import CLASS_OF, CLASSES

_CARDS: Final = 16
"""The number of cards that are drawn in a play."""
_Cards = list[list[int]]
"""For each class, the number of cards of each rank up to ten."""


def the_edge(position: Seen) -> Callable[[Move, Pile, Words], int]:
    return _playout(position, may_draw=True)


def kings_in_the_corners(position: Seen) -> Callable[[Move, Pile, Words], int]:
    """Return a function that plays from a move on, given the stock, and returns how many cards it places.

    A card in hand must not be a face card: all its cells are equal, so there is nothing to compare.
    """
    return _playout(position, may_draw=False)


def _playout(position: Seen, *, may_draw: bool) -> Callable[[Move, Pile, Words], int]:
    tops = position.table.top
    hand = tops("hand")
    cards: _Cards = [[0] * (TEN + 1) for _ in CLASSES]
    free, faces = [len(position.table.empty(cells)) for cells in CLASSES], [0] * len(CLASSES)
    for cell, kind in CLASS_OF.items():
        if top := tops(cell):
            if rank_of(top) > TEN:
                faces[kind] += 1
            else:
                cards[kind][rank_of(top)] += 1

    def play(move: Move, stock: Pile, words: Words) -> int:
        world = _World(may_draw, [held.copy() for held in cards], free.copy(), faces.copy())
        if hand:
            world.free[CLASS_OF[move]] -= 1
            world.cards[CLASS_OF[move]][rank_of(hand)] += 1
        elif move != "draw":
            for cell in move.removesuffix("-").split("+"):
                world.cards[CLASS_OF[cell]][rank_of(tops(cell) or "")] -= 1
                world.free[CLASS_OF[cell]] += 1
            world.clear()
        return world.placed([rank_of(card) for card in stock[: -_CARDS - 1 : -1]])

    return play


class _World:
    def __init__(self, may_draw: bool, cards: _Cards, free: list[int], faces: list[int]) -> None:
        self.may_draw, self.cards, self.free, self.faces = may_draw, cards, free, faces

    def placed(self, coming: Sequence[int]) -> int:
        """Return how many of the coming cards are placed; all if the game is won."""
        free, faces, cards = self.free, self.faces, self.cards
        for at, rank in enumerate(coming):
            if not any(free) and not self.clear() and not (self.may_draw and self.clear_group()):
                return at
            if rank > TEN:
                kind = rank - TEN
                if not free[kind]:
                    return at
                faces[kind] += 1
                if self.may_draw and sum(faces) == FACES:
                    break
            else:
                kind = 0 if free[0] else max((1, 2, 3), key=lambda kind: (free[kind] > 0, 2 * free[kind] + faces[kind]))
                cards[kind][rank] += 1
            free[kind] -= 1
        return len(coming)

    def tightest(self) -> list[int]:
        """Return the classes, those first that have least room for the face cards to come."""
        return [*sorted((1, 2, 3), key=lambda kind: 2 * self.free[kind] + self.faces[kind]), 0]

    def clear(self) -> bool:
        """Remove tens and pairs. Return whether there are any."""
        order = self.tightest()
        counts = [sum(ranks) for ranks in zip(*self.cards, strict=True)]
        removed = self.remove(order, TEN, counts[TEN]) + self.remove(order, 5, counts[5] // 2 * 2)
        for rank in range(1, 5):
            pairs = min(counts[rank], counts[TEN - rank])
            removed += self.remove(order, rank, pairs) + self.remove(order, TEN - rank, pairs)
        return removed > 0

    def clear_group(self) -> bool:
        """Remove a smallest group. Return whether there is any."""
        counts = [sum(ranks) for ranks in zip(*self.cards, strict=True)]
        for group in _GROUPS:
            if all(counts[rank] >= number for rank, number in group):
                order = self.tightest()
                for rank, number in group:
                    self.remove(order, rank, number)
                return True
        return False

    def remove(self, order: Sequence[int], rank: int, number: int) -> int:
        """Remove this many cards of a rank from the classes in order. Return the number."""
        left = number
        for kind in order if left else ():
            count = min(left, self.cards[kind][rank])
            self.cards[kind][rank] -= count
            self.free[kind] += count
            left -= count
        return number


def _partitions(total: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as an ascending sum of numbers from ``least`` on."""
    for first in range(least, total // 2 + 1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)
    yield (total,)


_GROUPS: Final = [tuple(Counter(group).items()) for group in sorted(_partitions(TEN, 1), key=len) if len(group) > 2]
"""The ranks of groups of three or more cards with their numbers, small groups first."""
