"""Timecodes: points in a race, written as a time or a move."""

import re
from typing import Final, NamedTuple

LONGEST_MS: Final = 100 * 3_600_000
"""The largest valid time."""
_TIME = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d\d)(?:\.(\d{1,3}))?")
_MOVE = re.compile(r"m?(\d{1,6})")


class Moment(NamedTuple):
    """A point in a race: a time since the deal in milliseconds, or a number of moves of one player."""

    ms: int | None = None
    move: int | None = None


def parse_moment(text: str) -> Moment:
    """Parse a moment such as ``1:48``, ``1:48.5``, ``m35`` or ``35``. Raises ValueError.

    Clocks show tenths of a second. A time with one decimal means the end of that tenth, so that it includes the events
    that the clock shows at that time.
    """
    text = text.strip().lower()
    if time := _TIME.fullmatch(text):
        hours, minutes, seconds, part = time.groups(default="0")
        part = part.ljust(3, "9" if time[4] and len(part) == 1 else "0")
        ms = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(part)
        if int(seconds) < 60 and ms <= LONGEST_MS:
            return Moment(ms=ms)
    if move := _MOVE.fullmatch(text):
        return Moment(move=int(move[1]))
    raise ValueError(f"{text!r} is not a valid moment (try a time such as 1:48, or a move such as m35)")
