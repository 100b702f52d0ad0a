"""The experts of The Edge and Kings in the Corners: they count the orders of the coming cards that they survive."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from samedeal.cards import JACK, KING, QUEEN, TEN, rank_of
from samedeal.computer import first_bots
from samedeal.computer.bot import Seen, best
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.grid import cells_of
from samedeal.solver.grid_search import CLASS_OF, CLASSES

_FACES: Final = (JACK, QUEEN, KING)
_OF_EACH: Final = 4
"""The number of cards of each rank, and of cells of each class."""
_NUMBERS: Final = _OF_EACH * TEN


def expert(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Place a number where most orders of the unseen cards fill the grid without a face card that has no cell. Of the
    groups that the first bot likes best, remove one after which this is so.
    """
    liked = first_bots.grid(position, last, words)
    hand = position.table.top("hand")
    if hand is None:
        return liked if len(liked) == 1 else _safest(position, liked)
    return liked if rank_of(hand) > TEN or liked[0] in CLASSES[0] else _safest(position, position.legal)


def _safest(position: Seen, moves: Sequence[Move]) -> Sequence[Move]:
    """Return the moves after which the grid fills up in most orders of the unseen cards."""
    table = position.table
    seen = Counter(rank_of(pile[-1]) for place, pile in table.piles.items() if pile and place in CLASS_OF)
    discarded = table["discard"]
    coming = tuple(_OF_EACH - seen[face] for face in _FACES)
    hand = 1 if table["hand"] else 0
    numbers = _NUMBERS - sum(seen[rank] for rank in range(1, TEN + 1)) - len(discarded) - hand
    free = [len(table.empty(cells)) for cells in CLASSES]

    def orders(move: Move) -> int:
        after = free.copy()
        for cell in cells_of(move):
            after[CLASS_OF[cell]] += -1 if hand else 1
        return _orders(after[0], tuple(sorted(zip(after[1:], coming, strict=True))), numbers)

    return best(moves, orders)


@lru_cache(maxsize=1 << 16)
def _orders(centre: int, edge: tuple[tuple[int, int], ...], numbers: int) -> int:
    """Return in how many orders of the coming cards the grid fills up, if numbers are placed as well as possible.

    The arguments are the free cells in the centre, for each face the free cells and the cards that are still coming,
    in ascending order, and the numbers that are coming. The orders of those cards count that fill the grid.
    """
    if not centre and not any(free for free, _ in edge):
        return 1
    total = 0
    for index, (free, coming) in enumerate(edge):
        if free and coming:
            total += coming * _orders(centre, _with(edge, index, free - 1, coming - 1), numbers)
    if numbers and centre:
        total += numbers * _orders(centre - 1, edge, numbers - 1)
    elif numbers:
        after = (_with(edge, index, free - 1, coming) for index, (free, coming) in enumerate(edge) if free)
        total += numbers * max(_orders(0, each, numbers - 1) for each in after)
    return total


def _with(edge: tuple[tuple[int, int], ...], index: int, free: int, coming: int) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((*edge[:index], (free, coming), *edge[index + 1 :])))
