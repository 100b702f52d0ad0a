"""The run: its plan, its cases, and the figures that they measure."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple, Self

import msgspec
from msgspec import Struct

from samedeal.games.catalogue import GAMES


class Pace(NamedTuple):
    """Durations (s)."""

    measured: float
    warm: float


class Plan(Struct, frozen=True, kw_only=True):
    """The parameters of a run."""

    pace: Pace = Pace(1.0, 0.3)
    games: tuple[str, ...] = tuple(GAMES)
    racers: tuple[int, ...] = (1, 50, 1000)
    """Numbers of concurrent racers."""
    held_to: int = 50
    """The number of racers for which there are targets."""
    counted_plies: int = 40
    """Moves of each racer while the server's instructions are counted."""
    sizes: tuple[int, ...] = (10, 100, 1000)
    """Numbers of races that are restored, and of spectators."""
    plies: tuple[int, int] = (20, 200)
    """Moves of each racer in a short and a long race."""
    idle: tuple[int, ...] = (100, 1000, 10_000)
    """Numbers of idle connections."""
    live: tuple[int, ...] = (20, 200)
    """Numbers of races whose memory is measured. For all games but the first, this is only the first number."""
    live_plies: int = 50
    """Moves of each racer in these races."""
    finished: int = 5_000
    """After how many finished races a server is started."""
    challenges: tuple[int, int] = (2_000, 10_000)
    """How many challenges are open, and how many results one of them has."""
    clubs: tuple[int, int, int] = (10_000, 200, 50_000)
    """How many clubs are idle, and how many members and results another one has."""


QUICK = Plan(pace=Pace(0.6, 0.2), racers=(50,), sizes=(10, 100), idle=(100, 1000), live=(20,), finished=200)
TINY = Plan(
    pace=Pace(0.1, 0.05),
    games=("corners",),
    racers=(2,),
    held_to=2,
    counted_plies=2,
    sizes=(2,),
    plies=(2, 12),
    idle=(5, 20),
    live=(2,),
    live_plies=5,
    finished=2,
    challenges=(3, 5),
    clubs=(2, 5, 5),
)
"""Minimal numbers, to check that everything runs."""


class Run(Struct):
    """The results of a run, and how it was made."""

    plan: Plan
    machine: dict[str, str] = {}
    at: str = ""
    """The date."""
    took_s: int = 0
    missing: dict[str, str] = {}
    """The reason of each failed measurement, by name."""
    figures: dict[str, list[float]] = {}
    """A value for each round, by name, such as ``moves/the-edge/50/rate``."""

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read the results of an earlier run."""
        return msgspec.json.decode(file.read_bytes(), type=cls)

    def save(self, file: Path) -> None:
        """Write all results to a file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    def note(self, name: str, value: float) -> None:
        """Record a value with five significant digits."""
        self.figures.setdefault(name, []).append(float(f"{value:.5g}"))

    def median(self, name: str) -> float:
        """Return the median of all rounds. Raises KeyError if the figure was not measured."""
        return median(self.figures[name])


class Case(NamedTuple):
    """An independent measurement with its own services. If it fails, the others continue."""

    name: str
    measure: Callable[[Run], Awaitable[None]]
    timeout_s: float = 90.0
