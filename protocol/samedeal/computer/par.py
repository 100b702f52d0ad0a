"""Par: the computer's results on a deal.

The game's bot plays the same deal many times, and a player's result is compared with its results. Each play can be
reproduced by its number with ``bots.play(game, seed, k)``.
"""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from samedeal.computer.bots import BOTS, Run, plays
from samedeal.game import Counted, Game, Variant
from samedeal.games.catalogue import GAMES

Square = Literal["worse", "equal", "better", "solved"]
"""A play of the computer compared with the player's result; ``solved`` is a win, whatever the player's result."""


class Compared(Struct, frozen=True, kw_only=True):
    """A player's result compared with par."""

    seat: int
    name: str
    home: int
    won: bool
    result: int
    """The player's result as quoted. A win counts as the goal."""
    worse: float
    """The fraction of the computer's plays with a worse result."""
    equal: float
    better: float
    squares: tuple[Square, ...]
    """One per play of the computer, best first."""
    boast: str = ""
    """How the result compares, in words, if that is worth telling others."""


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
        return GAMES[self.game].counted

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


def compared(par: Par, seat: int, name: str, home: int, won: bool) -> Compared:
    """Compare a racer's result with the computer's, given the most cards home in any attempt or a win."""
    goal = GAMES[par.game].goal
    mine = goal if won else home
    worse, equal = sum(other < mine for other in par.homes), par.homes.count(mine)
    share = f"{100 * worse // par.plays}% of the computer’s games"
    return Compared(
        seat=seat,
        name=name,
        home=home,
        won=won,
        result=par._quoted(mine),
        worse=worse / par.plays,
        equal=equal / par.plays,
        better=(par.plays - worse - equal) / par.plays,
        squares=tuple(_square(other, mine, goal) for other in sorted(par.homes, reverse=True)),
        boast=f"better than {'the computer' if worse == par.plays else share}" if 2 * worse >= par.plays else "",
    )


def _square(other: int, mine: int, goal: int) -> Square:
    if other == goal:
        return "solved"
    return "worse" if other < mine else "equal" if other == mine else "better"
