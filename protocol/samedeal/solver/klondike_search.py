"""Klondike: a best-first search that prefers positions with few face-down cards, and few cards on those needed soon.

Each step plays a card or the end of a column. For a card of the stock or the waste, the step begins with the draws, and
the redeal, that bring it to the top. Cards that are safe on the foundations go there with the step. Columns are
interchangeable, so positions that differ only in their order are visited once.

A column is split only if the card under the split goes home: otherwise the same is possible later, with the two cards
that fit in exchanged roles.
"""

from collections.abc import Hashable, Iterator

from samedeal.cards import KING, SUITS, rank_of, suit_of
from samedeal.games.alternating import FOUNDATIONS, SMALLEST
from samedeal.games.klondike import COLUMNS, Klondike
from samedeal.solver.solution import Solution, best_first, put

_Pile = tuple[int, ...]
"""Cards are numbers: four for each rank, and in a rank the suits in the order spades, hearts, clubs, diamonds."""
_State = tuple[tuple[_Pile, ...], _Pile, _Pile, int, int]
"""The columns, each with the number of its face-down cards in front; the heights of the foundations; the waste with the
stock in the order of the draws; the number of these cards that are on the waste; the redeals left, or _UNLIMITED.
"""
_Step = tuple[str, _State]
_UNLIMITED = -1
_HOME, _DOWN, _BURIED, _COVERED = 7, 22, 5, 4
"""What counts in the value of a position: a card home; a face-down card; a card on a face-down one that goes home next
or next but one, and a card on a lower face-down one of its suit.
"""


def search(start: Klondike, budget: int) -> Solution:
    """Search for a winning line, visiting at most ``budget`` positions."""
    moves = _Moves(int(start.draw), start.played)
    return best_first(
        _state_of(start),
        budget,
        moves.steps,
        moves.key,
        value=lambda state, _: _value(state[0], state[1]),
        home=lambda state: sum(state[1]),
    )


def _state_of(start: Klondike) -> _State:
    def numbers(place: str) -> _Pile:
        return tuple([4 * (rank_of(card) - 1) + SUITS.index(suit_of(card)) for card in start.table[place]])

    columns = tuple([(down, *numbers(place)) for down, place in zip(start.down, COLUMNS, strict=True)])
    heights = tuple([len(start.table[place]) for place in FOUNDATIONS.values()])
    left = _UNLIMITED if start.passes == "unlimited" else int(start.passes) - start.passed
    return columns, heights, numbers("waste") + numbers("stock")[::-1], len(start.table["waste"]), left


class _Moves:
    """The steps of a search. ``played`` is whether a redeal is allowed before a play, as it is after the first step."""

    def __init__(self, drawn: int, played: bool) -> None:
        self.drawn, self.played = drawn, played

    def key(self, state: _State) -> Hashable:
        columns, _, talon, waste, left = state
        if left == _UNLIMITED and (waste % self.drawn == 0 or waste == len(talon)):
            waste = 0  # the same cards are in reach
        return frozenset(columns), talon, waste, left

    def steps(self, state: _State) -> Iterator[_Step]:
        for move, (columns, heights, talon, waste, left) in self.plays(state, self.played):
            while (at := next((at for at, column in enumerate(columns) if _is_safe(column, heights)), -1)) >= 0:
                rank, suit = divmod(columns[at][-1], 4)
                columns, heights = _without(columns, at, 1), put(heights, suit, rank + 1)
                move += f" {COLUMNS[at]}f{suit + 1}"
            yield move, (columns, heights, talon, waste, left)
        self.played = True

    def plays(self, state: _State, played: bool) -> Iterator[_Step]:
        columns, heights, talon, waste, left = state
        tops = [(to, column[-1]) for to, column in enumerate(columns) if len(column) > 1]
        empty = [to for to, column in enumerate(columns) if len(column) == 1][:1]
        rest = talon, waste, left
        for at, card in tops:
            column, (rank, suit) = columns[at], divmod(card, 4)
            if heights[suit] == rank:
                yield f"{COLUMNS[at]}f{suit + 1}", (_without(columns, at, 1), put(heights, suit, rank + 1), *rest)
            up = len(column) - 1 - column[0]
            counts = [(to, count) for to, onto in tops if 0 < (count := onto // 4 - rank) <= up]
            if column[0] and column[-up] // 4 == KING - 1:
                counts += [(to, up) for to in empty]
            for to, count in counts:
                under, is_other = column[-count - 1], not columns[to][1:] or (columns[to][-1] ^ column[-count]) & 1
                if is_other and (count == up or heights[under % 4] == under // 4):
                    moved = put(_without(columns, at, count), to, columns[to] + column[-count:])
                    yield COLUMNS[at] + COLUMNS[to], (moved, heights, *rest)
        for draws, at, redeals in self.reached(len(talon), waste, left, played):
            card, rest = talon[at], (talon[:at] + talon[at + 1 :], at, redeals)
            rank, suit = divmod(card, 4)
            if heights[suit] == rank:
                yield f"{draws}wf{suit + 1}", (columns, put(heights, suit, rank + 1), *rest)
            for to in self.targets(card, tops, empty):
                yield f"{draws}w{COLUMNS[to]}", (put(columns, to, (*columns[to], card)), heights, *rest)
        for suit, height in enumerate(heights):
            if height > SMALLEST:
                card, lower = 4 * height - 4 + suit, put(heights, suit, height - 1)
                for to in self.targets(card, tops, empty):
                    after = put(columns, to, (*columns[to], card)), lower, talon, waste, left
                    yield f"f{suit + 1}{COLUMNS[to]}", after

    def targets(self, card: int, tops: list[tuple[int, int]], empty: list[int]) -> list[int]:
        if card // 4 == KING - 1:
            return empty
        return [to for to, onto in tops if onto // 4 == card // 4 + 1 and (onto ^ card) & 1]

    def reached(self, size: int, waste: int, left: int, played: bool) -> Iterator[tuple[str, int, int]]:
        """Yield the cards of the waste and the stock that draws, and a redeal, can bring to the top of the waste.

        For each there are the moves before it is played, its index and the redeals that are left.
        """
        draws, ends = "", {0, waste}
        if waste:
            yield draws, waste - 1, left
        for redeal in (False, True):
            if redeal:
                if not (left and played):
                    return
                draws, waste, left = draws + "redeal ", 0, left - (left > 0)
            while waste < size:
                waste = min(waste + self.drawn, size)
                draws += "draw "
                if waste not in ends:
                    ends.add(waste)
                    yield draws, waste - 1, left


def _is_safe(column: _Pile, heights: _Pile) -> bool:
    """Return whether the last card of a column can go home and is not needed by lower cards."""
    rank, suit = divmod(column[-1], 4)
    if heights[suit] != rank or len(column) == 1:
        return False
    return rank < SMALLEST or rank <= min(heights[suit ^ 1], heights[suit ^ 3], heights[suit ^ 2] + 1)


def _value(columns: tuple[_Pile, ...], heights: _Pile) -> int:
    """Return how far the columns and foundations are from a win: less is better."""
    total = -_HOME * sum(heights)
    for column in columns:
        size = len(column)
        total += _DOWN * column[0]
        for at in range(1, column[0] + 1):
            card = column[at]
            if card // 4 <= heights[card % 4] + 1:
                total += _BURIED * (size - 1 - at)
            for upper in column[at + 1 :]:
                if upper > card and (upper ^ card) & 3 == 0:
                    total += _COVERED
    return total


def _without(columns: tuple[_Pile, ...], at: int, count: int) -> tuple[_Pile, ...]:
    """Return the columns without the last cards of one, of which the next one is face up."""
    down, *_ = column = columns[at][:-count]
    return put(columns, at, (down - 1, *column[1:]) if 0 < down == len(column) - 1 else column)
