"""The bots of Golf: they start the longest run of plays, looking a few ahead, and draw if nothing can be played."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from samedeal.cards import rank_of
from samedeal.computer.bot import Seen, Strategy, best
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.golf import COLUMNS, NEIGHBOURS

_Columns = tuple[tuple[int, ...], ...]
"""The ranks in each column."""


def _longest(depth: int, position: Seen, last: Move, words: Words) -> Sequence[Move]:
    plays = [move for move in position.moves() if move in COLUMNS] or position.moves()
    if len(plays) == 1:
        return plays
    columns = tuple(tuple(map(rank_of, position.table[place])) for place in COLUMNS)
    fitting = NEIGHBOURS[bool(position.variant.get("wrap", False))]

    def run(columns: _Columns, at: int, left: int) -> int:
        """Return the length of the longest run that starts with the last card of a column."""
        *cards, top = columns[at]
        if left == 1:
            return 1
        after = (*columns[:at], tuple(cards), *columns[at + 1 :])
        following = [index for index, column in enumerate(after) if column and column[-1] in fitting[top]]
        return 1 + max((run(after, index, left - 1) for index in following), default=0)

    return best(plays, lambda move: run(columns, COLUMNS.index(move), depth))


regular: Final[Strategy] = partial(_longest, 3)
expert: Final[Strategy] = partial(_longest, 8)
