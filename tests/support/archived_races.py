"""Finished races of chosen players in the archive, for tests of scores."""

from typing import Any

from samedeal.race.events import Closed, Counting, Dealt, Joined, Moved, Readied, Resigned
from samedeal_server.store.guest_tokens import Guest
from support.finished_races import OPENED_AT, SECRET, Logged
from support.races_by_hand import opened
from support.stores import Process


def guest(number: int) -> Guest:
    return Guest(f"player-{number}", f"Guest {number}")


def race_of(race_id: str, *players: int, slug: str = "corners", at: int = 0, **options: Any) -> Logged:
    """Return a finished race, opened a time after OPENED_AT. The first player is ahead, and the others are tied."""
    seed = None if options.get("daily") else "225"
    log = opened(slug, seed, race_id=race_id, opened_at=OPENED_AT + at, **options, max_racers=len(players))
    for seat, player in enumerate(players, start=1):
        log.say(Joined(seat=seat, player=guest(player).player, name=f"Name {player}"), 10)
    for seat in range(1, len(players) + 1):
        log.say(Readied(seat=seat))
    log.say(Counting())
    log.say(Dealt(), log.race.options.start_delay_ms)
    while len(players) > 1 and (run := log.race.seat(1).run) and not run.peak > run.deal.home:
        log.say(Moved(seat=1, move=run.game.moves()[0]), 700)
    for seat in range(1, len(players) + 1):
        log.say(Resigned(seat=seat), 1)
    log.say(Closed(secret=SECRET.hex()))
    return log


async def archive(parts: Process, race_id: str, *players: int, **options: Any) -> None:
    """Archive a finished race."""
    log = race_of(race_id, *players, **options)
    await parts.archive.add(log.race, log.entries)
