"""Gallery: a beam search that advances deal by deal, guided by random plays of the real deal.

A layer has the most promising positions after the same number of deals. From each, the search plays at random up to the
next deal several times, and values where that leads by the best and the mean of some random plays to the end. Positions
that are provably lost leave the layer. As many deals cannot be won, the line with the best score is of use, too.
"""

from itertools import islice
from typing import Final

from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.gallery import ROWS, TABLEAU, Gallery
from samedeal.solver.gallery_proof import is_lost
from samedeal.solver.solution import BudgetSpent, Search, Solution

WIDTHS: Final = (3, 5, 8, 12, 20, 32, 50, 80, 125)
"""The numbers of positions that successive beams keep."""
_WAYS: Final = 10
"""The number of random ways to the next deal, from each position."""
_PLAYS: Final = 3
"""The number of random plays that value a position."""
_DEAL: Final = "deal"


def search(start: Gallery, budget: int) -> Solution:
    """Search for a proof of loss, and then for a winning line, visiting at most ``budget`` positions."""
    if is_lost(start):
        return Solution("lost", 0)
    best = search_best(start, budget)
    return best if best.outcome == "won" else Solution("open", best.nodes)


def search_best(start: Gallery, budget: int) -> Solution:
    """Search for a line with as many cards home as possible, visiting at most ``budget`` positions.

    The outcome is ``open`` unless the line wins.
    """
    beams = _Beams(start, budget)
    try:
        for width in WIDTHS:
            beams.run(width)
            if beams.best[0] == start.goal:
                break
    except BudgetSpent:
        pass
    home, line = beams.best
    return Solution("won" if home == start.goal else "open", beams.nodes, line)


class _Beams(Search):
    def __init__(self, start: Gallery, budget: int) -> None:
        super().__init__(budget)
        self.start = start
        self.words = Words(f"gallery-solver|{_key(start)}")
        self.best: tuple[int, tuple[Move, ...]] = (start.home, ())
        """The most cards home so far, and the moves that lead there."""

    def run(self, width: int) -> None:
        layer: list[tuple[Gallery, tuple[Move, ...]]] = [(self.start, ())]
        while layer and self.best[0] < self.start.goal:
            following = list[tuple[int, Gallery, tuple[Move, ...]]]()
            seen = set[tuple[object, ...]]()
            for position, line in layer:
                for _ in range(_WAYS):
                    after, moves = self.to_next_deal(position, line)
                    key = _key(after)
                    if key not in seen and not after.over:
                        seen.add(key)
                        following.append((self.value(after, moves), after, moves))
            following.sort(key=lambda each: -each[0])
            layer = list(islice(((after, line) for _, after, line in following if not is_lost(after)), width))

    def to_next_deal(self, position: Gallery, line: tuple[Move, ...]) -> tuple[Gallery, tuple[Move, ...]]:
        """Play at random until little is left to play, and then deal."""
        while plays := [move for move in position.moves() if move != _DEAL]:
            if self.words.below(33) == 0:
                break
            position, line = self.step(position, line, plays[self.words.below(len(plays))])
        return self.step(position, line, _DEAL) if position.table["stock"] else (position, line)

    def value(self, position: Gallery, line: tuple[Move, ...]) -> int:
        """Return six times the most cards home in random plays to the end, plus the sum over these plays."""
        ends = [self.play(position, line) for _ in range(_PLAYS)]
        return 6 * max(ends) + sum(ends)

    def play(self, position: Gallery, line: tuple[Move, ...]) -> int:
        """Play at random to the end, and return the number of cards home."""
        while moves := position.moves():
            plays = [move for move in moves if move != _DEAL]
            deals = len(plays) < len(moves) and (not plays or self.words.below(66) == 0)
            move = _DEAL if deals else plays[self.words.below(len(plays))]
            position, line = self.step(position, line, move)
        return position.home

    def step(self, position: Gallery, line: tuple[Move, ...], move: Move) -> tuple[Gallery, tuple[Move, ...]]:
        self.visit()
        after, moves = position.after(move), (*line, move)
        if after.home > self.best[0]:
            self.best = after.home, moves
        return after, moves


def _key(position: Gallery) -> tuple[object, ...]:
    """Return what matters of a position: spots of a row are equal."""
    piles = position.table.piles
    rows = tuple(tuple(sorted((piles[spot][:1], len(piles[spot])) for spot in row)) for row in ROWS.values())
    return rows, tuple(piles[place] for place in TABLEAU), len(piles["stock"])
