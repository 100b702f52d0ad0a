"""Kings in the Corners by brute force: a search of all moves, which shares no code with the solver, and a comparison.

    PYTHONPATH=tests python -m support.all_moves --deals 100 --limit 1000000

The search treats cells with the same label as equal, and ignores suits; it leaves out no move.
"""

import argparse
import sys
from itertools import count

from samedeal.cards import rank_of
from samedeal.game import Game
from samedeal.games.grid import CELLS
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.solver.solve import BUDGETS, solve


def can_be_won(start: Game, limit: int) -> bool | None:
    """Try all moves. Return None after ``limit`` positions."""
    seen, waiting = {_key(start)}, [start]
    while waiting:
        position = waiting.pop()
        if position.won:
            return True
        for move in position.moves():
            after = position.after(move)
            if (key := _key(after)) not in seen:
                seen.add(key)
                waiting.append(after)
        if len(seen) > limit:
            return None
    return False


def _key(position: Game) -> int:
    """Return the hash of what matters of a position on the grid."""
    tops = position.table.top
    held = sorted((_label(cell), rank_of(card)) for cell in CELLS if (card := tops(cell)))
    return hash((tuple(held), len(position.table["stock"]), tops("hand"), "draw" in position.moves()))


def _label(cell: str) -> str:
    return KingsInTheCorners.labels.get(cell, "")


def main() -> int:
    """Compare until so many full deals are decided by both searches, and print how many are won and lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deals", type=int, default=100)
    parser.add_argument("--limit", type=int, default=1_000_000)
    arguments = parser.parse_args()
    found = {"won": 0, "lost": 0, "undecided": 0, "contradictions": 0}
    for number in count():
        deal = KingsInTheCorners.from_seed(f"brute-{number}")
        solved = solve(deal, BUDGETS[KingsInTheCorners.slug]).outcome
        expected = can_be_won(deal, arguments.limit)
        if expected is None or solved == "open":
            found["undecided"] += 1
        elif expected == (solved == "won"):
            found[solved] += 1
        else:
            found["contradictions"] += 1
            print(f"brute-{number}: {solved}, but a search of all moves says otherwise")
        print(", ".join(f"{count} {name}" for name, count in found.items()), flush=True)
        if found["won"] + found["lost"] >= arguments.deals:
            return 1 if found["contradictions"] else 0
    raise AssertionError("unreachable")


if __name__ == "__main__":
    sys.exit(main())
