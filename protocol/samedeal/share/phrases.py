"""Times, places and dates in words."""

from datetime import date


def clock(ms: int, *, tenths: bool = True) -> str:
    """Return a duration such as ``1:23.4``, or ``1:23`` without tenths; before the deal, ``-0:05.0``."""
    minutes, rest = divmod(abs(ms) // 100, 600)
    text = f"{'-' if ms < 0 else ''}{minutes}:{rest // 10:02}"
    return f"{text}.{rest % 10}" if tenths else text


def ordinal(number: int) -> str:
    """Return a number from 1 as a place: ``1st``, ``2nd``, ``11th``."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def short_date(day: str) -> str:
    """Return a date such as 2026-11-22 as ``22 Nov``."""
    parsed = date.fromisoformat(day)
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{parsed.day} {months[parsed.month - 1]}"
