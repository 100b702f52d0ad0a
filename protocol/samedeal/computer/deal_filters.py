"""Deal filters, which decide which deal of a root is dealt.

A root is a text that defines a sequence of deals with the seeds ``root.0``, ``root.1``, ``root.2`` …. The first deal
that passes the filter is dealt. Filters do not change the rules. They are versioned like bots, so the choice can be
reproduced from the root and the name of the filter.
"""

from collections.abc import Callable

from samedeal.computer.bots import play, plays
from samedeal.game import Game, Variant

FILTERS = ("any", "friendly/1")
"""Every deal passes ``any``. Players have a fair chance of winning the deals that pass ``friendly/1``."""
TRIES = 4096
"""The maximum number of deals to try per root. At least 4 % of the deals pass, so more are never needed."""

_PLAYS = 60
_WINS = range(18, 49)
"""The number of wins in these plays that makes a deal friendly: 30 % to 80 %."""


def usual_filter(game: type[Game]) -> str:
    """Return the default filter for sealed deals of a game."""
    return FILTERS[-1] if game.slug in _TESTS else "any"


def passes(game: type[Game], seed: str, variant: Variant, name: str) -> bool:
    """Return whether the deal of a seed passes a filter. Raises ValueError for an unknown filter."""
    if name not in FILTERS:
        raise ValueError(f"{name!r} is not a valid filter (try {' or '.join(FILTERS)})")
    test = _TESTS.get(game.slug) if name != "any" else None
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


def _is_won_sometimes(game: type[Game], seed: str, variant: Variant) -> bool:
    """Return whether the bot wins 18 to 48 of its first 60 plays. Stops as soon as the answer is known."""
    fewest, most = 0, _PLAYS  # bounds on the number of wins
    runs = plays(game, seed, range(_PLAYS), variant)
    while most >= _WINS[0] and fewest <= _WINS[-1] and not (fewest in _WINS and most in _WINS):
        won = next(runs).won
        fewest, most = fewest + won, most - (not won)
    return fewest in _WINS and most in _WINS


def _is_won_first(game: type[Game], seed: str, variant: Variant) -> bool:
    """Return whether the bot wins its first play."""
    return play(game, seed, 0, variant).won


_TESTS: dict[str, Callable[[type[Game], str, Variant], bool]] = {
    "the-edge": _is_won_sometimes,
    "kings-in-the-corners": _is_won_sometimes,
    "corners": _is_won_first,
}
"""The test for a friendly deal. Nearly every deal of Corner Stones can be won, and Gallery is played for its score."""
