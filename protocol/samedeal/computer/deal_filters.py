"""Deal filters, which decide which deal of a root is dealt.

A root is a text that defines a sequence of deals with the seeds ``root.0``, ``root.1``, ``root.2`` …. The first deal
that passes the filter is dealt. Filters do not change the rules. They are versioned like bots, so the choice can be
reproduced from the root and the name of the filter. ``friendly/1`` uses the first version of each bot forever.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from samedeal.computer.bots import GALLERY_BOT_2, plays
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.game import Game, Variant
from samedeal.solver.solve import solve

GRADES: Final = ("easy/1", "medium/1", "hard/1", "brutal/1")
"""The grades: how difficult a deal is for the computer."""
FILTERS: Final = ("any", "friendly/1", "certified/1", *GRADES)
"""Every deal passes ``any``. The bot wins the deals that pass ``friendly/1``, at least sometimes. The deals that pass
``certified/1`` or a grade can be won, too, but not by always making the first legal move. In Gallery, which is played
for its score, a grade says which scores the computer reaches.
"""
TRIES: Final = 4096
"""The maximum number of deals to try per root. At least 1 % of the deals pass, so more are never needed."""
CERTIFIED_FROM: Final = "2026-12-01"
"""The first day whose daily deals are certified."""
NODES: Final = 20_000
"""The budget of the search for a winning line of a certified deal of Corners."""


def usual_filter(game: type[Game]) -> str:
    """Return the default filter for sealed deals of a game."""
    return "certified/1" if game.slug in _TESTS["certified/1"] else "any"


def daily_filter(game: type[Game], date: str) -> str:
    """Return the filter of a game's deal of a day, such as 2026-11-21. It never changes for a day that has begun."""
    return "friendly/1" if date < CERTIFIED_FROM and usual_filter(game) != "any" else usual_filter(game)


def has_filter(game: type[Game], name: str) -> bool:
    """Return whether a filter rejects some deals of a game."""
    return game.slug in _TESTS[name]


def filters(game: type[Game]) -> tuple[str, ...]:
    """Return the filters of a game's sealed deals, the default first."""
    others = (name for name in FILTERS if name == "any" or has_filter(game, name))
    return tuple(dict.fromkeys((usual_filter(game), *others)))


def has_grades(game: type[Game]) -> bool:
    """Return whether a game has grades."""
    return has_filter(game, GRADES[0])


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


def _is_won_by_thought(game: type[Game], seed: str, variant: Variant, wins: range) -> bool:
    """Return whether the first bot wins so many of its first 20 plays, and always making the first legal move loses.

    A play that wins is a winning line.
    """
    return _is_won(game, seed, variant, _PLAYS, wins) and not _first_moves_win(game.from_seed(seed, **variant))


def _is_solved(game: type[Game], seed: str, variant: Variant, nodes: range) -> bool:
    """Return whether always making the first legal move loses, and the solver finds a winning line after visiting so
    many positions.
    """
    deal = game.from_seed(seed, **variant)
    if _first_moves_win(deal):
        return False
    solution = solve(deal, nodes[-1])
    return solution.outcome == "won" and solution.nodes in nodes


def _first_moves_win(position: Game) -> bool:
    """Return whether always making the first legal move wins, in a game in which no play goes on forever."""
    while moves := position.moves():
        position = position.after(moves[0])
    return position.won


def _scores(game: type[Game], seed: str, variant: Variant, medians: range) -> bool:
    """Return whether the scores of the second bot's first 20 plays have their lower median in a range, and the best and
    the worst of them are at least _SPREAD apart.
    """
    scores = sorted(game.goal - run.home for run in plays(game, seed, range(_PLAYS), variant, GALLERY_BOT_2))
    return scores[(_PLAYS - 1) // 2] in medians and scores[-1] - scores[0] >= _SPREAD


_PLAYS: Final = 20
_SPREAD: Final = 6
"""Where the computer's scores in Gallery differ by less, so do those of players."""


def _graded(grid: range, corners: range, gallery: range) -> Mapping[str, Callable[[type[Game], str, Variant], bool]]:
    """Return the tests of a grade: the number of wins on the grid, the number of positions that the solver of Corners
    visits until it finds a winning line, and the median score in Gallery.
    """
    by_wins = partial(_is_won_by_thought, wins=grid)
    return {
        "the-edge": by_wins,
        "kings-in-the-corners": by_wins,
        "corners": partial(_is_solved, nodes=corners),
        "gallery": partial(_scores, medians=gallery),
    }


_is_friendly = partial(_is_won, count=60, wins=range(18, 49))
_is_certified = partial(_is_won_by_thought, wins=range(5, 13))
_TESTS: Final[Mapping[str, Mapping[str, Callable[[type[Game], str, Variant], bool]]]] = {
    "any": {},
    "friendly/1": {
        "the-edge": _is_friendly,
        "kings-in-the-corners": _is_friendly,
        "corners": partial(_is_won, count=1, wins=range(1, 2)),
    },
    "certified/1": {
        "the-edge": _is_certified,
        "kings-in-the-corners": _is_certified,
        "corners": partial(_is_solved, nodes=range(NODES + 1)),
    },
    "easy/1": _graded(grid=range(12, 21), corners=range(1_001), gallery=range(21)),
    "medium/1": _graded(grid=range(6, 12), corners=range(1_001, 4_001), gallery=range(21, 30)),
    "hard/1": _graded(grid=range(2, 6), corners=range(4_001, 12_001), gallery=range(30, 39)),
    "brutal/1": _graded(grid=range(1, 2), corners=range(12_001, 40_001), gallery=range(39, 97)),
}
"""The tests of each filter, by the slug of the game. Without one, every deal passes. Nearly every deal of Corner Stones
can be won, and Gallery is played for its score.
"""
