"""Figures: measured values by name and round, and their medians."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple


class Figure(NamedTuple):
    """The median, minimum and maximum of a figure over all rounds."""

    median: float
    least: float
    greatest: float


@dataclass
class Figures:
    """Values by name, such as ``moves/the-edge/50/rate``, and failed measurements."""

    round: int = 1
    missing: dict[str, str] = field(default_factory=dict)
    """The reason of each failed measurement, by name."""
    _values: dict[str, dict[int, float]] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        """Record a value of the current round."""
        self._values.setdefault(name, {})[self.round] = value

    def now(self, name: str) -> float | None:
        """Return the value of the current round, or None."""
        return self._values.get(name, {}).get(self.round)

    def by_name(self) -> Mapping[str, Sequence[float]]:
        """Return the values of all figures in the order of the rounds. Failed rounds have no value."""
        return {name: list(values.values()) for name, values in self._values.items()}


def summary(values: Mapping[str, Sequence[float]]) -> Mapping[str, Figure]:
    """Summarize the values of all figures."""
    return {name: Figure(median(rounds), min(rounds), max(rounds)) for name, rounds in values.items()}
