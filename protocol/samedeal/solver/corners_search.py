"""Corners: a beam search that advances card by card through the stock.

A layer has the most promising positions after the same number of draws. Each is expanded by all ways to play cards
without a draw, and then by the draw or redeal that leads to the next layer. Wider beams follow narrow ones. The search
finds wins; it proves that there are none only where a beam has left nothing out.
"""

from collections.abc import Sequence
from typing import Final

from samedeal.cards import KING, rank_of, suit_of
from samedeal.game import Move
from samedeal.games.corners import FOUNDATIONS, PASSES, RESERVE, Corners
from samedeal.solver.solution import Beams, Path, Solution

WIDTHS: Final = (4, 16, 64, 256, 1024, 4096)
"""The numbers of positions that successive beams keep."""
_HOME: Final = KING - 1
"""The number of cards that go onto a foundation."""
_State = tuple[tuple[int, ...], int, int, int, int]
"""The cards home by suit; the reserve, and the waste with the stock, as bits; the first card of the stock; the pass.

The cards have numbers: first the reserve, then the waste from the bottom, then the stock from the top. A redeal turns
the waste over, so its cards stay in this order.
"""


def search(start: Corners, budget: int, widths: Sequence[int] = WIDTHS) -> Solution:
    """Search for a winning line, visiting at most ``budget`` positions.

    Deal filters depend on the default widths, so they never change.
    """
    return _Beams(start, budget).solution(widths)


class _Beams(Beams):
    def __init__(self, start: Corners, budget: int) -> None:
        super().__init__(budget)
        self.position = start
        piles = start.table.piles
        reserve = [card for place in RESERVE for card in piles[place]]
        self.names = [*reserve, *piles["waste"], *reversed(piles["stock"])]
        suits = {suit: index for index, suit in enumerate(FOUNDATIONS)}
        bases = {suit: rank_of(piles[place][0]) for suit, place in FOUNDATIONS.items()}
        self.cards = [(suits[suit_of(card)], (rank_of(card) - bases[suit_of(card)]) % KING) for card in self.names]
        self.numbers = {card: number for number, card in enumerate(self.cards)}
        home = tuple(len(piles[place]) - 1 for place in FOUNDATIONS.values())
        held = (1 << len(reserve)) - 1
        rest = ((1 << len(self.names)) - 1) ^ held
        self.start: _State = home, held, rest, len(reserve) + len(piles["waste"]), start.passed
        self.waste_first = start.refill == "waste"

    def run(self, width: int) -> tuple[Path, bool]:
        layer: list[tuple[_State, Path]] = [(self.start, None)]
        is_complete = True
        while layer:
            following = dict[_State, Path]()
            seen = {state for state, _ in layer}
            for state, path in layer:  # plays are appended to the layer
                self.visit()
                for move, after in self.plays(state):
                    if sum(after[0]) == len(after[0]) * _HOME:
                        return (move, path), is_complete
                    if after not in seen:
                        seen.add(after)
                        layer.append((after, (move, path)))
                if drawn := self.draw(state):
                    move, after = drawn
                    following.setdefault(after, (move, path))
            best = sorted(following, key=self.value, reverse=True)
            is_complete &= len(best) <= width
            layer = [(state, following[state]) for state in best[:width]]
        return None, is_complete

    def line(self, steps: Sequence[str]) -> tuple[Move, ...]:
        position, moves = self.position, list[Move]()
        for step in steps:
            places = {card: place for place, card in position.table.tops(RESERVE)}
            moves.append(places.get(step, step))
            position = position.after(moves[-1])
        return tuple(moves)

    def plays(self, state: _State) -> list[tuple[str, _State]]:
        """Return the plays to the foundations, each with the state after it. Cards stand for plays from the reserve."""
        home, reserve, rest, first, passed = state
        found = list[tuple[str, _State]]()
        top = (rest & ((1 << first) - 1)).bit_length() - 1
        if top >= 0 and self.cards[top][1] == home[self.cards[top][0]] + 1:
            found.append(("w", self.filled(self.played(home, top), reserve, rest ^ (1 << top), first, passed)))
        held = reserve
        while held:
            bit = held & -held
            held ^= bit
            card = bit.bit_length() - 1
            suit, step = self.cards[card]
            if step == home[suit] + 1:
                found.append(
                    (self.names[card], self.filled(self.played(home, card), reserve ^ bit, rest, first, passed))
                )
        return found

    def draw(self, state: _State) -> tuple[Move, _State] | None:
        """Return the draw or the redeal with the state after it, or None if neither is possible."""
        home, reserve, rest, first, passed = state
        stock = rest >> first << first
        if stock:
            return "draw", self.filled(home, reserve, rest, (stock & -stock).bit_length(), passed)
        if rest and passed < PASSES:
            return "redeal", self.filled(home, reserve, rest, 0, passed + 1)
        return None

    def played(self, home: tuple[int, ...], card: int) -> tuple[int, ...]:
        suit = self.cards[card][0]
        return (*home[:suit], home[suit] + 1, *home[suit + 1 :])

    def filled(self, home: tuple[int, ...], reserve: int, rest: int, first: int, passed: int) -> _State:
        """Return the state after the empty places of the reserve are filled."""
        for _ in range(len(RESERVE) - reserve.bit_count()):
            waste = rest & ((1 << first) - 1) if self.waste_first else 0
            stock = rest >> first << first
            bit = 1 << (waste.bit_length() - 1) if waste else stock & -stock
            reserve, rest = reserve | bit, rest ^ bit
        return home, reserve, rest, first, passed

    def value(self, state: _State) -> int:
        """Return how promising a state is: the cards home, and for each suit the cards that are ready to follow."""
        home, reserve, rest, first, _ = state
        value = 60 * sum(home)
        for suit, count in enumerate(home):
            at = first - 1
            for step in range(count + 1, KING):
                card = self.numbers[suit, step]
                if reserve >> card & 1:
                    value += 16
                elif card > at:  # it comes from the stock after the one before it
                    value += 14
                    at = card
                else:
                    if card < first:  # the cards on it must go first
                        value -= ((rest & ((1 << first) - 1)) >> (card + 1)).bit_count()
                    break
        return value
