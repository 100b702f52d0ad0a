"""Replays: a finished race as a file, and the verification that needs nothing but the file."""

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from samedeal import wire
from samedeal.errors import Malformed, Refused
from samedeal.friendly import check
from samedeal.log import Closed, Dealt, Entry, Header, Moved, Record, Resigned
from samedeal.race import Race, Standing

MOST_BYTES = 64 * 2**20
"""The largest replay that is read."""

FACTS = {
    "rules": "the game and the version of its rules are known here",
    "complete": "the log ends with the closing entry, and only there",
    "commitment": "the secret is the one committed to before anybody took a seat",
    "numbers": "every entry has its number, none is missing or there twice",
    "times": "time never runs backwards",
    "order": "seats, countdown and closing follow the life of a race",
    "nonces": "every racer's nonce is the one committed to with the seat",
    "deal": "the deal follows from the secret and the nonces, or is the open one announced",
    "filter": "the deal is the first of its root that passes the race's filter",
    "moves": "every move was legal when it was made",
    "chain": "every digest follows from the entry and the digest before",
    "standings": "the standings follow from the log",
}
"""What a verification finds out, in this order, and what each fact means when it holds."""

UNCHECKED = "cannot be checked past the first failure"
"""The note of a fact about which nothing is known, because another one fails before."""


class Replay(Record, frozen=True, kw_only=True):
    """A finished race: its header, its whole log, the last digest, and the standings that follow from them."""

    format: Literal["samedeal.replay/1"]
    header: Header
    entries: tuple[Entry, ...]
    digest: str
    standings: tuple[Standing, ...]

    @classmethod
    def of(cls, race: Race, entries: tuple[Entry, ...]) -> "Replay":
        """The replay of a race that is closed."""
        return cls(
            format="samedeal.replay/1",
            header=race.header,
            entries=entries,
            digest=race.digest,
            standings=race.standings(),
        )

    @property
    def closed(self) -> bool:
        """Whether the log has its closing entry."""
        return bool(self.entries) and isinstance(self.entries[-1].event, Closed)

    @property
    def secret(self) -> bytes:
        """What the closing entry reveals. Raises Refused("bad-replay") if there is none."""
        last = self.entries[-1].event if self.entries else None
        if not isinstance(last, Closed):
            raise Refused("bad-replay", f"The log ends at entry {len(self.entries)} without a closing entry.")
        return bytes.fromhex(last.secret)

    def races(self) -> Iterator[Race]:
        """The race before the first entry and after each, checked in folding. Raises Refused where it does not hold."""
        return accumulate(self.entries, Race.after, initial=Race.opened(self.header, self.secret))


class Fact(Struct, frozen=True, kw_only=True):
    """One thing that a verification found."""

    name: str
    holds: bool
    entry: int | None = None
    """The number of the first entry at which it fails, where it fails at one."""
    note: str
    """What holds, or why it does not."""


def read(data: bytes) -> Replay:
    """A replay from the bytes of a file, JSON or MessagePack. Raises Refused("bad-replay") if they are none.

    In JSON white space and the order of fields are free; MessagePack is read only as it is written here. No field may
    be unknown or there twice: two programs that read the same file cannot find different races in it.
    """
    if len(data) > MOST_BYTES:
        raise Refused("bad-replay", f"A replay has at most {MOST_BYTES} bytes.")
    form: wire.Form = "json" if data.lstrip()[:1] == b"{" else "msgpack"
    try:
        replay = wire.decode(data, form, Replay)
        canonical = wire.encode(replay, form)
        if data != canonical and (form == "msgpack" or _fields(data) != _fields(canonical)):
            raise Refused("bad-message", "It has a field that is unknown, or is written otherwise than a replay is.")
    except (Malformed, Refused) as error:
        raise Refused("bad-replay", f"This is not a replay: {error}") from error
    return replay


def verify(replay: Replay) -> tuple[Fact, ...]:
    """Every fact of FACTS, checked from the replay alone: derives the deal again and folds the log again."""
    failures: dict[str, tuple[int | None, str]] = {}
    for fact, entry, note in (*_numbering(replay), *_folding(replay)):
        failures.setdefault(fact, (entry, note))
    return tuple(
        Fact(name=name, holds=False, entry=failures[name][0], note=failures[name][1])
        if name in failures
        else Fact(name=name, holds=True, note=meaning)
        for name, meaning in FACTS.items()
    )


Failure = tuple[str, int | None, str]
"""A fact, the number of the entry where it fails if it fails at one, and why."""


def _fields(data: bytes) -> object:
    """All that JSON holds, known or not. Raises Malformed for a field that is there twice."""
    try:
        return json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _numbering(replay: Replay) -> Iterator[Failure]:
    at = replay.header.opened_at
    for position, entry in enumerate(replay.entries, start=1):
        if entry.n != position:
            yield "numbers", position, f"entry {entry.n} stands where {position} belongs"
        if entry.at < at:
            yield "times", position, f"entry {position} is {at - entry.at} ms before the one it follows"
        if isinstance(entry.event, Closed) and position < len(replay.entries):
            yield "complete", position, f"entry {position} closes the race, and others follow it"
        at = max(at, entry.at)


def _folding(replay: Replay) -> Iterator[Failure]:
    """Everything that takes the secret: without it, or past the first refusal, the rest cannot be checked."""
    last = len(replay.entries)
    try:
        race = Race.opened(replay.header, replay.secret)
    except Refused as refused:
        fact = "rules" if refused.code == "unsupported-version" else "commitment" if replay.closed else "complete"
        yield fact, None if fact == "rules" else last, refused.text
        yield from _unchecked("commitment", *(["rules"] if fact == "complete" else []))
        return
    for position, entry in enumerate(replay.entries, start=1):
        try:
            race, made = race.extended(max(entry.at, race.at), entry.event)
        except Refused as refused:
            yield _fact(refused, entry), position, f"entry {position}: {refused.text}"
            yield from _unchecked()
            return
        if isinstance(entry.event, Dealt) and race.root is not None:
            variant, name = race.header.variant, race.options.filter
            if not check(race.game, race.root, variant, name, entry.event.k):
                yield "filter", position, f"deal {entry.event.k} of the root is not the first that passes {name}"
        if made != entry:
            yield "chain", position, f"the digest of entry {position} is not that of its content and its predecessor"
    if race.digest != replay.digest:
        yield "chain", last, "the last digest is not the one that the replay states"
    if race.standings() != replay.standings:
        yield "standings", None, "the standings are not those that follow from the log"


def _fact(refused: Refused, entry: Entry) -> str:
    """The fact that fails when the fold refuses an entry."""
    if refused.code == "nonce-mismatch":
        return "nonces"
    return "moves" if isinstance(entry.event, Moved | Resigned) else "order"


def _unchecked(*others: str) -> Iterator[Failure]:
    for fact in (*others, "order", "nonces", "deal", "filter", "moves", "chain", "standings"):
        yield fact, None, UNCHECKED
