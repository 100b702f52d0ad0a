"""Friendly deals: which of the deals that a root allows is dealt.

A root is a text that stands for a row of deals, those of the seeds ``root.0``, ``root.1``, ``root.2`` …, and the first
of them that passes a filter is dealt. A filter chooses among deals and changes no rule. Like a bot it has a version:
whoever knows the root and the name of the filter can work out again which deal it had to be.
"""

from collections.abc import Callable

from samedeal.computer.bots import play, plays
from samedeal.game import Game, Variant

FILTERS = ("any", "friendly/1")
"""Every deal passes `any`. Those that pass `friendly/1` can be won with a fair chance."""
TRIES = 4096
"""How many deals of a root are tried. Of a game's deals at least four in a hundred pass, so more are never needed."""

_PLAYS = 60
_WINS = range(18, 49)
"""How many of its plays the bot wins where a deal is friendly: from 30 to 80 in a hundred."""


def usual_filter(game: type[Game]) -> str:
    """The filter that suits a sealed deal of a game: one that does something, where there is one."""
    return FILTERS[-1] if game.slug in _TESTS else "any"


def passes(game: type[Game], seed: str, variant: Variant, name: str) -> bool:
    """Whether the deal of a seed passes a filter. Raises ValueError for a filter that there is not."""
    if name not in FILTERS:
        raise ValueError(f"{name!r} is no filter: there are {' and '.join(FILTERS)}")
    test = _TESTS.get(game.slug) if name != "any" else None
    return test is None or test(game, seed, variant)


def first(game: type[Game], root: str, variant: Variant, name: str) -> int:
    """The smallest k for which the seed ``root.k`` passes. Raises LookupError if none of the first 4096 does."""
    found = _first(game, root, variant, name, TRIES)
    if found is None:
        raise LookupError(f"none of the first {TRIES} deals of the root {root!r} passes {name}")
    return found


def check(game: type[Game], root: str, variant: Variant, name: str, k: int) -> bool:
    """Whether k is what ``first`` answers. Looks at no deal after the first that passes."""
    return 0 <= k < TRIES and _first(game, root, variant, name, k + 1) == k


def _first(game: type[Game], root: str, variant: Variant, name: str, tries: int) -> int | None:
    return next((k for k in range(tries) if passes(game, f"{root}.{k}", variant, name)), None)


def _won_now_and_then(game: type[Game], seed: str, variant: Variant) -> bool:
    """Whether the bot wins 18 to 48 of its first 60 plays, found out with as few of them as it takes."""
    fewest, most = 0, _PLAYS  # wins, whatever comes
    for run in plays(game, seed, range(_PLAYS), variant):
        fewest, most = fewest + run.won, most - (not run.won)
        if most < _WINS[0] or fewest > _WINS[-1] or (fewest in _WINS and most in _WINS):
            break
    return fewest in _WINS and most in _WINS


def _won_at_first(game: type[Game], seed: str, variant: Variant) -> bool:
    """Whether the bot wins its first play."""
    return play(game, seed, 0, variant).won


_TESTS: dict[str, Callable[[type[Game], str, Variant], bool]] = {
    "the-edge": _won_now_and_then,
    "kings-in-the-corners": _won_now_and_then,
    "corners": _won_at_first,
}
"""What makes a deal friendly. Nearly every deal of Corner Stones can be won, and in Gallery only the score counts."""
