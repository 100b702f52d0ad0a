"""Figures: what was measured in each round by its name, and the medians of that."""

from collections.abc import Mapping
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
    """Values by name, such as ``moves/the-edge/50/rate``, in the order of the rounds."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        """Takes in one round's value."""
        self.values.setdefault(name, []).append(value)

    def last(self, name: str) -> float:
        """The value of the present round. Raises KeyError where there is none."""
        return self.values[name][-1]

    def summary(self) -> Mapping[str, Figure]:
        """All figures."""
        return {name: Figure(median(values), min(values), max(values)) for name, values in self.values.items()}
