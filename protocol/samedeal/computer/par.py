"""Par: the computer's results on a deal.

The game's bot plays the same deal many times, and a player's result is compared with its results. Each play can be
reproduced by its number with ``bots.play(game, seed, k)``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Literal, NamedTuple

from msgspec import Struct

from samedeal.computer.bots import BOTS, Run, plays
from samedeal.game import Game, Variant
from samedeal.games.catalogue import GAMES

Square = Literal["worse", "equal", "better", "solved"]
"""A play of the computer compared with the player's result; ``solved`` is a win, whatever the player's result."""


Counted = Literal["home", "left"]
"""What a result counts: the cards home or, in a game played for its score, the cards left."""


class Placing(NamedTuple):
    """The fractions of the computer's plays that are worse than the player's result, equal, and better."""

    worse: float
    equal: float
    better: float


class Compared(Struct, frozen=True, kw_only=True):
    """A player's result compared with par."""

    seat: int
    name: str
    home: int
    won: bool
    result: int
    """The player's result as quoted. A win counts as the goal."""
    worse: float
    equal: float
    better: float
    squares: tuple[Square, ...]


class Par(Struct, frozen=True):
    """The computer's results on a deal."""

    game: str
    deal: str
    """The deal's code, such as ``gallery:31``."""
    variant: dict[str, str | bool]
    bot: str
    homes: tuple[int, ...]
    """The number of cards home in each play, starting with play 0. A win counts as the goal."""

    @property
    def plays(self) -> int:
        return len(self.homes)

    @property
    def results(self) -> tuple[int, ...]:
        """The results as players quote them."""
        return tuple(map(self._quoted, self.homes))

    @property
    def counted(self) -> Counted:
        return "left" if GAMES[self.game].dead_end == "over" else "home"

    @property
    def minimum(self) -> int:
        return min(self.results)

    @property
    def median(self) -> float:
        """The median, or the mean of the two middle results."""
        ranked = sorted(self.results)
        return (ranked[(self.plays - 1) // 2] + ranked[self.plays // 2]) / 2

    @property
    def mean(self) -> float:
        return sum(self.results) / self.plays

    @property
    def maximum(self) -> int:
        return max(self.results)

    @property
    def solved(self) -> int:
        """The number of plays that the computer won."""
        return self.homes.count(GAMES[self.game].goal)

    def _quoted(self, home: int) -> int:
        return GAMES[self.game].goal - home if self.counted == "left" else home


def par(
    game: type[Game],
    seed: str,
    variant: Variant | None = None,
    number: int | None = None,
    after_each: Callable[[Run], object] = lambda run: None,
) -> Par:
    """Return the par of a deal from ``number`` plays, by default the bot's ``par_plays``.

    ``after_each`` is called after each play. Raises ValueError for fewer than one play.
    """
    number = BOTS[game.slug].par_plays if number is None else number
    if number < 1:
        raise ValueError("par requires at least one play")
    homes = []
    for run in plays(game, seed, range(number), variant):
        homes.append(game.goal if run.won else run.home)
        after_each(run)
    return Par(game.slug, f"{game.slug}:{seed}", dict(variant or {}), BOTS[game.slug].name, tuple(homes))


def placed(par: Par, home: int, won: bool) -> Placing:
    """Compare a player's result with the computer's, given the most cards home or a win."""
    mine, ranked = _counted(par, home, won), sorted(par.homes)
    worse, not_better = bisect_left(ranked, mine), bisect_right(ranked, mine)
    return Placing(worse / par.plays, (not_better - worse) / par.plays, (par.plays - not_better) / par.plays)


def squares(par: Par, home: int, won: bool) -> tuple[Square, ...]:
    """Return one square per play of the computer, best first, from the player's point of view."""
    mine = _counted(par, home, won)
    return tuple(_square(par, other, mine) for other in sorted(par.homes, reverse=True))


def compared(par: Par, seat: int, name: str, home: int, won: bool) -> Compared:
    """Return the full comparison for a racer, given the most cards home in any attempt or a win."""
    worse, equal, better = placed(par, home, won)
    return Compared(
        seat=seat,
        name=name,
        home=home,
        won=won,
        result=par._quoted(_counted(par, home, won)),
        worse=worse,
        equal=equal,
        better=better,
        squares=squares(par, home, won),
    )


def _square(par: Par, other: int, mine: int) -> Square:
    if other == GAMES[par.game].goal:
        return "solved"
    return "worse" if other < mine else "equal" if other == mine else "better"


def _counted(par: Par, home: int, won: bool) -> int:
    return GAMES[par.game].goal if won else home
