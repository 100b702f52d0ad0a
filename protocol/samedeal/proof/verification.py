"""Verification: checks every fact that follows from a replay alone."""

from collections.abc import Collection, Iterator
from itertools import chain

from msgspec import Struct

from samedeal.codec import encode
from samedeal.computer.deal_filters import check
from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.proof.receipts import Receipts, contradictions
from samedeal.race.events import Closed, Dealt, Entry, Moved, Resigned
from samedeal.race.race import Race
from samedeal.replays.replay import Log
from samedeal.replays.signature import holds, is_weak

FACTS = {
    "rules": "this version supports the game and its rules",
    "complete": "the log ends with its only closing entry",
    "commitment": "the secret matches the commitment published before anyone took a seat",
    "numbers": "the entries are numbered without gaps or duplicates",
    "times": "the times never decrease",
    "order": "seats, countdown and closing follow the stages of a race",
    "nonces": "every nonce matches the commitment sent with the seat",
    "deal": "the deal is derived from the secret and the nonces, or from the announced seed",
    "filter": "the deal is the first of its root that passes the race's filter",
    "moves": "every move was legal",
    "chain": "every digest follows from the entry and the previous digest",
    "standings": "the standings follow from the log",
    "signature": "the signature of the last digest is valid",
}
"""The facts that a verification checks, in order, and what each one means if it holds."""
RECEIPTS = {"receipts": "the log matches the digests received during the race"}
"""The additional fact if there are receipts."""

UNCHECKED = "not checked because of another failure"
"""The note of a fact that cannot be checked because another one fails before it."""


class Fact(Struct, frozen=True, kw_only=True):
    """One result of a verification."""

    name: str
    holds: bool
    entry: int | None = None
    """The number of the first entry at which it fails, if any."""
    note: str
    """What holds, or why it fails."""


Failure = tuple[str, int | None, str]
"""The name of a fact, the number of the entry where it fails, if any, and the reason."""


def verify(
    log: Log, keys: Collection[str] = (), receipts: Receipts | None = None, *, with_filter: bool = True
) -> tuple[Fact, ...]:
    """Check all FACTS, and RECEIPTS if given, by deriving the deal and folding the log again.

    Only the log is needed. If ``keys`` (public keys in hexadecimal) are given, one of them must have signed it.
    The fact ``filter`` takes most of the time; without it, the others still show every change since the log was signed.
    Raises Refused("bad-replay") if a line-based log turns out to be invalid.
    """
    failures: dict[str, tuple[int | None, str]] = {}
    checks = chain(
        _check_numbers(log),
        _check_fold(log, with_filter=with_filter),
        _check_signature(log, keys),
        (("receipts", *found) for found in (contradictions(log, receipts) if receipts else ())),
    )
    for fact, entry, note in checks:
        failures.setdefault(fact, (entry, note))
    notes = FACTS | {"signature": f"the last digest is signed with the key {log.signature.key}"}
    if receipts is not None:
        digests = len({(receipt.n, receipt.digest) for receipt in receipts.digests})
        notes |= {"receipts": f"{RECEIPTS['receipts']}: {digests} digests agree"}
    if not with_filter:
        del notes["filter"]
    facts: dict[str, tuple[int | None, str]] = {name: (None, note) for name, note in notes.items()}
    facts |= failures
    return tuple(
        Fact(name=name, holds=name not in failures, entry=entry, note=note) for name, (entry, note) in facts.items()
    )


def outcome_of(facts: Collection[Fact], *, key_known: bool) -> Outcome:
    """Return the outcome of a verification. ``key_known`` says whether the signer's key is known to be the server's."""
    if not all(fact.holds for fact in facts):
        return "refused"
    return "verified" if key_known else "key-unknown"


def _check_numbers(log: Log) -> Iterator[Failure]:
    at, closed = log.header.opened_at, False
    for position, entry in enumerate(log.entries, start=1):
        if closed:
            yield "complete", position - 1, f"entry {position - 1} closes the race, but more entries follow"
        if entry.n != position:
            yield "numbers", position, f"entry {entry.n} is in the position of entry {position}"
        if entry.at < at:
            yield "times", position, f"entry {position} is {at - entry.at} ms earlier than the previous one"
        at, closed = max(at, entry.at), isinstance(entry.event, Closed)


def _check_fold(log: Log, *, with_filter: bool) -> Iterator[Failure]:
    """Check everything that requires the secret. After the first refusal, the rest cannot be checked."""
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
            race, expected = race.extended(max(entry.at, race.at), entry.event)
        except Refused as refused:
            yield _fact(refused, entry), position, f"entry {position}: {refused.text}"
            yield from _unchecked()
            return
        if isinstance(entry.event, Dealt):
            variant, name = race.header.variant, race.options.filter
            if race.root is None and name != "any":
                yield "filter", position, f"a public deal cannot have the filter {name}"
            elif (
                with_filter and race.root is not None and not check(race.game, race.root, variant, name, entry.event.k)
            ):
                yield "filter", position, f"deal {entry.event.k} of the root is not the first that passes {name}"
        if expected != entry:
            yield (
                "chain",
                position,
                f"the digest of entry {position} does not match its content and the previous digest",
            )
    if race.digest != log.digest:
        yield "chain", race.n, "the last digest does not match the one stated in the replay"
    if encode(race.standings(), "json") != encode(log.standings, "json"):  # -0.0 equals 0.0
        yield "standings", None, "the standings do not match the log"


def _fact(refused: Refused, entry: Entry) -> str:
    """Return the fact that fails if the fold refuses an entry."""
    if refused.code == "nonce-mismatch":
        return "nonces"
    return "moves" if isinstance(entry.event, Moved | Resigned) else "order"


def _unchecked(*others: str) -> Iterator[Failure]:
    for fact in (*others, "order", "nonces", "deal", "filter", "moves", "chain", "standings"):
        yield fact, None, UNCHECKED


def _check_signature(log: Log, keys: Collection[str]) -> Iterator[Failure]:
    if is_weak(log.signature.key):
        yield "signature", None, f"anybody can sign with the weak key {log.signature.key}"
    elif not holds(log.signature, log.header.race, log.digest):
        yield "signature", None, f"the signature of the last digest is not valid for the key {log.signature.key}"
    elif keys and log.signature.key not in keys:
        yield "signature", None, f"the replay is signed by {log.signature.key}, which is not one of the expected keys"
