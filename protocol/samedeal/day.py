"""UTC days, which daily deals belong to."""

from dataclasses import dataclass
from datetime import date
from typing import Self

DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, order=True)
class Day:
    """A UTC day. Earlier days compare as less."""

    number: int
    """Days since 1970-01-01."""

    @classmethod
    def at(cls, time: int) -> Self:
        """Return the day of a time in milliseconds since 1970-01-01 UTC."""
        return cls(time // DAY_MS)

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a date such as 2026-11-21. Raises ValueError for an invalid date or one before 1970."""
        day = cls(date.fromisoformat(text).toordinal() - _EPOCH)
        if day.number < 0 or day.date != text:
            raise ValueError(f"{text!r} is not a valid date (try 2026-11-21)")
        return day

    @property
    def date(self) -> str:
        return date.fromordinal(_EPOCH + self.number).isoformat()

    @property
    def ends_at(self) -> int:
        """The end of the day, which is the start of the next one, in milliseconds since 1970-01-01 UTC."""
        return (self.number + 1) * DAY_MS
