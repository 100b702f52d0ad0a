"""Consistent races that did not happen. Anyone with the replay knows the secret and can write them."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from msgspec import structs

from samedeal.errors import Refused
from samedeal.proof.commitments import commitment, daily_commitment, nonce_commitment
from samedeal.race.events import AnyEvent, Closed, Header, Moved, Nonce, Resigned, Taken
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from support.finished_races import DAY, SECRET, Logged
from support.tampered_replays import Subject

OTHER_SECRET = bytes(range(96, 128))


def commitment_of(race: Subject, secret: bytes) -> str:
    if race.kind == "daily":
        return daily_commitment(race.replay.header.game, DAY, secret)
    return commitment(race.name, secret)


class Rewrite(NamedTuple):
    """A forged race."""

    what: str
    header: Header
    events: Sequence[tuple[int, AnyEvent]]
    """Events with their times."""
    secret: bytes = SECRET


def rewritten_replays(race: Subject, random: Random) -> list[tuple[str, Replay]]:
    """Return replays of other races that the rules allow, signed with the server's key."""
    replays = ((rewrite.what, _fold(rewrite)) for rewrite in _rewrite(race, random))
    return [(what, replay) for what, replay in replays if replay and replay != race.replay]


def _fold(rewrite: Rewrite) -> Replay | None:
    log = Logged(Race.opened(rewrite.header, rewrite.secret))
    try:
        for at, event in rewrite.events:
            log.say(event, at - log.race.at)
    except Refused:
        return None
    return log.replay()


def _rewrite(race: Subject, random: Random) -> Iterator[Rewrite]:
    """Yield all kinds of rewritten races, whether or not the rules allow them."""
    head, entries = race.replay.header, race.replay.entries
    events = [(entry.at, entry.event) for entry in entries]
    (dealt,), running = race.numbers("dealt"), range(race.numbers("dealt")[0] + 1, race.last)
    end = events[-1][0]
    stop: list[tuple[int, AnyEvent]] = [(end, Resigned(seat=1)), (end, Resigned(seat=2))]
    closing: tuple[int, AnyEvent] = (end, Closed(secret=SECRET.hex()))

    def with_fields(n: int, **fields: Any) -> list[tuple[int, AnyEvent]]:
        return [*events[: n - 1], (entries[n - 1].at, structs.replace(entries[n - 1].event, **fields)), *events[n:]]

    for n in race.numbers("joined"):
        forged = {"name": "eve", "player": "player-9", "bot": n != 2, "by": "0" * 16}
        for field, value in forged.items():
            yield Rewrite(f"{field} of seat {n} is {value}", head, with_fields(n, **{field: value}))
    for n in random.sample(range(1, race.last + 1), 3):
        later = [*events[: n - 1], *((at + 7, event) for at, event in events[n - 1 :])]
        yield Rewrite(f"all from entry {n} on is later", head, later)
    for n in random.sample(running, 3):
        again = [*events[: n - 1], (entries[n - 1].at, Taken(seat=1)), *events[n - 1 :]]
        yield Rewrite(f"seat 1 is taken before entry {n}", head, again)
        yield Rewrite(f"both stop before entry {n}", head, [*events[: n - 1], *stop, closing])
    races = list(race.replay.races())
    for n in random.sample(race.numbers("moved"), 3):
        run = races[n - 1].seat(race.event(n)["seat"]).run
        for move in random.sample(run.game.moves(), 1) if run else ():
            moved = (entries[n - 1].at, Moved(seat=race.event(n)["seat"], move=move))
            yield Rewrite(f"entry {n} is {move}", head, [*events[: n - 1], moved, *stop, closing])
    for option, other in {"spectators": "progress", "unlisted": True, "max_racers": 31, "limit_ms": 7_200_000}.items():
        changed = structs.replace(head.options, **{option: other})
        yield Rewrite(f"{option} is {other}", structs.replace(head, options=changed), events)
    yield Rewrite("another salt", structs.replace(head, salt="77" * 16), events)
    yield Rewrite("it was opened earlier", structs.replace(head, opened_at=head.opened_at - 1), events)
    if race.kind != "friendly":  # or another deal would be the first that passes
        elsewhere = structs.replace(head, commitment=commitment_of(race, OTHER_SECRET))
        its_end = (end, Closed(secret=OTHER_SECRET.hex()))
        yield Rewrite("another secret", elsewhere, [*events[:dealt], *stop, its_end], OTHER_SECRET)
    if race.kind == "sealed":
        nonce = random.randbytes(32)
        chosen = with_fields(2, commitment=nonce_commitment(race.name, nonce))[: dealt - 2]
        other_nonce = (entries[dealt - 2].at, Nonce(seat=2, nonce=nonce.hex()))
        yield Rewrite("seat 2 has another nonce", head, [*chosen, other_nonce, events[dealt - 1], *stop, closing])
