"""The analysis of a finished race: a winning line of its deal, and the turning point of each racer."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from samedeal.analysis.turning_point import TurningPoint, last_line, turn_of
from samedeal.game import Game, Move
from samedeal.race.race import Race
from samedeal.solver.solution import Solution, SolutionOutcome
from samedeal.solver.solve import SOLVERS, solve

MAX_RACERS: Final = 8
"""The number of racers whose turning points are searched for, the best ones."""


class Analysis(Struct, frozen=True, kw_only=True):
    """What could have been done on the deal of a finished race."""

    game: str
    deal: str
    """The code of the deal."""
    variant: dict[str, str | bool]
    outcome: SolutionOutcome
    """``won`` if a winning line is known, ``lost`` if there is provably none, ``open`` if none was found."""
    positions: int
    """The number of positions that the search for a winning line visited."""
    line: tuple[Move, ...] = ()
    """The moves of a winning line, if one is known."""
    racers: tuple[TurningPoint, ...] = ()
    """The turning points of the best racers who did not win, in the order of the standings."""

    @property
    def text(self) -> str:
        """Whether the deal can be solved, in a sentence."""
        if self.outcome == "won":
            return f"This deal can be solved in {len(self.line)} move{'' if len(self.line) == 1 else 's'}."
        positions = f"{self.positions:,} positions"
        if self.outcome == "lost":
            return f"This deal cannot be solved{f' ({positions})' if self.positions else ''}."
        return f"No solution found{f' in {positions}' if self.positions else ''}."


def analysed(
    race: Race, solution: Solution | None = None, on_progress: Callable[[int], object] = lambda racers: None
) -> Analysis:
    """Return the analysis of a closed race with a deal, given the solution of the deal if it is known.

    `on_progress` is called with the number of racers who have been dealt with.

    Raises ValueError for a race without a deal, or whose game has no solver.
    """
    deal = next((seat.run.deal for seat in race.roster if seat.run), None)
    if race.deal is None or deal is None or deal.slug not in SOLVERS:
        raise ValueError(f"there is nothing to analyse in {race.id}")
    solution = solution or solve(deal, SOLVERS[deal.slug].budget)
    searches, line, racers = _Searches(deal.slug), solution.line, list[TurningPoint]()
    runs = [(standing.seat, run) for standing in race.standings() if (run := race.seat(standing.seat).run)][:MAX_RACERS]
    for count, (seat, run) in enumerate(runs):
        on_progress(count)
        points = last_line(run.deal, run.moves)
        if run.game.won:
            line = line or points[-1].moves
            continue
        searches.share = searches.left // (len(runs) - count)
        turn = turn_of(points, solution, searches)
        line = line or turn.winning
        step = points[turn.last].step if turn.last >= 0 else None
        is_end = turn.last == len(points) - 1
        racers.append(TurningPoint(seat=seat, step=step, is_end=is_end, proven=turn.proven))
    return Analysis(
        game=race.header.game,
        deal=race.deal,
        variant=dict(race.header.variant),
        outcome="won" if line else solution.outcome,
        positions=solution.nodes,
        line=line,
        racers=tuple(racers),
    )


class _Searches:
    """Searches for winning lines from the positions of a race, with a common budget."""

    def __init__(self, slug: str) -> None:
        self._budget, self.left = SOLVERS[slug].turning_point, SOLVERS[slug].turning_points
        self.share = self.left
        """What the searches for the present racer may use."""

    def __call__(self, position: Game) -> Solution:
        solution = solve(position, min(self._budget, self.share))
        self.share -= solution.nodes
        self.left -= solution.nodes
        return solution
