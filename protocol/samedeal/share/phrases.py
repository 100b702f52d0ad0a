"""Results, times, places and dates in words. tests/wording.json holds the page to the same words."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from samedeal.games.catalogue import GAMES
from samedeal.race.standings import Standing
from samedeal.scores.evening import Evening

if TYPE_CHECKING:
    from samedeal.race.ghosts import Ghost
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


def result(game: str, racer: "Standing | Ghost | Result") -> str:
    """Return a racer's result on the deal: ``solved in 52.2 s``, ``15 of 52`` or ``score 81``."""
    if racer.outcome == "won":
        return f"solved in {duration(racer.ms)}"
    return achieved(game, racer.home, racer.goal)


def headline(game: str, standings: Sequence[Standing], seat: int | None) -> str:
    """Return the result of a finished race in a sentence, for the racer in a seat or, with None, for a spectator:
    ``You beat bo!``, ``2nd of 3, behind ada``, ``ada wins``.

    `standings` have unique names and are the best first. Without rivals, the result is that on the deal.
    """
    racers = [each for each in standings if each.attempts]
    own = next((each for each in standings if each.seat == seat), None)
    if own and not own.attempts:
        return "You did not take part in this race"
    if not racers:
        return "The race is over"
    if own is None:
        first = [each.name for each in racers if each.place == 1]
        if len(racers) == 1:
            return f"{first[0]}: {result(game, racers[0])}"
        return f"{first[0]} wins" if len(first) == 1 else f"{listed(first)} share 1st place"
    if len(racers) == 1:
        return f"{_on_the_deal(game, own)}{'!' if own.outcome == 'won' else ''}"
    rivals = [each for each in racers if each is not own]
    if level := [each.name for each in rivals if each.place == own.place]:
        return f"{ordinal(own.place)} of {len(racers)}, level with {listed(level)}"
    if own.place == 1:
        return f"You beat {listed([each.name for each in rivals])}!"
    ahead = [each.name for each in rivals if each.place < own.place]
    return f"{ordinal(own.place)} of {len(racers)}, behind {listed(ahead)}"


def deal_line(game: str, standings: Sequence[Standing], seat: int | None) -> str:
    """Return a racer's result on the deal in a line below the headline, if that does not say it:
    ``Deal: not solved, 15 of 52``.
    """
    racers = [each for each in standings if each.attempts]
    own = next((each for each in racers if each.seat == seat), None)
    if own is None or len(racers) == 1:
        return ""
    text = _on_the_deal(game, own)
    return f"Deal: {text[0].lower()}{text[1:]}"


def match_line(evening: Evening, best_of: int, race: str, standings: Sequence[Standing], seat: int | None) -> str:
    """Return who has won the match with this race: ``You win the match 2 : 1``; empty if nobody has."""
    winner = next((row for row in evening.table if row.player == evening.best_of.get(f"{best_of}")), None)
    first = [each for each in standings if each.place == 1 and each.attempts]
    if not winner or winner.wins != best_of // 2 + 1 or evening.races[-1] != race:
        return ""
    if [each.seat for each in first] != [winner.seat] or not first[0].name.startswith(winner.name):
        return ""  # the match was won earlier
    others = [row for row in evening.table if row is not winner]
    score = f" {points(winner.points)} : {points(others[0].points)}" if len(others) == 1 else ""
    return f"{'You win' if winner.seat == seat else f'{first[0].name} wins'} the match{score}"


def points(number: float) -> str:
    """Return points with at most two decimals: ``2``, ``1.5`` or ``0.67``."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def short_date(day: str) -> str:
    """Return a date such as 2026-11-22 as ``22 Nov``."""
    parsed = date.fromisoformat(day)
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{parsed.day} {months[parsed.month - 1]}"


def _on_the_deal(game: str, racer: Standing) -> str:
    text = result(game, racer)
    solves = racer.outcome == "won" or played_for_score(game)
    return text.capitalize() if solves else f"Not solved, {text}"
