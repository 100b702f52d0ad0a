"""Deal filters, which decide which deal of a root is dealt.

A root is a text that defines a sequence of deals with the seeds ``root.0``, ``root.1``, ``root.2`` …. The first deal
that passes the filter is dealt. Filters do not change the rules. They are versioned like bots, so the choice can be
reproduced from the root and the name of the filter. ``friendly/1`` uses the first version of each bot forever.
"""

from collections.abc import Callable, Mapping

from samedeal.computer.bots import plays
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.game import Game, Variant
from samedeal.solver.solve import solve

FILTERS = ("any", "friendly/1", "certified/1")
"""Every deal passes ``any``. The bot wins the deals that pass ``friendly/1``, at least sometimes. The deals that pass
``certified/1`` can be won, too, but not by always making the first legal move.
"""
TRIES = 4096
"""The maximum number of deals to try per root. At least 4 % of the deals pass, so more are never needed."""
CERTIFIED_FROM = "2026-12-01"
"""The first day whose daily deals are certified."""
NODES = 20_000
"""The budget of the search for a winning line of a certified deal of Corners."""

_PLAYS = 60
_WINS = range(18, 49)
"""The number of wins in these plays that makes a deal friendly: 30 % to 80 %."""
_CERTIFIED_PLAYS = 20
_CERTIFIED_WINS = range(1, 13)
"""The number of wins in these plays that makes a deal on the grid certified: some, but not most."""


def usual_filter(game: type[Game]) -> str:
    """Return the default filter for sealed deals of a game."""
    return FILTERS[-1] if game.slug in _TESTS[FILTERS[-1]] else "any"


def daily_filter(game: type[Game], date: str) -> str:
    """Return the filter of a game's deal of a day, such as 2026-11-21. It never changes for a day that has begun."""
    return "friendly/1" if date < CERTIFIED_FROM and usual_filter(game) != "any" else usual_filter(game)


def passes(game: type[Game], seed: str, variant: Variant, name: str) -> bool:
    """Return whether the deal of a seed passes a filter. Raises ValueError for an unknown filter."""
    if name not in FILTERS:
        raise ValueError(f"{name!r} is not a valid filter (try {', '.join(FILTERS[:-1])} or {FILTERS[-1]})")
    test = _TESTS[name].get(game.slug)
    return test is None or test(game, seed, variant)


def first(game: type[Game], root: str, variant: Variant, name: str) -> int:
    """Return the smallest k for which the seed ``root.k`` passes. Raises LookupError if none of the first 4096 does."""
    for k in range(TRIES):
        if passes(game, f"{root}.{k}", variant, name):
            return k
    raise LookupError(f"none of the first {TRIES} deals of the root {root!r} passes {name}")


def check(game: type[Game], root: str, variant: Variant, name: str, k: int) -> bool:
    """Return whether ``first`` returns ``k``. Stops at the first deal that passes."""
    numbers = range(k + 1)
    return k in range(TRIES) and all(passes(game, f"{root}.{i}", variant, name) == (i == k) for i in numbers)


def _is_won(game: type[Game], seed: str, variant: Variant, count: int, wins: range) -> bool:
    """Return whether the first bot wins so many of its first ``count`` plays. Stops as soon as the answer is known."""
    fewest, most = 0, count  # bounds on the number of wins
    runs = plays(game, seed, range(count), variant, FIRST_BOTS[game.slug])
    while most >= wins[0] and fewest <= wins[-1] and not (fewest in wins and most in wins):
        won = next(runs).won
        fewest, most = fewest + won, most - (not won)
    return fewest in wins and most in wins


def _is_friendly_on_grid(game: type[Game], seed: str, variant: Variant) -> bool:
    """Return whether the bot wins 18 to 48 of its first 60 plays."""
    return _is_won(game, seed, variant, _PLAYS, _WINS)


def _is_won_first(game: type[Game], seed: str, variant: Variant) -> bool:
    """Return whether the first bot wins its first play."""
    return next(plays(game, seed, (0,), variant, FIRST_BOTS[game.slug])).won


def _is_certified_on_grid(game: type[Game], seed: str, variant: Variant) -> bool:
    """Return whether the bot wins 1 to 12 of its first 20 plays, and always making the first legal move loses.

    A play that wins is a winning line.
    """
    is_won_sometimes = _is_won(game, seed, variant, _CERTIFIED_PLAYS, _CERTIFIED_WINS)
    return is_won_sometimes and not _first_moves_win(game.from_seed(seed, **variant))


def _is_certified(game: type[Game], seed: str, variant: Variant) -> bool:
    """Return whether always making the first legal move loses, and the solver finds a winning line within NODES."""
    deal = game.from_seed(seed, **variant)
    return not _first_moves_win(deal) and solve(deal, NODES).outcome == "won"


def _first_moves_win(position: Game) -> bool:
    """Return whether always making the first legal move wins, in a game in which no play goes on forever."""
    while moves := position.moves():
        position = position.after(moves[0])
    return position.won


_TESTS: Mapping[str, Mapping[str, Callable[[type[Game], str, Variant], bool]]] = {
    "any": {},
    "friendly/1": {
        "the-edge": _is_friendly_on_grid,
        "kings-in-the-corners": _is_friendly_on_grid,
        "corners": _is_won_first,
    },
    "certified/1": {
        "the-edge": _is_certified_on_grid,
        "kings-in-the-corners": _is_certified_on_grid,
        "corners": _is_certified,
    },
}
"""The test of each filter. Nearly every deal of Corner Stones can be won, and Gallery is played for its score."""
