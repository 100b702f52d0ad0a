"""A short race on a server, and what somebody could make of its replay."""

from typing import Any

from msgspec import json

from samedeal import codec
from samedeal.race.events import Header, Moved, Taken
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.finished_races import Logged
from support.receipt_files import other_last_move, rewritten
from support.servers import Server, racers


async def played(server: Server, slug: str, **options: Any) -> Replay:
    """Race alone on a secret deal: a few moves, with a restart where none is legal, then resign."""
    race_id = server.create(slug, max_racers=1, start_delay_ms=0, **options)
    async with racers(server, "ada") as (ada,):
        await ada.begin(race_id)
        for _ in range(4):
            await ada.move((ada.board.moves or ["restart"])[0])
        await ada.ask(m.Resign)
    return await server.replay(race_id)


def altered(replay: Replay) -> tuple[int, Any]:
    """Replace the last move in the file by an illegal one. Return the number of its entry, and the file."""
    n = max(entry.n for entry in replay.entries if isinstance(entry.event, Moved))
    content = json.decode(codec.encode(replay, "json"))
    content["entries"][n - 1][2]["move"] = "zz"
    return n, content


def forged(replay: Replay) -> Replay:
    """Replace the last move by a legal one, with correct digests, and sign the race with another key."""
    _, change = other_last_move(replay)
    return rewritten(replay, replay.header, change, replay.secret)


def prolonged(replay: Replay, entries: int) -> Replay:
    """Let seat 1 reconnect many times before the end."""
    log = Logged(Race.opened(replay.header, replay.secret))
    *before, closing = replay.entries
    for entry in before:
        log.say(entry.event, entry.at - log.race.at)
    for _ in range(entries):
        log.say(Taken(seat=1))
    log.say(closing.event, closing.at - log.race.at)
    return log.replay()


def under_header(replay: Replay, header: Header) -> Replay:
    """Pretend that the same entries belong to another header, and sign the race with another key."""

    def unchanged(race: Race, event: Moved) -> Moved:
        return event

    return rewritten(replay, header, unchanged, replay.secret)
