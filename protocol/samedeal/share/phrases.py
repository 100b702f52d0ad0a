"""Results, times, places and dates in words. tests/wording.json holds the page to the same words."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from samedeal.games.catalogue import GAMES

if TYPE_CHECKING:
    from samedeal.race.ghosts import Ghost
    from samedeal.race.standings import Standing
    from samedeal.scores.field import DealResult
    from samedeal.wire.documents import Result

MAX_NAMES: Final = 4
"""How many racers a sentence names."""
_OUTCOMES: Final = {
    "waiting": "not ready",
    "won": "solved",
    "lost": "not solved",
    "over": "finished",
    "timeout": "out of time",
}


def clock(ms: int, *, tenths: bool = True) -> str:
    """Return what a clock shows, such as ``1:23.4``, or ``1:23`` without tenths; before the deal, ``-0:05.0``."""
    minutes, rest = divmod(abs(ms) // 100, 600)
    text = f"{'-' if ms < 0 else ''}{minutes}:{rest // 10:02}"
    return f"{text}.{rest % 10}" if tenths else text


def duration(ms: int) -> str:
    """Return how long something took: ``52.2 s``, or ``1:03.5`` from a minute on."""
    return clock(ms) if ms >= 60_000 else f"{ms // 100 // 10}.{ms // 100 % 10} s"


def ordinal(number: int) -> str:
    """Return a number from 1 as a place: ``1st``, ``2nd``, ``11th``."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: ``ada, bo and cy``, or ``ada, bo, cy and 4 more``."""
    hidden = len(names) - MAX_NAMES + 1
    *others, last = [*names[: MAX_NAMES - 1], f"{hidden} more"] if hidden > 1 else names
    return f"{', '.join(others)} and {last}" if others else last


def outcome_phrase(outcome: str) -> str:
    """Return the outcome of a standing in words: a deal is solved or not, and only a race is won."""
    return _OUTCOMES.get(outcome, outcome)


def played_for_score(game: str) -> bool:
    """Return whether the results of a game, given its slug, are scores: the cards left, so less is better."""
    return game in GAMES and GAMES[game].counted == "left"


def achieved(game: str, home: int, goal: int, outcome: str = "", *, short: bool = False) -> str:
    """Return how far somebody came: ``15 of 52``, ``15/52`` if `short`, or ``score 81`` in a game played for its score.

    A solved deal counts as complete, although The Edge can be won with cards left in the stock.
    """
    home = goal if outcome == "won" else home
    return f"score {goal - home}" if played_for_score(game) else f"{home}/{goal}" if short else f"{home} of {goal}"


def result(game: str, racer: "Standing | Ghost | Result | DealResult") -> str:
    """Return a racer's result on the deal: ``solved in 52.2 s``, ``15 of 52`` or ``score 81``."""
    if racer.outcome == "won":
        return f"solved in {duration(racer.ms)}"
    return achieved(game, racer.home, racer.goal)


def points(number: float) -> str:
    """Return points with at most two decimals: ``2``, ``1.5`` or ``0.67``."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def short_date(day: str) -> str:
    """Return a date such as 2026-11-22 as ``22 Nov``."""
    parsed = date.fromisoformat(day)
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{parsed.day} {months[parsed.month - 1]}"
