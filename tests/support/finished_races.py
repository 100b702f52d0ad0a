"""Finished races for tests of replays, with deterministic random play."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from samedeal.commitments import commitment, daily_commitment, nonce_commitment
from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Entry,
    Header,
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
from samedeal.replays.replay import Replay

OPENED_AT = 1_700_000_000_000
DAY = "2023-11-14"
"""The UTC day of that time."""
SECRET = bytes(range(32))
SIGNING_KEY = bytes(range(32, 64))
NAMES = ("ada", "bo", "cy")
SHORTEST_MS = 5 * 60_000
"""The time that the moves of these races can take."""


@dataclass
class Logged:
    """A race in progress with its log."""

    race: Race
    entries: list[Entry] = field(default_factory=list)

    def say(self, event: AnyEvent, wait: int = 0) -> None:
        """Log an event some milliseconds after the previous one."""
        self.race, entry = self.race.extended(self.race.at + wait, event)
        self.entries.append(entry)

    def replay(self) -> Replay:
        return Replay.of(self.race, tuple(self.entries), SIGNING_KEY)


def nonce(seat: int) -> bytes:
    return bytes([seat]) * 32


def opened(
    slug: str,
    race: str = "calm-otter-42",
    seed: str | None = None,
    attempts: int = 0,
    daily: bool = False,
    opened_at: int = OPENED_AT,
) -> Logged:
    """Create a race without players."""
    day = datetime.fromtimestamp(opened_at // 1_000, UTC).date().isoformat()
    header = Header(
        race=race,
        game=slug,
        rules=GAMES[slug].rules,
        seed=seed,
        daily=daily,
        commitment=daily_commitment(slug, day, SECRET) if daily else commitment(race, SECRET),
        salt="" if daily else "00" * 16,
        opened_at=opened_at,
        options=Options(limit_ms=max(GAMES[slug].limit_ms, SHORTEST_MS), attempts=attempts),
    )
    return Logged(Race.opened(header, SECRET))


def finished(slug: str, moves: int = 40, seed: str | None = None, daily: bool = False) -> Replay:
    """Return a race of two with every kind of event: one makes random moves, both resign."""
    log, random = opened(slug, seed=seed, daily=daily), Random(slug)
    for seat, name in enumerate(NAMES, start=1):
        promise = nonce_commitment(log.race.id, nonce(seat))
        log.say(Joined(seat=seat, player=f"player-{seat}", name=name, bot=seat == 2, commitment=promise), 1_000)
    log.say(Readied(seat=1), 500)
    log.say(Unreadied(seat=1), 500)
    log.say(Left(seat=3), 500)
    for seat in (1, 2):
        log.say(Readied(seat=seat), 500)
    log.say(Counting())
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 20)
    log.say(Dealt(), 5_000)
    log.say(Taken(seat=2), 100)
    for turn in range(moves):
        seat = 1 + (turn % 4 == 3)
        move = _move(log.race.seat(seat).run, random)
        if move:
            log.say(Moved(seat=seat, move=move), random.randrange(1, 3_000))
    for seat in (1, 2):
        run = log.race.seat(seat).run
        if run and not run.done:
            log.say(Resigned(seat=seat), 1_000)
    log.say(Closed(secret=SECRET.hex()))
    return log.replay()


def _move(run: Run | None, random: Random) -> str | None:
    """Choose a legal move or sometimes undo; restart if there is no other move."""
    assert run
    if run.undo_history and random.random() < 0.1 and run.game.outcome in ("playing", "stuck"):
        return UNDO
    if run.game.over:
        return None if run.game.won else RESTART
    return random.choice(run.game.moves())
