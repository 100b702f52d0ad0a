"""The plan: how long is measured, which games, how many of each thing there are, and what a measurement is."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.figures import Figures
from samedeal.games.catalogue import GAMES


class Case(NamedTuple):
    """A measurement that stands by itself, with services of its own: if it fails, no other does."""

    name: str
    measure: Callable[[Figures], Awaitable[None]]


class Pace(NamedTuple):
    """How long is measured, in seconds."""

    measured: float
    warm: float


_NORMAL, _SHORT, _LEAST = Pace(1.0, 0.3), Pace(0.6, 0.2), Pace(0.1, 0.05)


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    pace: Pace = _NORMAL
    games: Sequence[str] = tuple(GAMES)
    racers: Sequence[int] = (1, 50, 1000)
    """How many race at once."""
    held_to: int = 50
    """With how many racers there are targets."""
    sizes: Sequence[int] = (10, 100, 1000)
    """Once, ten and a hundred times as much of what may grow: races, onlookers, rooms."""
    per_race: Sequence[int] = (1, 8, 32)
    """Racers in one race."""
    plies: Sequence[int] = (20, 200, 2000)
    """Moves that each racer has made: few, as many as in a long race, and ten times as many."""
    idle: Sequence[int] = (100, 1000, 10_000)
    """Connections that are only held."""
    live: Sequence[int] = (20, 200)
    """Races whose memory is looked at."""
    live_plies: int = 50
    """Moves that each racer has made in them."""
    legal: bool = True
    """Whether racers ask for the legal moves, as bots and the page do."""

    @property
    def some_live(self) -> int:
        """Of how many races the memory is looked at for every game."""
        return self.live[0]


QUICK = Plan(pace=_SHORT, racers=(50,), sizes=(10, 100), per_race=(1, 8), plies=(20, 200), idle=(100, 1000), live=(20,))
TINY = Plan(
    *(_LEAST, ("corners",)),
    racers=(2,),
    held_to=2,
    sizes=(2,),
    per_race=(2,),
    plies=(2, 12),
    idle=(5, 20),
    live=(2,),
    live_plies=5,
)
"""Next to nothing of everything, to see that it runs."""
