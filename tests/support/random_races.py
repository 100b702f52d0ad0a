"""Random races: every kind of event in any order, the same for the same random numbers."""

from contextlib import suppress
from random import Random
from typing import Any, Literal

from samedeal import commitments
from samedeal.errors import Refused
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Entry,
    Joined,
    Left,
    Moved,
    Nonce,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from support import races_by_hand
from support.finished_races import SECRET, Logged
from support.races_by_hand import closed, running

Kind = Literal["sealed", "friendly", "open", "daily"]
KINDS: tuple[Kind, ...] = ("sealed", "friendly", "open", "daily")
NAMES = ("ada", "Zoë 🂡", 'quote " and \\', "0123456789abcdef", "x" * 48)
PLAYERS = ("player-1", "fedcba9876543210", "FEDCBA9876543210", "0" * 15, "joined")
"""Public ids; some are hexadecimal, and others only look like it."""


def nonce(seat: int, number: int) -> bytes:
    return bytes([seat, number]) * 16


def opened(slug: str, kind: Kind, random: Random) -> Logged:
    """A race with random options before its first entry."""
    options: dict[str, Any] = {
        "limit_ms": random.choice((1_000, 360_000)),
        "max_racers": random.choice((1, 3, 8)),
        "undo": random.random() < 0.7,
        "attempts": random.choice((0, 2)),
        "filter": "friendly/1" if kind == "friendly" else "any",
        "unlisted": random.random() < 0.3,
    }
    race_id = random.choice(("calm-otter-4217", "0123456789abcdef"))
    seed = random.choice(("1", "0123456789abcdef")) if kind == "open" else None
    return races_by_hand.opened(slug, seed, race_id=race_id, daily=kind == "daily", **options)


def random_race(slug: str, kind: Kind, random: Random) -> tuple[Race, Replay]:
    """A closed race and its replay. Events that the race refuses are skipped."""
    log = opened(slug, kind, random)
    for _ in range(random.choice((0, 20, 200))):
        try:
            log.say(random_event(log.race, random), random.choice((0, 3, 700, 70_000)))
        except Refused:
            continue
    if log.race.stage == "countdown":
        with suppress(Refused):  # the day of the deal may be over
            log.say(Dealt(k=0 if kind == "open" else random.choice((0, 300))), 5_000)
    end = log.race.expires_at if log.race.ends_at is None else log.race.ends_at
    log.say(Closed(secret=SECRET.hex()), max(0, end - log.race.at))
    return log.race, log.replay()


def random_event(race: Race, random: Random) -> AnyEvent:
    """An event that may come next in a race, or may be refused."""
    seat = random.choice((1, 1, 2, 3))
    by = random.choice((None, random.randbytes(8).hex()))
    if race.stage == "open":
        player = random.randrange(len(PLAYERS))
        commitment = None
        if race.header.sealed or random.random() < 0.5:
            number = random.randrange(2)
            commitment = commitments.nonce_commitment(race.id, nonce(race.seat_for(PLAYERS[player]), number))
        joined = Joined(
            seat=race.seat_for(PLAYERS[player]),
            player=PLAYERS[player],
            name=random.choice(NAMES),
            bot=random.random() < 0.3,
            commitment=commitment,
            by=by,
        )
        ready = Readied(seat=seat)
        events: tuple[AnyEvent, ...] = (joined, Left(seat=seat), ready, ready, Unreadied(seat=seat), Counting())
        return random.choice(events)
    if race.stage == "countdown":
        return random.choice(
            (Nonce(seat=seat, nonce=nonce(seat, random.randrange(2)).hex()), Dealt(), Taken(seat=seat))
        )
    run = race.seat(seat).run
    moves = run.game.moves() if run else ()
    move = random.choice((*moves, UNDO, RESTART))
    events = (*[Moved(seat=seat, move=move)] * 20, Taken(seat=seat, by=by), Resigned(seat=seat))
    return random.choice(events)


def race_of_five(slug: str, number: int, moves: int) -> tuple[Race, list[Entry]]:
    """A race of five players who make this many random moves each, with pauses as of people."""
    random = Random(number)
    log = running(5, slug=slug, race_id=f"calm-otter-421{number}")
    for turn in range(5 * moves):
        seat = 1 + turn % 5
        run = log.race.seat(seat).run
        assert run
        legal = run.game.moves() or (RESTART,)
        log.say(Moved(seat=seat, move=random.choice(legal)), int(random.expovariate(1 / 300)))
    closed(log)
    return log.race, log.entries
