"""Verification: what can be found out about a replay from the replay alone, fact by fact."""

from collections.abc import Collection, Iterator
from itertools import chain

from msgspec import Struct

from samedeal.computer.deal_filters import check
from samedeal.errors import Refused
from samedeal.proof.commitments import first_digest
from samedeal.proof.receipts import Receipts
from samedeal.proof.signature import holds
from samedeal.race.events import Closed, Counting, Dealt, Entry, Moved, Nonce, Resigned, header_bytes
from samedeal.race.race import Race
from samedeal.replays.replay import Log

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
    "signature": "the last digest is signed",
}
"""What a verification finds out, in this order, and what each fact means when it holds."""
RECEIPTS = {"receipts": "the log is the one that was told while the race ran"}
"""What it finds out last, if there are receipts."""

UNCHECKED = "cannot be checked past the first failure"
"""The note of a fact about which nothing is known, because another one fails before."""


class Fact(Struct, frozen=True, kw_only=True):
    """One thing that a verification found."""

    name: str
    holds: bool
    entry: int | None = None
    """The number of the first entry at which it fails, where it fails at one."""
    note: str
    """What holds, or why it does not."""


Failure = tuple[str, int | None, str]
"""A fact, the number of the entry where it fails if it fails at one, and why."""


def verify(log: Log, keys: Collection[str] = (), receipts: Receipts | None = None) -> tuple[Fact, ...]:
    """Every fact of FACTS, and of RECEIPTS if there are any: derives the deal again and folds the log again.

    Nothing but the log is needed. With `keys`, public ones in hexadecimal, the signature has to be by one of
    them. Raises Refused("bad-replay") where a log that is read line by line turns out to be none.
    """
    failures: dict[str, tuple[int | None, str]] = {}
    found = chain(_numbering(log), _folding(log), _signing(log, keys), _promised(log, receipts))
    for fact, entry, note in found:
        failures.setdefault(fact, (entry, note))
    notes = FACTS | {"signature": f"the last digest is signed with the key {log.signature.key}"}
    if receipts is not None:
        told = len({(receipt.n, receipt.digest) for receipt in receipts.digests})
        notes |= {"receipts": f"{RECEIPTS['receipts']}: {told} digests agree"}
    return tuple(
        Fact(name=name, holds=False, entry=failures[name][0], note=failures[name][1])
        if name in failures
        else Fact(name=name, holds=True, note=note)
        for name, note in notes.items()
    )


def _numbering(log: Log) -> Iterator[Failure]:
    at, closed = log.header.opened_at, False
    for position, entry in enumerate(log.entries, start=1):
        if closed:
            yield "complete", position - 1, f"entry {position - 1} closes the race, and others follow it"
        if entry.n != position:
            yield "numbers", position, f"entry {entry.n} stands where {position} belongs"
        if entry.at < at:
            yield "times", position, f"entry {position} is {at - entry.at} ms before the one it follows"
        at, closed = max(at, entry.at), isinstance(entry.event, Closed)


def _folding(log: Log) -> Iterator[Failure]:
    """Everything that takes the secret: without it, or past the first refusal, the rest cannot be checked."""
    if log.closing is None:
        last = sum(1 for _ in log.entries)
        yield "complete", last, f"The log ends at entry {last} without a closing entry."
        yield from _unchecked("commitment", "rules")
        return
    try:
        race = Race.opened(log.header, bytes.fromhex(log.closing.secret))
    except Refused as refused:
        fact = "rules" if refused.code == "unsupported-version" else "commitment"
        yield fact, None if fact == "rules" else sum(1 for _ in log.entries), refused.text
        yield from _unchecked("commitment")
        return
    for position, entry in enumerate(log.entries, start=1):
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
    if race.digest != log.digest:
        yield "chain", race.n, "the last digest is not the one that the replay states"
    if race.standings() != log.standings:
        yield "standings", None, "the standings are not those that follow from the log"


def _fact(refused: Refused, entry: Entry) -> str:
    """The fact that fails when the fold refuses an entry."""
    if refused.code == "nonce-mismatch":
        return "nonces"
    return "moves" if isinstance(entry.event, Moved | Resigned) else "order"


def _unchecked(*others: str) -> Iterator[Failure]:
    for fact in (*others, "order", "nonces", "deal", "filter", "moves", "chain", "standings"):
        yield fact, None, UNCHECKED


def _signing(log: Log, keys: Collection[str]) -> Iterator[Failure]:
    if not holds(log.signature, log.header.race, log.digest):
        yield "signature", None, f"the signature of the last digest was not made with the key {log.signature.key}"
    elif keys and log.signature.key not in keys:
        yield "signature", None, f"the signature is by {log.signature.key}, and not by a key that it has to be by"


def _promised(log: Log, receipts: Receipts | None) -> Iterator[Failure]:
    if receipts is None:
        return
    if receipts.header != log.header:
        yield "receipts", None, "the receipts are of a race that was opened otherwise"
        return
    told: dict[int, set[str]] = {}
    for receipt in receipts.digests:
        told.setdefault(receipt.n, set()).add(receipt.digest)
    secret = bytes.fromhex(log.closing.secret) if log.closing else b""
    if told.pop(0, begun := {first_digest(secret, header_bytes(log.header))}) != begun:
        yield "receipts", None, "the digest before the first entry is not the one that was told"
    mine = {(kept.seat, kept.nonce) for kept in receipts.nonces}
    seats, last = {seat for seat, _ in mine}, 0
    early = receipts.sent_after if log.header.sealed else None
    for last, entry in enumerate(log.entries, start=1):
        if told.pop(last, {entry.h}) != {entry.h}:
            yield "receipts", last, f"the digest of entry {last} is not the one that was told"
        if early is not None and early < last and isinstance(entry.event, Counting):
            yield "receipts", last, f"the nonce was sent before the countdown, entry {last}, was told of"
        own = isinstance(entry.event, Nonce) and entry.event.seat in seats and entry.event
        if own and (own.seat, own.nonce) not in mine:
            yield "receipts", last, f"the nonce of seat {own.seat} is not the one that was sent"
    if left := sorted(told):
        yield "receipts", last, f"the log ends at entry {last}, and entry {left[0]} was told of"
