"""Share texts: a race in one line, followed by its link."""

import unicodedata
from typing import Final

from samedeal.replays.timeline import Steps
from samedeal.share.phrases import listed, ordinal, result, short_date
from samedeal.share.shared_race import SharedRace

PACE_SQUARES: Final = 8
_LEVELS: Final = "▁▂▃▄▅▆▇█"


def text(race: SharedRace, link: str, seat: int | None = None, *, pace: str = "", boast: str = "") -> str:
    """Return the line of a race, and the link on a second line.

    Of a finished race, the line shows the result of the racer in `seat`, or else everybody's. `pace`, and `boast` that
    compares it with the computer's, reveal something about the deal: pass them only once it is public.
    """
    parts = ["Same Deal", race.title]
    if race.daily:
        parts.append(f"daily {short_date(race.date)}")
    own = next((standing for standing in race.results if standing.seat == seat), None)
    if race.stage != "over":
        parts.append(_state(race))
    elif own is None:
        results = [f"{_isolated(race.names[each.seat])} {result(race.game, each)}" for each in race.results]
        parts += [listed(results)] if results else []
    else:
        parts += [f"{ordinal(own.place)} of {len(race.results)}"] if len(race.results) > 1 else []
        parts.append(result(race.game, own))
        parts += [boast] if boast else []
    line = " · ".join(parts)
    return f"{line}{f' {pace}' if own and pace else ''}\n{link}\n"


def pace(steps: Steps, seat: int) -> str:
    """Draw a racer's progress: the most cards home in any attempt, at each eighth of the time until the last move.

    Only a win reaches the full height. Empty for a racer without moves.
    """
    racer = next((racer for racer in steps.racers if racer.seat == seat), None)
    goal = next((standing.goal for standing in steps.standings if standing.seat == seat), 0)
    if racer is None or not racer.steps or not goal:
        return ""
    end = racer.steps[-1].ms
    squares = ""
    for number in range(1, PACE_SQUARES + 1):
        until = [step for step in racer.steps if step.ms * PACE_SQUARES <= end * number]
        won = any(step.outcome == "won" for step in until)
        best = goal if won else min(goal - 1, max((step.home for step in until), default=0))
        squares += _LEVELS[best * (len(_LEVELS) - 1) // goal]
    return squares


def _state(race: SharedRace) -> str:
    match race.stage:
        case "open":
            return f"race me: {race.seats} of {race.max_racers} seats taken"
        case "cancelled":
            return "cancelled"
        case _:
            names = [_isolated(name) for name in race.names.values()]
            return ", ".join(["the race is running", *([listed(names)] if names else [])])


def _isolated(name: str) -> str:
    """Return a name that does not reorder the text around it, even if it is written from right to left."""
    if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in name):
        return f"\u2068{name}\u2069"
    return name
