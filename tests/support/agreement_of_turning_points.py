"""Compares turning points, as found by bisection, with a search from every position of a play.

PYTHONPATH=tests python -m support.agreement_of_turning_points --plays 50
"""

import argparse
import sys
from collections.abc import Iterator

from samedeal.analysis.turning_point import Point, last_line, turn_of
from samedeal.computer.bots import BOTS, play
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.solver.solution import Solution
from samedeal.solver.solve import BUDGETS, solve

COMPARED = ("the-edge", "kings-in-the-corners", "corners")


def lost_plays(slug: str, count: int) -> Iterator[list[Point]]:
    """Yield the positions of plays of the bot that were not won."""
    number = 0
    while count:
        run = play(GAMES[slug], f"turn {number}", 0)
        number += 1
        if not run.won:
            count -= 1
            yield last_line(GAMES[slug].from_seed(f"turn {number - 1}", **BOTS[slug].variant), run.moves)


def disagreement(line: list[Point], budget: int) -> str:
    """Return how bisection and the search from every position differ, or an empty text."""
    known: dict[int, Solution] = {}

    def search(position: Game) -> Solution:
        (index,) = [index for index, point in enumerate(line) if point.position is position]
        if index not in known:
            known[index] = solve(position, budget)
        return known[index]

    turn = turn_of(line, search(line[0].position), search)
    searched = len(known)
    outcomes = [search(point.position).outcome for point in line]
    last = max((index for index, outcome in enumerate(outcomes) if outcome == "won"), default=-1)
    # A win that is found from a position can go through later ones, in which the same search finds none.
    agrees = turn.last >= last and "lost" not in outcomes[: turn.last + 1] and searched <= len(line)
    if turn.proven:
        agrees &= outcomes[turn.last + 1] == "lost"
    if turn.last > last:
        agrees &= turn.winning[: turn.last] == line[turn.last].moves
    won, lost = outcomes.count("won"), outcomes.count("lost")
    return "" if agrees else f"{turn} of {len(line)} positions, {won} won and {lost} lost, the last win at {last}"


def main() -> int:
    """Compare, and print the disagreements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=int, default=50)
    parser.add_argument("--budget", type=int)
    options = parser.parse_args()
    found = []
    for slug in COMPARED:
        lines = list(lost_plays(slug, options.plays))
        differing = [text for line in lines if (text := disagreement(line, options.budget or BUDGETS[slug]))]
        print(f"{slug}: {len(lines)} lost plays, {len(differing)} turning points disagree", flush=True)
        found += differing
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
