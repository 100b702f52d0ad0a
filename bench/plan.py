"""The plan: durations, games and numbers of a run."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.figures import Figures
from samedeal.games.catalogue import GAMES


class Case(NamedTuple):
    """An independent measurement with its own services. If it fails, the others continue."""

    name: str
    measure: Callable[[Figures], Awaitable[None]]
    timeout_s: float = 90.0


class Pace(NamedTuple):
    """Durations (s)."""

    measured: float
    warm: float


_NORMAL, _SHORT, _LEAST = Pace(1.0, 0.3), Pace(0.6, 0.2), Pace(0.1, 0.05)


@dataclass(frozen=True)
class Plan:
    """The parameters of a run."""

    pace: Pace = _NORMAL
    games: Sequence[str] = tuple(GAMES)
    racers: Sequence[int] = (1, 50, 1000)
    """Numbers of concurrent racers."""
    held_to: int = 50
    """The number of racers for which there are targets."""
    counted_plies: int = 40
    """Moves of each racer while the server's instructions are counted."""
    sizes: Sequence[int] = (10, 100, 1000)
    """Small, ten times and a hundred times as many races, spectators and rooms."""
    per_race: Sequence[int] = (1, 8, 32)
    """Racers in one race."""
    plies: Sequence[int] = (20, 200, 2000)
    """Moves of each racer: few, as in a long race, and ten times as many."""
    idle: Sequence[int] = (100, 1000, 10_000)
    """Numbers of idle connections."""
    live: Sequence[int] = (20, 200)
    """Numbers of races whose memory is measured."""
    live_plies: int = 50
    """Moves of each racer in these races."""
    legal: bool = True
    """Whether racers request legal moves, as bots and the page do."""
    views: str = "full"
    """What answers their moves: full views, or only changes."""

    @property
    def some_live(self) -> int:
        """The number of races whose memory is measured for every game."""
        return self.live[0]


QUICK = Plan(pace=_SHORT, racers=(50,), sizes=(10, 100), per_race=(1, 8), plies=(20, 200), idle=(100, 1000), live=(20,))
TINY = Plan(
    *(_LEAST, ("corners",)),
    racers=(2,),
    held_to=2,
    counted_plies=2,
    sizes=(2,),
    per_race=(2,),
    plies=(2, 12),
    idle=(5, 20),
    live=(2,),
    live_plies=5,
)
"""Minimal numbers, to check that everything runs."""
