"""Timelines: the sequence of tables that each racer saw, for programs that draw replays without knowing the rules."""

from msgspec import Struct

from samedeal.game import Game
from samedeal.race.events import Dealt, Moved, Resigned
from samedeal.race.run import Run
from samedeal.race.standings import Standing
from samedeal.replays.replay import Replay

Table = dict[str, tuple[str, ...]]
"""Piles by place, bottom to top; ``??`` is a face-down card."""


class ReplayStep(Struct, frozen=True, omit_defaults=True):
    """The effect of one entry on a racer's table."""

    n: int
    """The number of the entry."""
    ms: int
    """The time since the deal."""
    move: str
    """The move, ``undo``, ``restart`` or ``resign``."""
    changed: Table
    """The piles that changed."""
    notes: dict[str, str]
    home: int
    """The number of cards home in this attempt."""
    attempt: int
    outcome: str


class Racer(Struct, frozen=True):
    """A racer's steps."""

    seat: int
    name: str
    bot: bool
    steps: tuple[ReplayStep, ...]


class Steps(Struct, frozen=True):
    """A finished race: the deal and each racer's steps, in the order of the standings."""

    race: str
    game: str
    deal: str | None
    """The code of the deal, or None if the race was cancelled before it."""
    variant: dict[str, str | bool]
    opened_at: int
    ms: int
    """The time from the deal to the end."""
    table: Table
    notes: dict[str, str]
    racers: tuple[Racer, ...]
    standings: tuple[Standing, ...]


def steps(replay: Replay) -> Steps:
    """Return the steps of a replay. Raises Refused if its log is invalid."""
    races = replay.races()
    race = next(races)
    runs: dict[int, Run] = {}
    steps_of: dict[int, list[ReplayStep]] = {}
    dealt: Game | None = None
    for entry, race in zip(replay.entries, races, strict=True):
        event, before = entry.event, runs
        runs = {seat.number: seat.run for seat in race.roster if seat.run}
        if isinstance(event, Dealt):
            steps_of = {number: [] for number in runs}
            dealt = next((run.deal for run in runs.values()), None)
        elif isinstance(event, Moved | Resigned):
            move = event.move if isinstance(event, Moved) else "resign"
            ms = entry.at - (race.started_at or 0)
            steps_of[event.seat].append(_step(entry.n, ms, move, before[event.seat], runs[event.seat]))
    return Steps(
        race=race.id,
        game=race.header.game,
        deal=race.deal,
        variant=dict(race.header.variant),
        opened_at=race.header.opened_at,
        ms=0 if race.started_at is None else race.at - race.started_at,
        table=dealt.view() if dealt else {},
        notes=dealt.notes if dealt else {},
        racers=tuple(
            Racer(standing.seat, standing.name, standing.bot, tuple(steps_of[standing.seat]))
            for standing in race.standings()
            if standing.seat in steps_of
        ),
        standings=race.standings(),
    )


def _step(n: int, ms: int, move: str, old: Run, new: Run) -> ReplayStep:
    return ReplayStep(
        n=n,
        ms=ms,
        move=move,
        changed=new.game.changed_view(old.game),
        notes=new.game.notes,
        home=new.game.home,
        attempt=new.attempts,
        outcome=new.outcome,
    )
