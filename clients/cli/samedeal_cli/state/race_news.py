"""Happenings: what is worth telling about the racers, worked out from how they stood and how they stand."""

from collections.abc import Iterator, Mapping
from typing import Final

from samedeal.race.seat import Standing
from samedeal_cli.render.phrases import clock

Known = Mapping[int, Standing]
"""How the racers stand by seat, with names that tell them apart."""

QUARTERS: Final = {1: "a quarter", 2: "half way", 3: "three quarters"}
WAITING: Final = ("waiting", "ready")


def happenings(before: Known, now: Known, own: int | None) -> Iterator[str]:
    """Who came, went, stopped, passed one, or got past a quarter; nothing else is worth an interruption."""
    for seat in before.keys() - now.keys():
        yield f"{before[seat].name} has left"
    for seat, standing in now.items():
        if seat != own:
            yield from _of_one(before.get(seat), standing)
    if own is None or own not in before or own not in now or before[own].outcome in WAITING:
        return
    if now[own].place != before[own].place:
        yield f"you are {now[own].place} of {len(now)}{_passing(before, now, own)}"


def _of_one(before: Standing | None, now: Standing) -> Iterator[str]:
    name = f"{now.name} (bot)" if now.bot else now.name
    if before is None:
        yield f"{name} is here, {now.outcome}"
    elif now.outcome != before.outcome and now.outcome in WAITING:
        yield f"{name} is {'ready' if now.outcome == 'ready' else 'not ready after all'}"
    elif now.outcome != before.outcome and now.outcome == "scratched":
        yield f"{name} was scratched"
    elif now.outcome == "won" != before.outcome:
        yield f"{name} has won in {clock(now.ms)}"
    elif now.done and not before.done:
        yield f"{name} has stopped, {now.outcome}, {now.home} of {now.goal} home"
    elif (quarter := int(now.progress * 4)) > int(before.progress * 4):
        yield f"{name} is past {QUARTERS.get(quarter, 'it all')}, {now.home} of {now.goal} home"


def _passing(before: Known, now: Known, own: int) -> str:
    """Who passed whom, when it was one."""
    up = now[own].place < before[own].place
    names = [
        standing.name
        for seat, standing in now.items()
        if seat in before and seat != own
        if (before[seat].place < before[own].place, standing.place < now[own].place) == (up, not up)
    ]
    if len(names) != 1:
        return ""
    return f": you passed {names[0]}" if up else f": {names[0]} passed you"
