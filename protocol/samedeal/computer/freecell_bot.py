"""The bots of FreeCell: they search a little, and move towards the position that is worth most to the solver."""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.freecell import FreeCell
from samedeal.solver.freecell_search import key_of, search, state_of, steps, value

FEWEST, MORE = 10, 31
"""A regular looks at 10 to 40 positions before each move, at random."""
NEVER: Final = 1 << 30
"""More than the value of any position."""
NODES: Final = 1_000
"""The number of positions in which the expert searches for a win before each move."""


def regular(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the first move towards the best position found, always searching on from the best one so far."""
    start, least, chosen = state_of(position.table), NEVER, position.legal[0]
    seen, heap = {key_of(start)}, [(0, 0, start, "")]
    for _ in range(FEWEST + words.below(MORE)):
        if not heap:
            break
        _, _, state, first = heappop(heap)
        for move, after in steps(state):
            if (key := key_of(after)) not in seen:
                worth = value(after)
                if worth < least:
                    least, chosen = worth, first or move
                seen.add(key)
                heappush(heap, (worth, len(seen), after, first or move))
    return [chosen]


def expert(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the first move of a winning line if there is one within reach, and otherwise play as ``regular``."""
    return search(FreeCell(position.table), NODES).line[:1] or regular(position, last, words)
