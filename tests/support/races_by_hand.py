"""Races by hand for the tests of the fold and of what depends on it: no store, and time is what the test says."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any

from msgspec import structs

from samedeal.errors import Refused
from samedeal.proof.commitments import nonce_commitment
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Joined,
    Left,
    Moved,
    Nonce,
    Options,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run
from support import finished_races
from support.finished_races import SECRET, Logged, nonce


def opened(
    slug: str = "corners",
    seed: str | None = None,
    variant: Mapping[str, str | bool] | None = None,
    race_id: str = "calm-otter-42",
    daily: bool = False,
    opened_at: int = finished_races.OPENED_AT,
    **options: Any,
) -> Logged:
    """A race with these options before its first entry; sealed unless a seed is given or it is a daily one."""
    race = finished_races.opened(slug, race_id, seed=seed, daily=daily, opened_at=opened_at).race
    chosen = Options(**{"limit_ms": race.game.limit_ms, **options})
    header = structs.replace(race.header, variant=dict(variant or {}), options=chosen)
    return Logged(Race.opened(header, SECRET))


def joined(log: Logged, seat: int, name: str | None = None) -> Joined:
    """Somebody takes a seat, committed to ``nonce(seat)``."""
    promise = nonce_commitment(log.race.id, nonce(seat))
    return Joined(seat=seat, player=f"player-{seat}", name=name or f"Name {seat}", commitment=promise)


def counting(racers: int = 2, **race: Any) -> Logged:
    """A race whose countdown has begun."""
    log = opened(**race)
    for seat in range(1, racers + 1):
        log.say(joined(log, seat), 100)
        log.say(Readied(seat=seat), 100)
    log.say(Counting())
    return log


def running(racers: int = 2, **race: Any) -> Logged:
    """A race that has just been dealt, every nonce opened in time."""
    log = counting(racers, **race)
    for seat in range(1, racers + 1):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 10)
    log.say(Dealt(), log.race.options.start_delay_ms)
    return log


def closed(log: Logged) -> Logged:
    """The race after everybody has given up and it was closed."""
    for seat in log.race.roster:
        if seat.run and not seat.run.done:
            log.say(Resigned(seat=seat.number), 1)
    log.say(Closed(secret=SECRET.hex()))
    return log


def run_of(race: Race, seat: int = 1) -> Run:
    """How far a racer has come, who must have been dealt to."""
    run = race.seat(seat).run
    assert run
    return run


def at_random(log: Logged, random: Random, tries: int) -> Iterator[AnyEvent]:
    """Lets things happen, possible and impossible; answers with those that were refused."""
    for _ in range(tries):
        if log.race.closed:
            return
        event = _event(log, random)
        try:
            log.say(event, random.choice((0, 1, 40, 900)))
        except Refused:
            yield event


def raced(slug: str, random: Random, tries: int = 150, **race: Any) -> Logged:
    """A race in which so many things were tried at random."""
    log = opened(slug, **race)
    for _ in at_random(log, random, tries):
        pass
    return log


def _event(log: Logged, random: Random) -> AnyEvent:
    """Something that may be possible now, more often than not."""
    race = log.race
    seat = random.randint(1, len(race.seats) + (race.stage == "open"))
    nonsense: list[AnyEvent] = [
        Moved(seat=seat, move=random.choice(("draw", "r1", UNDO, RESTART, "?"))),
        Left(seat=seat),
        Closed(secret=random.choice((SECRET, nonce(9))).hex()),
        Nonce(seat=seat, nonce=nonce(random.randrange(1, 4)).hex()),
        Unreadied(seat=seat),
        Resigned(seat=seat),
        Dealt(),
    ]
    if random.randrange(12) == 0:
        return random.choice(nonsense)
    if race.finished(race.at):
        return Closed(secret=SECRET.hex())
    if race.stage == "open":
        usual: list[AnyEvent] = [joined(log, seat), Readied(seat=seat), Readied(seat=seat), Counting()]
        return random.choice(usual)
    if race.stage == "countdown":
        if all(seat.nonce for seat in race.roster) or random.randrange(20) == 0:
            with suppress(Refused):
                log.say(Taken(seat=seat), race.options.start_delay_ms)
            return Dealt()
        return Nonce(seat=seat, nonce=nonce(seat).hex())
    run = race.seats[seat - 1].run
    if run is None or random.randrange(40) == 0:
        return Taken(seat=seat)
    if run.undo_history and random.randrange(5) == 0:
        return Moved(seat=seat, move=UNDO)
    if run.game.over or random.randrange(40) == 0:
        return Moved(seat=seat, move=RESTART)
    moves = run.game.moves()
    return Moved(seat=seat, move=random.choice((random.choice(moves), moves[-1])))
