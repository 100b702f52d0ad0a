"""News about the racers, from the difference between two standings."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved, duration, ordinal, played_for_score
from samedeal_cli.render.phrases import bot_mark

StandingsBySeat = Mapping[int, Standing]
"""With unique names."""

QUARTERS: Final = {1: "a quarter", 2: "halfway", 3: "three quarters"}
STOPPED: Final = {"resigned": "resigned", "stuck": "got stuck", "timeout": "ran out of time"}
WAITING: Final = ("waiting", "ready")


def race_news(
    before: StandingsBySeat,
    now: StandingsBySeat,
    own: int | None,
    levels: Mapping[int, str] | None = None,
    game: str = "",
) -> Iterator[str]:
    """Yield who joined, left, stopped, passed a quarter of the cards, or changed places with you. `levels` are those of
    the server bots, by seat; `game` is the slug.
    """
    for seat in before.keys() - now.keys():
        yield f"{before[seat].name} left"
    for seat, standing in now.items():
        if seat != own:
            yield from _racer_news(before.get(seat), standing, (levels or {}).get(seat), game)
    if own is None or own not in before or own not in now or before[own].outcome in WAITING:
        return
    if now[own].place != before[own].place:
        yield f"you are {ordinal(now[own].place)} of {len(now)}{_overtaking(before, now, own)}"


def ghost_news(before: Iterable[Ghost], now: Iterable[Ghost], game: str = "") -> Iterator[str]:
    """Yield which ghosts stopped or passed a quarter of the cards."""
    known = {ghost.ghost: ghost for ghost in before}
    for ghost in now:
        if ghost.ghost in known:
            yield from _racer_news(known[ghost.ghost], ghost, None, game)


def _racer_news(before: Standing | Ghost | None, now: Standing | Ghost, level: str | None, game: str) -> Iterator[str]:
    result = achieved(game, now.home, now.goal)
    name = f"{now.name}'s ghost" if isinstance(now, Ghost) else now.name + bot_mark(now.bot, level)
    if before is None:
        yield f"{name} joined" if now.outcome == "waiting" else f"{name} joined, {now.outcome}"
    elif now.outcome != before.outcome and now.outcome in WAITING:
        yield f"{name} is {'ready' if now.outcome == 'ready' else 'not ready'}"
    elif now.outcome != before.outcome and now.outcome == "scratched":
        yield f"{name} was scratched"
    elif now.outcome == "won" != before.outcome:
        yield f"{name} solved the deal in {duration(now.ms)}"
    elif now.done and not before.done:
        yield f"{name} {STOPPED.get(now.outcome, 'stopped')} with {result}"
    elif (quarter := int(now.progress * 4)) > int(before.progress * 4):
        to = "down to" if played_for_score(game) else f"past {QUARTERS.get(quarter, 'the goal')},"
        yield f"{name} is {to} {result}"


def _overtaking(before: StandingsBySeat, now: StandingsBySeat, own: int) -> str:
    """Return who passed whom, if it was only one racer."""
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
