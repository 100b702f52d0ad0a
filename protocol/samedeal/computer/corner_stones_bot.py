"""The bot of Corner Stones since version 2: it looks some moves ahead and keeps the most promising positions.

A position is promising if many cards are home, corners are empty, and few cards lie on those that go home next.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from samedeal.cards import RANKS, Card, Pile, rank_of, suit_of
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.corner_stones import CORNERS, FIRSTS, STACKS, STEPS, CornerStones
from samedeal.table import Table

_HOME: Final = 40
_EMPTY: Final = {stack: 40 if stack in CORNERS else -30 for stack in STACKS}
_COVER: Final = 7
"""The cost of each card on one that goes home next."""
_MOST_COVERS: Final = 12
_OTHER_ROW: Final = 2
"""The additional covers of a card in a side stack that does not feed its foundation."""
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
    found = [(Outlook.of(start).value_after(move), start, move, move) for move in onward]
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
            outlook = Outlook.of(table)
            for move in CornerStones(table).moves():
                if move != _back(came):
                    following.append((outlook.value_after(move), table, move, first))
        if not following:
            break
        found = following
    best = max(value for value, *_ in found)
    if best <= Outlook.of(start).value and words.below(100) < _RESTLESS:
        return onward
    firsts = {first for value, _, _, first in found if value == best}
    return [move for move in onward if move in firsts]


def _back(move: Move) -> Move:
    return move[2:] + move[:2]


def _stacks(table: Table) -> tuple[Pile, ...]:
    return tuple(map(table.piles.__getitem__, STACKS))


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
        following = {
            place: (suit_of(piles[place][-1]), rank_of(piles[place][-1]) + STEPS[place[0]]) for place in FIRSTS
        }
        wanted = {place: RANKS[rank - 1] + suit for place, (suit, rank) in following.items() if 1 <= rank <= len(RANKS)}
        covers: dict[Card, list[tuple[str, int]]] = {card: [] for card in wanted.values()}
        for stack in STACKS:
            for number, card in enumerate(reversed(piles[stack])):
                if card in covers:
                    covers[card].append((stack, number))
        settled = _HOME * table.count(FIRSTS) + sum(_EMPTY[stack] for stack in table.empty(STACKS))
        return cls(table, wanted, covers, settled)

    @property
    def value(self) -> int:
        return self.settled - self._cost("", "")

    def value_after(self, move: Move) -> int:
        """Return the value of the position after a move."""
        source, target = move[:2], move[2:]
        if target in FIRSTS:
            return Outlook.of(self.table.moved(source, target)).value
        emptied = _EMPTY[source] if len(self.table[source]) == 1 else 0
        filled = 0 if self.table[target] else _EMPTY[target]
        return self.settled + emptied - filled - self._cost(source, target)

    def _cost(self, source: str, target: str) -> int:
        """Return the cost of the covers, after the move from a stack to another if they are given."""
        total = 0
        for foundation, card in self.wanted.items():
            fewest = _MOST_COVERS
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
