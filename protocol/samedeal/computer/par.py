"""Par: the computer's results on a deal.

The game's bot plays the same deal many times, and a player's result is compared with its results. Each play can be
reproduced by its number with ``bots.play(game, seed, k)``.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Self

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


class Par(Struct, frozen=True, kw_only=True):
    """The computer's results on a deal."""

    game: str
    deal: str
    """The code of the deal."""
    variant: dict[str, str | bool]
    bot: str
    """The bot that played."""
    plays: int
    """The number of plays."""
    goal: int
    """The number of cards to move to the foundations."""
    counted: Counted
    """What a result counts: cards on the foundations, or cards left."""
    homes: tuple[int, ...]
    """The cards on the foundations after each play, play 0 first; a won play counts as `goal`."""
    results: tuple[int, ...]
    """The results as players quote them."""
    minimum: int
    median: float
    """The median, or the mean of the two middle results."""
    mean: float
    maximum: int
    solved: int
    """The number of plays won."""

    @classmethod
    def of(cls, game: type[Game], seed: str, variant: Variant, homes: Sequence[int]) -> Self:
        """Return the par of a deal, given the cards home after each play of the game's newest bot."""
        results = tuple(_quoted(game, home) for home in homes)
        ranked, plays = sorted(results), len(results)
        return cls(
            game=game.slug,
            deal=f"{game.slug}:{seed}",
            variant={**variant},
            bot=BOTS[game.slug].name,
            plays=plays,
            goal=game.goal,
            counted=game.counted,
            homes=tuple(homes),
            results=results,
            minimum=ranked[0],
            median=(ranked[(plays - 1) // 2] + ranked[plays // 2]) / 2,
            mean=sum(results) / plays,
            maximum=ranked[-1],
            solved=homes.count(game.goal),
        )


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
    return Par.of(game, seed, variant or {}, homes)


def compared(par: Par, seat: int, name: str, home: int, won: bool) -> Compared:
    """Compare a racer's result with the computer's, given the most cards home in any attempt or a win."""
    mine = par.goal if won else home
    worse, equal = sum(other < mine for other in par.homes), par.homes.count(mine)
    share = f"{100 * worse // par.plays}% of the computer’s games"
    return Compared(
        seat=seat,
        name=name,
        home=home,
        won=won,
        result=_quoted(GAMES[par.game], mine),
        worse=worse / par.plays,
        equal=equal / par.plays,
        better=(par.plays - worse - equal) / par.plays,
        squares=tuple(_square(other, mine, par.goal) for other in sorted(par.homes, reverse=True)),
        boast=f"better than {'the computer' if worse == par.plays else share}" if 2 * worse >= par.plays else "",
    )


def _quoted(game: type[Game], home: int) -> int:
    """Return the result that players quote for a number of cards home."""
    return game.goal - home if game.counted == "left" else home


def _square(other: int, mine: int, goal: int) -> Square:
    if other == goal:
        return "solved"
    return "worse" if other < mine else "equal" if other == mine else "better"
