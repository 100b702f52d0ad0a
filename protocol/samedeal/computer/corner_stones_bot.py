"""The bot of Corner Stones since version 2: it looks some moves ahead and keeps the most promising positions.

Positions have the same value as in the search for a winning line.
"""

from collections.abc import Sequence
from typing import Final

from samedeal.cards import Pile
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.corner_stones import FIRSTS, STACKS, CornerStones
from samedeal.solver.corner_stones_search import Outlook
from samedeal.table import Table

_MOST_COVERS: Final = 12
"""The number of cards on a card beyond which it makes no difference."""
_RESTLESS: Final = 30
"""In this many of a hundred positions that it cannot improve, the bot makes any move."""


def regular(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play a card home if possible. Otherwise, look four moves ahead, keeping the best four positions each time."""
    return _look_ahead(position, last, words, width=4, depth=4)


def expert(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Look ten moves ahead, keeping sixteen positions."""
    return _look_ahead(position, last, words, width=16, depth=10)


def _look_ahead(position: Seen, last: Move, words: Words, width: int, depth: int) -> Sequence[Move]:
    moves = position.moves()
    if home := [move for move in moves if move[2:] in FIRSTS]:
        return home
    onward = [move for move in moves if move != _back(last)] or moves
    start = position.table
    outlook = Outlook.of(start)
    found = [(outlook.value_after(move, _MOST_COVERS), start, move, move) for move in onward]
    seen = {_stacks(start)}
    for _ in range(depth - 1):
        found.sort(key=lambda each: -each[0])
        kept = list[tuple[Table, Move, Move]]()
        for _, before, move, first in found:
            table = before.moved(move[:2], move[2:])
            if (key := _stacks(table)) not in seen:
                seen.add(key)
                kept.append((table, move, first))
                if len(kept) == width:
                    break
        following = list[tuple[int, Table, Move, Move]]()
        for table, came, first in kept:
            after = Outlook.of(table)
            for move in CornerStones(table).moves():
                if move != _back(came):
                    following.append((after.value_after(move, _MOST_COVERS), table, move, first))
        if not following:
            break
        found = following
    best = max(value for value, *_ in found)
    if best <= outlook.value(_MOST_COVERS) and words.below(100) < _RESTLESS:
        return onward
    firsts = {first for value, _, _, first in found if value == best}
    return [move for move in onward if move in firsts]


def _back(move: Move) -> Move:
    return move[2:] + move[:2]


def _stacks(table: Table) -> tuple[Pile, ...]:
    return tuple(map(table.piles.__getitem__, STACKS))
