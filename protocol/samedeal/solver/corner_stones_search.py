"""Corner Stones: a beam search over moves.

A layer has the most promising positions after the same number of moves. Positions that differ only in which corner or
which side a stack is at are the same. Wider beams follow narrow ones. The search finds wins; it proves that there are
none only where a beam has left nothing out.

A position is promising if many cards are home, corners are empty, and few cards lie on those that go home next.
"""

from typing import Final

from msgspec import Struct

from samedeal.cards import Card
from samedeal.game import Move
from samedeal.games.corner_stones import AFTER, CORNERS, FIRSTS, STACKS, CornerStones
from samedeal.solver.solution import Beams, Path, Solution
from samedeal.table import Table

WIDTHS: Final = (8, 32, 128, 512, 2048, 8192)
"""The numbers of positions that successive beams keep."""
MAX_MOVES: Final = 400
"""The maximum length of a line."""
MOST_COVERS: Final = 10
"""The number of cards on a card beyond which it makes no difference."""
_HOME: Final = 40
_EMPTY: Final = {stack: 40 if stack in CORNERS else -30 for stack in STACKS}
_COVER: Final = 7
"""The cost of each card on one that goes home next."""
_OTHER_ROW: Final = 2
"""The additional covers of a card in a side stack that does not feed its foundation."""
_SIDES: Final = tuple((f"l{row}", f"r{row}") for row in "1234")


def search(start: CornerStones, budget: int) -> Solution:
    """Search for a winning line, visiting at most ``budget`` positions."""
    return _Beams(start, budget).solution(WIDTHS)


class _Beams(Beams):
    def __init__(self, start: CornerStones, budget: int) -> None:
        super().__init__(budget)
        self.start = start

    def run(self, width: int) -> tuple[Path, bool]:
        layer: list[tuple[CornerStones, Path]] = [(self.start, None)]
        seen = {_key(self.start)}
        is_complete = True
        for _ in range(MAX_MOVES):
            following = list[tuple[int, CornerStones, Path]]()
            for position, path in layer:
                for move in position.moves():
                    self.visit()
                    after = position.after(move)
                    if after.won:
                        return (move, path), is_complete
                    if (key := _key(after)) not in seen:
                        seen.add(key)
                        following.append((Outlook.of(after.table).value(MOST_COVERS), after, (move, path)))
            following.sort(key=lambda each: -each[0])
            is_complete &= len(following) <= width
            layer = [(position, path) for _, position, path in following[:width]]
            if not layer:
                return None, is_complete
        return None, False


def _key(position: CornerStones) -> tuple[object, ...]:
    piles = position.table.piles
    corners = tuple(sorted(piles[place] for place in CORNERS))
    return corners, tuple(tuple(sorted((piles[left], piles[right]))) for left, right in _SIDES)


class Outlook(Struct):
    """A position with what its value depends on."""

    table: Table
    wanted: dict[str, Card]
    """The cards that go home next, by foundation."""
    covers: dict[Card, list[tuple[str, int]]]
    """For each of these cards, the stacks that it is in, with the numbers of cards on it."""
    settled: int
    """The part of the value that depends on the cards home and the empty stacks."""

    @classmethod
    def of(cls, table: Table) -> "Outlook":
        piles = table.piles
        wanted = {place: card for place, after in AFTER.items() if (card := after[piles[place][-1]])}
        covers: dict[Card, list[tuple[str, int]]] = {card: [] for card in wanted.values()}
        for stack in STACKS:
            for number, card in enumerate(reversed(piles[stack])):
                if card in covers:
                    covers[card].append((stack, number))
        settled = _HOME * table.count(FIRSTS) + sum(_EMPTY[stack] for stack in table.empty(STACKS))
        return cls(table, wanted, covers, settled)

    def value(self, most_covers: int) -> int:
        """Return how promising the position is, where more than ``most_covers`` cards on a card make no difference."""
        return self.settled - self._cost("", "", most_covers)

    def value_after(self, move: Move, most_covers: int) -> int:
        """Return the value of the position after a move."""
        source, target = move[:2], move[2:]
        if target in FIRSTS:
            return Outlook.of(self.table.moved(source, target)).value(most_covers)
        emptied = _EMPTY[source] if len(self.table[source]) == 1 else 0
        filled = 0 if self.table[target] else _EMPTY[target]
        return self.settled + emptied - filled - self._cost(source, target, most_covers)

    def _cost(self, source: str, target: str, most_covers: int) -> int:
        """Return the cost of the covers, after the move from a stack to another if they are given."""
        total = 0
        for foundation, card in self.wanted.items():
            fewest = most_covers
            for stack, number in self.covers[card]:
                at = stack
                if stack == source:
                    if number == 0:
                        at = target
                    else:
                        number -= 1
                elif stack == target:
                    number += 1
                if at not in CORNERS and at[1] != foundation[1]:
                    number += _OTHER_ROW
                fewest = min(fewest, number)
            total += fewest
        return _COVER * total
