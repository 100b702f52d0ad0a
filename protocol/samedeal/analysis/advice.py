"""Advice on a position: whether it can be won, whether the last move was a mistake, and which move to make."""

from collections.abc import Sequence

from msgspec import Struct

from samedeal.computer.bot import Seen
from samedeal.computer.bots import BOTS
from samedeal.deck import Words
from samedeal.game import Game, Move, Variant
from samedeal.solver.solution import Solution, SolutionOutcome
from samedeal.solver.solve import SOLVERS, solve


class Hint(Struct, frozen=True):
    """A move to make. Cards in texts are in notation form."""

    move: Move
    rule: str
    """The rule that allows it."""
    reason: str
    """Why to make it."""


class Advice(Struct, frozen=True, kw_only=True):
    """What the computer says about a position when it knows all cards."""

    outcome: SolutionOutcome
    """``won`` if it found a way to win, ``lost`` if there is provably none, ``open`` if it found none."""
    positions: int
    """The number of positions that the search visited."""
    was_mistake: bool | None = None
    """Whether the last move threw away a win; None if that is unknown or no move has been made."""
    text: str
    """All of this in words."""
    hint: Hint | None = None
    """None if the game is over."""


def advise(deal: Game, moves: Sequence[Move], variant: Variant) -> Advice:
    """Return advice on the position after moves from a deal. Raises IllegalMove."""
    position = before = deal
    for move in moves:
        before, position = position, position.after(move)
    earlier = _solved(before) if moves else None
    if earlier and earlier.line[:1] == tuple(moves[-1:]):
        solution = Solution("won", 0, earlier.line[1:])
    else:
        solution = _solved(position)
    was_mistake, judgement = _judgement(earlier, solution) if earlier else (None, "")
    return Advice(
        outcome=solution.outcome,
        positions=solution.nodes,
        was_mistake=was_mistake,
        text=f"{_verdict(position, solution)} {judgement}".rstrip(),
        hint=None if position.over else _hint(position, solution, moves[-1] if moves else "", variant),
    )


def _solved(position: Game) -> Solution:
    return solve(position, SOLVERS[position.slug].budget)


def _verdict(position: Game, solution: Solution) -> str:
    if position.won:
        return "You have won."
    match solution.outcome:
        case "won":
            return "The game can be won from here."
        case "lost":
            return "The game cannot be won from here."
        case _:
            return f"No win was found from here ({solution.nodes:,} positions looked at)."


def _judgement(before: Solution, after: Solution) -> tuple[bool | None, str]:
    """Return whether the last move was a mistake, and the same in words."""
    match before.outcome, after.outcome:
        case _, "won":
            return False, "The last move was not a mistake."
        case "won", "lost":
            return True, "The last move was a mistake: you could still have won before it."
        case "won", _:
            return None, "A win was found before the last move, so that move may have been a mistake."
        case "lost", _:
            return False, "It was already lost before the last move."
        case _:
            return None, "No win was found before the last move, either."


def _hint(position: Game, solution: Solution, last: Move, variant: Variant) -> Hint:
    if solution.outcome == "won":
        return Hint(solution.line[0], position.why(solution.line[0]), "This move starts a winning line.")
    words = Words(f"hint|{position}")
    move = BOTS[position.slug].strategy(Seen.of(position, variant), last, words)[0]
    return Hint(move, position.why(move), "No winning line is known. This is what the computer would play.")
