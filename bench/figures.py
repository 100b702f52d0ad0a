"""Figures: what was measured in each round by its name, and the medians of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple


class Figure(NamedTuple):
    """The median of a figure over the rounds, and its least and greatest."""

    median: float
    least: float
    greatest: float


@dataclass
class Figures:
    """Values by name, such as ``moves/the-edge/50/rate``, and what could not be measured."""

    round: int = 1
    missing: dict[str, str] = field(default_factory=dict)
    """For each measurement that failed in any round, its name, why."""
    _values: dict[str, dict[int, float]] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        """Takes in the present round's value."""
        self._values.setdefault(name, {})[self.round] = value

    def now(self, name: str) -> float | None:
        """The value of the present round, or None where there is none."""
        return self._values.get(name, {}).get(self.round)

    def by_name(self) -> Mapping[str, Sequence[float]]:
        """The values of all figures, in the order of the rounds; a round in which it failed has none."""
        return {name: list(values.values()) for name, values in self._values.items()}


def summary(values: Mapping[str, Sequence[float]]) -> Mapping[str, Figure]:
    """All figures by their name, from their values in each round."""
    return {name: Figure(median(rounds), min(rounds), max(rounds)) for name, rounds in values.items()}
