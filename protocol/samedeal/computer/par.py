"""Par: what the computer makes of a deal.

The bot of the game plays the same deal many times over, and a player's result is held against what came out. Every
play can be had again, with its moves, by its number: ``bots.play(game, seed, k)``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from msgspec import Struct

from samedeal.computer.bots import BOTS, Run, plays
from samedeal.game import Game, Variant
from samedeal.games.catalogue import GAMES

PLAYS: Mapping[str, int] = {
    "corner-stones": 20,
    "the-edge": 60,
    "corners": 60,
    "kings-in-the-corners": 60,
    "gallery": 200,
}
"""How many plays make the par of a deal, by the slug of the game."""

Square = Literal["worse", "equal", "better", "solved"]
"""How one play of the computer compares with the player's; `solved` is a play that it won, whatever the player's."""


Counted = Literal["home", "left"]
"""What a result counts: the cards home, or in a game that is played for its score the cards that are left."""


class Placing(NamedTuple):
    """The shares of the computer's plays that did worse than the player, as well, and better; together 1."""

    worse: float
    equal: float
    better: float


class Compared(Struct, frozen=True, kw_only=True):
    """One player held against par."""

    seat: int
    name: str
    home: int
    won: bool
    result: int
    """What the player quotes: a play that was won counts as the goal, as the computer's do."""
    worse: float
    equal: float
    better: float
    squares: tuple[Square, ...]


class Par(Struct, frozen=True):
    """What came out when the computer played a deal."""

    game: str
    deal: str
    """The deal's code, such as ``gallery:31``."""
    variant: dict[str, str | bool]
    bot: str
    homes: tuple[int, ...]
    """How many cards each play brought home, play 0 first. A play that was won counts as the game's goal."""

    @property
    def plays(self) -> int:
        return len(self.homes)

    @property
    def results(self) -> tuple[int, ...]:
        """The same plays as players quote them."""
        return tuple(map(self._quoted, self.homes))

    @property
    def counted(self) -> Counted:
        return "left" if GAMES[self.game].dead_end == "over" else "home"

    @property
    def minimum(self) -> int:
        return min(self.results)

    @property
    def median(self) -> float:
        """The result in the middle, or half-way between the two in the middle."""
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
        """How many plays the computer won."""
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
    """The par of a deal, from so many plays or as many as are usual; `after_each` is told of each when it is over.

    Raises ValueError for less than one play.
    """
    number = PLAYS[game.slug] if number is None else number
    if number < 1:
        raise ValueError("par takes one play at least")
    homes = []
    for run in plays(game, seed, range(number), variant):
        homes.append(game.goal if run.won else run.home)
        after_each(run)
    return Par(game.slug, f"{game.slug}:{seed}", dict(variant or {}), BOTS[game.slug].name, tuple(homes))


def placed(par: Par, home: int, won: bool) -> Placing:
    """Where a player stands among the computer's plays who brought so many cards home, or won."""
    mine, ranked = _counted(par, home, won), sorted(par.homes)
    worse, not_better = bisect_left(ranked, mine), bisect_right(ranked, mine)
    return Placing(worse / par.plays, (not_better - worse) / par.plays, (par.plays - not_better) / par.plays)


def squares(par: Par, home: int, won: bool) -> tuple[Square, ...]:
    """One square for each play of the computer, from its best to its worst, as the player sees them."""
    mine = _counted(par, home, won)
    return tuple(_square(par, its, mine) for its in sorted(par.homes, reverse=True))


def compared(par: Par, seat: int, name: str, home: int, won: bool) -> Compared:
    """All of it for one racer, from the most cards home in any attempt or the win."""
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


def _square(par: Par, its: int, mine: int) -> Square:
    if its == GAMES[par.game].goal:
        return "solved"
    return "worse" if its < mine else "equal" if its == mine else "better"


def _counted(par: Par, home: int, won: bool) -> int:
    return GAMES[par.game].goal if won else home
