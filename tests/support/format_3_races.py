"""Random races of the third format: with head starts, early ends and objections, and with events that are refused."""

from random import Random
from typing import Any, NamedTuple

from msgspec import json, structs

from samedeal import codec
from samedeal.errors import IllegalMove, Refused
from samedeal.race.events import AnyEvent, Closed, Counting, Dealt, HeadStart, Moved, Nonce, Readied, Resigned, Taken
from samedeal.race.race import STUCK_MS
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from support.finished_races import SECRET, Logged, nonce
from support.races_by_hand import joined, opened, run_of
from support.replay_writing import Content, chain, in_json, sign

SLUGS = (*("the-edge", "kings-in-the-corners", "gallery") * 4, *("corners", "corner-stones") * 1)
"""The games, more often those that end soon."""
STEPS = 500
"""The most events of a race before its racers resign."""
CLOSED = Closed(secret=SECRET.hex())


class Refusal(NamedTuple):
    """An event that the race refused."""

    position: int
    """The number of entries before it."""
    at: int
    event: AnyEvent


class RandomRace(NamedTuple):
    """A closed race."""

    log: Logged
    refusals: list[Refusal]
    is_early: bool
    """Whether it was closed because everybody who had not stopped was stuck."""


def random_race(random: Random) -> RandomRace:
    """Return a race of the third format, the same for the same random numbers."""
    log, refusals = _dealt(random), list[Refusal]()
    for _ in range(STEPS):
        event, wait = _event(log, random)
        try:
            log.say(event, wait)
        except (Refused, IllegalMove):
            refusals.append(Refusal(len(log.entries), log.race.at + wait, event))
        if log.race.closed:
            break
    race = log.race
    if not race.closed:
        for seat in race.roster:
            if seat.run and not seat.run.done and race.at < (race.ends_at or 0):
                log.say(Resigned(seat=seat.number))
        log.say(CLOSED, 0 if log.race.finished(log.race.at) else (race.ends_at or 0) - log.race.at)
    is_done = all(seat.run is None or seat.run.done for seat in log.race.seats)
    return RandomRace(log, refusals, not is_done and log.race.at < (log.race.ends_at or 0))


def with_refused(log: Logged, refusal: Refusal, random: Random) -> bytes:
    """Return a replay, in JSON, of the race up to a refused event, with this event, its end, and digests that fit."""
    content: Content = json.decode(codec.encode(log.replay(), "json"))
    del content["entries"][refusal.position :]
    events = [json.decode(codec.encode(event, "json")) for event in (refusal.event, CLOSED)]
    for event in events[: 1 if refusal.event == CLOSED else 2]:
        content["entries"].append([len(content["entries"]) + 1, refusal.at, event, ""])
    chain(content, SECRET.hex())
    sign(content, random.randbytes(32))
    return in_json(content)


def early_end(slug: str, random: Random) -> Replay:
    """Return a race of two that ends early, after an objection."""
    log = _with_racers(opened(slug, "1", end_when_stuck=True), 2, bots=())
    log.say(Dealt(), 5_000)
    for seat in (1, 2, 1):
        if run_of(log.race, seat).game.over:
            log.say(Moved(seat=seat, move=RESTART), STUCK_MS - 1)
        while moves := run_of(log.race, seat).game.moves():
            log.say(Moved(seat=seat, move=random.choice(moves)), 50)
    log.say(CLOSED, STUCK_MS)
    return log.replay()


def head_start(slug: str, random: Random) -> Replay:
    """Return a race of three in which the second has a head start."""
    log = _with_racers(opened(slug, head_start=HeadStart(player="player-2", ms=4_000)), 3, bots=(3,))
    for seat in (1, 2, 3):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), 5_000)
    for turn in range(20):
        seat = 2 if turn < 5 else random.randint(1, 3)
        if moves := run_of(log.race, seat).game.moves():
            log.say(Moved(seat=seat, move=random.choice(moves)), 4_000 if turn == 5 else 100)
    for seat in (1, 2, 3):
        if not run_of(log.race, seat).done:
            log.say(Resigned(seat=seat), 9)
    log.say(CLOSED)
    return log.replay()


def _dealt(random: Random) -> Logged:
    """Return a race with random options just after its deal."""
    ahead = random.choice((None, None, "player-1", "player-2", "player-9"))
    options: dict[str, Any] = {
        "end_when_stuck": ahead is None or random.random() < 0.8,
        "limit_ms": random.choice((21_000, 60_000, 900_000)),
        "undo": random.random() < 0.8,
        "attempts": random.choice((0, 0, 1, 2)),
    }
    waits_ms = random.choice((1, 500, 3_000, 20_000))
    given = HeadStart(player=ahead, ms=waits_ms) if ahead else None
    racers, seed = random.randint(2, 3), random.choice((None, str(random.randrange(1_000))))
    bots = tuple(seat for seat in range(1, racers + 1) if random.random() < 0.15)
    log = _with_racers(opened(random.choice(SLUGS), seed, head_start=given, **options), racers, bots)
    for seat in range(1, racers + 1):
        if random.random() < 0.95:
            log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 10)
    log.say(Dealt(), 5_000)
    return log


def _with_racers(log: Logged, racers: int, bots: tuple[int, ...]) -> Logged:
    for seat in range(1, racers + 1):
        log.say(structs.replace(joined(log, seat), bot=seat in bots), 100)
        log.say(Readied(seat=seat))
    log.say(Counting())
    return log


def _event(log: Logged, random: Random) -> tuple[AnyEvent, int]:
    """Return an event that may or may not be possible, and when."""
    race = log.race
    early_at = race.ends_early_at
    if race.finished(race.at) or random.random() < 0.01:
        return CLOSED, 0
    seat = random.choice(race.roster)
    run = seat.run
    if early_at is not None and random.random() < 0.5:
        at = early_at + random.choice((-1, 0, 0, 1, 1_000))
        return CLOSED, max(0, at - race.at)
    if run is None or random.random() < 0.01:
        return random.choice((Taken(seat=seat.number), Resigned(seat=seat.number))), 5
    if race.plays_from(seat) > race.at and random.random() < 0.3:
        wait = race.plays_from(seat) - race.at + random.choice((-1, 0, 1))
        return Moved(seat=seat.number, move=random.choice(run.game.moves() or (RESTART,))), max(0, wait)
    if run.game.moves():
        return Moved(seat=seat.number, move=random.choice(run.game.moves())), random.choice((0, 1, 40))
    if early_at is None and random.random() < 0.9:
        return CLOSED, random.choice((0, STUCK_MS)) if random.random() < 0.02 else 0
    objections: tuple[AnyEvent, ...] = (
        Moved(seat=seat.number, move=UNDO),
        Moved(seat=seat.number, move=RESTART),
        Taken(seat=seat.number),
    )
    return random.choice(objections), random.choice((0, 1, STUCK_MS - 1, STUCK_MS, STUCK_MS + 1))
