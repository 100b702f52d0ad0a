"""Races without a store and with a controlled clock, for tests of the fold."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any

from msgspec import structs

from samedeal.commitments import nonce_commitment
from samedeal.computer.deal_filters import first
from samedeal.errors import Refused
from samedeal.race.due import due
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    HeadStart,
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
from samedeal.race.server_bots import add_bot_events, bots_playing
from samedeal.wire.bot_player import RESIGN, choose
from samedeal.wire.views import view
from support import finished_races
from support.finished_races import SECRET, Logged, nonce


def opened(
    slug: str = "corners",
    seed: str | None = None,
    variant: Mapping[str, str | bool] | None = None,
    race_id: str = "calm-otter-42",
    daily: bool = False,
    opened_at: int = finished_races.OPENED_AT,
    follows: str | None = None,
    head_start: HeadStart | None = None,
    **options: Any,
) -> Logged:
    """Return a race without entries; sealed unless it has a seed or is daily."""
    race = finished_races.opened(slug, race_id, seed=seed, daily=daily, opened_at=opened_at).race
    chosen = Options(**{"limit_ms": race.game.limit_ms, **options})
    changes = {"variant": dict(variant or {}), "options": chosen, "follows": follows, "head_start": head_start}
    header = structs.replace(race.header, **changes)
    return Logged(Race.opened(header, SECRET))


def joined(log: Logged, seat: int, name: str | None = None) -> Joined:
    """Join a seat with a commitment to ``nonce(seat)``."""
    promise = nonce_commitment(log.race.id, nonce(seat))
    return Joined(seat=seat, player=f"player-{seat}", name=name or f"Name {seat}", commitment=promise)


def seated(racers: int = 1, **race: Any) -> Logged:
    """Return a race that racers have joined."""
    log = opened(**race)
    for seat in range(1, racers + 1):
        log.say(joined(log, seat))
    return log


def counting(racers: int = 2, **race: Any) -> Logged:
    """Return a race in its countdown."""
    log = opened(**race)
    for seat in range(1, racers + 1):
        log.say(joined(log, seat), 100)
        log.say(Readied(seat=seat), 100)
    log.say(Counting())
    return log


def running(racers: int = 2, **race: Any) -> Logged:
    """Return a race just after the deal of the first number that passes its filter, with all nonces revealed."""
    log = revealed(racers, **race)
    root, name = log.race.root, log.race.options.filter
    k = 0 if root is None else first(log.race.game, root, log.race.header.variant, name)
    log.say(Dealt(k=k), log.race.options.start_delay_ms)
    return log


def revealed(racers: int = 2, **race: Any) -> Logged:
    """Return a race just before the deal, with all nonces revealed."""
    log = counting(racers, **race)
    for seat in range(1, racers + 1):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 10)
    return log


def closed(log: Logged) -> Logged:
    """Return the race after all racers resigned and it closed."""
    for seat in log.race.roster:
        if seat.run and not seat.run.done:
            log.say(Resigned(seat=seat.number), 1)
    log.say(Closed(secret=SECRET.hex()))
    return log


def run_of(race: Race, seat: int = 1) -> Run:
    """Return the run of a racer, who must have cards."""
    run = race.seat(seat).run
    assert run
    return run


def at_random(log: Logged, random: Random, tries: int) -> Iterator[AnyEvent]:
    """Apply possible and impossible events. Return the refused ones."""
    for _ in range(tries):
        if log.race.closed:
            return
        event = _event(log, random)
        try:
            log.say(event, random.choice((0, 1, 40, 900)))
        except Refused:
            yield event


def raced(slug: str, random: Random, tries: int = 150, **race: Any) -> Logged:
    """Return a race after a number of random events."""
    log = opened(slug, **race)
    for _ in at_random(log, random, tries):
        pass
    return log


def _event(log: Logged, random: Random) -> AnyEvent:
    """Return a random event that is usually possible."""
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


def with_server_bot(slug: str = "corners", moves: int = 40, **options: Any) -> Logged:
    """Return a race of a player against a server bot, after some moves of the bot."""
    log = opened(slug, **options)
    log.say(joined(log, 1))
    for event in add_bot_events(log.race):
        log.say(event)
    log.say(Readied(seat=1))
    while timed := due(log.race, log.race.at, seen={}, away_ms=30_000):  # the countdown, and the bot's nonce
        log.say(timed)
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    log.say(Dealt(), 5_000)
    for _ in range(moves):
        if not bots_playing(log.race):
            break
        run = run_of(log.race, 2)
        seen = view(log.race, 2, log.race.at, legal=True, header=True)
        move = choose(seen, run.moves[-1] if run.moves else "", slug, run.game.recalled())
        log.say(Resigned(seat=2) if move == RESIGN else Moved(seat=2, move=move), 10)
    return log
