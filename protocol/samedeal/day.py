"""A day by UTC, to which the daily deals belong."""

from dataclasses import dataclass
from datetime import date
from typing import Self

DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, order=True)
class Day:
    """One day; an earlier one is less."""

    number: int
    """How many days after 1970-01-01 it is."""

    @classmethod
    def at(cls, time: int) -> Self:
        """The day of a time in milliseconds since 1970-01-01 UTC."""
        return cls(time // DAY_MS)

    @classmethod
    def of(cls, text: str) -> Self:
        """The day of a date such as 2026-11-21. Raises ValueError for a text that is none, or one before 1970."""
        day = cls(date.fromisoformat(text).toordinal() - _EPOCH)
        if day.number < 0 or day.date != text:
            raise ValueError(f"{text!r} is no date such as 2026-11-21")
        return day

    @property
    def date(self) -> str:
        return date.fromordinal(_EPOCH + self.number).isoformat()

    @property
    def ends_at(self) -> int:
        """When it is over, which is when the next one begins."""
        return (self.number + 1) * DAY_MS
