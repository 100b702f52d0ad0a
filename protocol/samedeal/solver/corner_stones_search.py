"""Corner Stones: a beam search over moves.

A layer has the most promising positions after the same number of moves. Positions that differ only in which corner or
which side a stack is at are the same. Wider beams follow narrow ones. The search finds wins; it proves that there are
none only where a beam has left nothing out.
"""

from typing import Final

from samedeal.cards import RANKS, Card, rank_of, suit_of
from samedeal.game import Move
from samedeal.games.corner_stones import CORNERS, FIRSTS, STACKS, STEPS, CornerStones
from samedeal.solver.solution import Solution

WIDTHS: Final = (8, 32, 128, 512, 2048, 8192)
"""The numbers of positions that successive beams keep."""
MAX_MOVES: Final = 400
"""The maximum length of a line."""
_SIDES: Final = tuple((f"l{row}", f"r{row}") for row in "1234")
_Path = tuple[Move, "_Path"] | None
"""The last move, and the path before it."""


def search(start: CornerStones, budget: int) -> Solution:
    """Search for a winning line, visiting at most ``budget`` positions."""
    nodes = 0
    for width in WIDTHS:
        layer: list[tuple[CornerStones, _Path]] = [(start, None)]
        seen = {_key(start)}
        is_complete = True
        for _ in range(MAX_MOVES):
            following = list[tuple[int, CornerStones, _Path]]()
            for position, path in layer:
                for move in position.moves():
                    if nodes == budget:
                        return Solution("open", nodes)
                    nodes += 1
                    after = position.after(move)
                    if after.won:
                        return Solution("won", nodes, _line((move, path)))
                    if (key := _key(after)) not in seen:
                        seen.add(key)
                        following.append((_value(after), after, (move, path)))
            following.sort(key=lambda each: -each[0])
            is_complete &= len(following) <= width
            layer = [(position, path) for _, position, path in following[:width]]
            if not layer:
                break
        if is_complete and not layer:
            return Solution("lost", nodes)
    return Solution("open", nodes)


def _key(position: CornerStones) -> tuple[object, ...]:
    piles = position.table.piles
    corners = tuple(sorted(piles[place] for place in CORNERS))
    return corners, tuple(tuple(sorted((piles[left], piles[right]))) for left, right in _SIDES)


def _value(position: CornerStones) -> int:
    """Return how promising a position is: the cards home, less what lies on those that go home next."""
    piles = position.table.piles
    value = 40 * position.home
    depths = dict[Card, int]()
    for stack in STACKS:
        pile = piles[stack]
        for depth, card in enumerate(reversed(pile)):
            key = card if stack in CORNERS else f"{card}{stack[1]}"
            depths[key] = min(depth, depths.get(key, depth))
        if not pile:
            value += 40 if stack in CORNERS else -30
    for foundation in FIRSTS:
        top = piles[foundation][-1]
        rank = rank_of(top) + STEPS[foundation[0]]
        if 1 <= rank <= len(RANKS):
            card = RANKS[rank - 1] + suit_of(top)
            ready = min(
                depths.get(f"{card}{row}", 10) + (0 if row in ("", foundation[1]) else 2) for row in ("", *"1234")
            )
            value -= 7 * min(ready, 12)
    return value


def _line(path: _Path) -> tuple[Move, ...]:
    moves = list[Move]()
    while path:
        moves.append(path[0])
        path = path[1]
    return tuple(reversed(moves))
