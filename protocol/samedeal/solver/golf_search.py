"""Golf: a depth-first search over the heights of the columns, the next card of the stock and the rank on the waste."""

from samedeal.cards import rank_of
from samedeal.game import Move
from samedeal.games.golf import COLUMNS, NEIGHBOURS, Golf
from samedeal.solver.solution import BudgetSpent, Search, Solution

_State = tuple[tuple[int, ...], int, int]


def search(start: Golf, budget: int) -> Solution:
    """Search for a winning line, visiting at most ``budget`` positions."""
    found = _Depths(start, budget)
    try:
        won = found.run()
    except BudgetSpent:
        return Solution("open", found.nodes)
    return Solution("won", found.nodes, tuple(found.line)) if won else Solution("lost", found.nodes)


class _Depths(Search):
    def __init__(self, start: Golf, budget: int) -> None:
        super().__init__(budget)
        piles = start.table.piles
        self.columns = [[rank_of(card) for card in piles[place]] for place in COLUMNS]
        self.stock = [rank_of(card) for card in reversed(piles["stock"])]
        self.fitting = NEIGHBOURS[start.wrap]
        self.start: _State = tuple(map(len, self.columns)), 0, rank_of(piles["waste"][-1])
        self.line = list[Move]()

    def run(self) -> bool:
        """Return whether there is a win, with its moves in ``line``."""
        seen, stack = {self.start}, [iter(self.steps(self.start))]
        while stack:
            move, state = next(stack[-1], ("", self.start))
            if not move:
                stack.pop()
                self.line[-1:] = []
            elif state not in seen:
                self.line.append(move)
                if not any(state[0]):
                    return True
                seen.add(state)
                self.visit()
                stack.append(iter(self.steps(state)))
        return False

    def steps(self, state: _State) -> list[tuple[Move, _State]]:
        heights, drawn, top = state
        found = list[tuple[Move, _State]]()
        for at, height in enumerate(heights):
            if height and (rank := self.columns[at][height - 1]) in self.fitting[top]:
                found.append((COLUMNS[at], ((*heights[:at], height - 1, *heights[at + 1 :]), drawn, rank)))
        if drawn < len(self.stock):
            found.append(("draw", (heights, drawn + 1, self.stock[drawn])))
        return found
