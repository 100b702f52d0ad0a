"""The plan: how long is measured, which games, and how many of each thing there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from samedeal.catalogue import GAMES


class Pace(NamedTuple):
    """How long is measured, in seconds."""

    measured: float
    warm: float


_NORMAL, _SHORT = Pace(1.0, 0.3), Pace(0.6, 0.2)


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    pace: Pace = _NORMAL
    games: Sequence[str] = tuple(GAMES)
    racers: Sequence[int] = (1, 50, 1000)
    sizes: Sequence[int] = (10, 100, 1000)
    """Once, ten and a hundred times as much of what may grow: races, spectators, rooms."""
    idle: Sequence[int] = (100, 1000, 10_000)
    """Connections that are only held."""
    legal: bool = True
    """Whether racers ask for the legal moves, as bots and the page do."""


QUICK = Plan(pace=_SHORT, racers=(50,), sizes=(10, 100), idle=(100, 1000))
