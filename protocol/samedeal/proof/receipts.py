"""Receipts: what a client received about a log during the race, to compare with the replay afterwards.

A receipts file is an append-only sequence of JSON lines: ``["header",{…}]`` on entering a race, ``["nonce",seat,"…"]``
before sending the client's nonce, and ``["digest",n,"…"]`` with every view. Lines after a header belong to its race.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from msgspec import DecodeError, Meta, Struct, json

from samedeal.codec import Decoder, decoder, is_same_json, lenient
from samedeal.digest_chain import first_digest
from samedeal.errors import Refused
from samedeal.race.events import Counting, Header, Hex32, Nonce, SeatNumber, header_bytes
from samedeal.replays.replay import Log

MAX_LINE_BYTES = 65_536
MAX_LINES = 2**20


class HeaderReceipt(Struct, frozen=True, array_like=True, tag="header", forbid_unknown_fields=True):
    """The header of the race, as received on entering it."""

    header: Header


class NonceReceipt(Struct, frozen=True, array_like=True, tag="nonce", forbid_unknown_fields=True):
    """The client's nonce and its seat."""

    seat: SeatNumber
    nonce: Hex32


class DigestReceipt(Struct, frozen=True, array_like=True, tag="digest", forbid_unknown_fields=True):
    """The digest of the log up to and including entry n; n is 0 before the first entry."""

    n: Annotated[int, Meta(ge=0, le=2**53 - 1)]
    digest: Hex32


Receipt = HeaderReceipt | NonceReceipt | DigestReceipt


@dataclass(frozen=True)
class Receipts:
    """The receipts of one client for one race."""

    header: Header
    nonces: tuple[NonceReceipt, ...] = ()
    """The client's nonce, if it was sent."""
    digests: tuple[DigestReceipt, ...] = ()
    """The digests in order of arrival. If the server changed its log, they contradict each other."""
    sent_after: int | None = None
    """The newest entry received before the nonce was sent, counted from the preceding header. If the nonce was sent
    several times, the oldest of these entries. None if it was not sent."""

    def are_about(self, header: Header) -> bool:
        """Return whether they are for the race with this header: equal headers can differ in what they state."""
        return header_bytes(self.header) == header_bytes(header)


_encoder, _decoder = json.Encoder(order="sorted"), decoder("json", cast(Any, Receipt))
_newer_decoder: Decoder[HeaderReceipt] = decoder("json", lenient(HeaderReceipt))


def line(receipt: Receipt) -> bytes:
    """Encode one line, including the line end."""
    return _encoder.encode(receipt) + b"\n"


def header_line(header: dict[str, Any]) -> bytes:
    """Encode the line for a header as the server sent it, including fields that this version does not know."""
    return _encoder.encode(("header", header)) + b"\n"


def read(lines: Iterable[bytes]) -> list[Receipts]:
    """Return the receipts for each header in a file, oldest first. If a race was entered twice, they are merged.

    Raises Refused("bad-replay") for an invalid file, and Refused("unsupported-version") if the header of a race has
    fields that this version does not know.
    """
    by_header: dict[bytes, tuple[Header, list[NonceReceipt], list[DigestReceipt], list[int]]] = {}
    current, newest = None, 0
    for number, receipt in enumerate(_receipts(lines), start=1):
        if isinstance(receipt, HeaderReceipt):
            current, newest = by_header.setdefault(header_bytes(receipt.header), (receipt.header, [], [], [])), 0
        elif current is None:
            raise Refused(
                "bad-replay", f"Receipts must start with a header, but line {number} comes before the first one."
            )
        elif isinstance(receipt, NonceReceipt):
            current[1].append(receipt)
            current[3].append(newest)
        else:
            current[2].append(receipt)
            newest = max(newest, receipt.n)
    return [
        Receipts(header, tuple(nonces), tuple(digests), min(after, default=None))
        for header, nonces, digests, after in by_header.values()
    ]


def about(header: Header, stored: Sequence[Receipts]) -> Receipts:
    """Merge the receipts for the race with this header. If there are none, return those of another race.

    A nonce that was also sent in another race counts as sent before the first entry of this one.
    """
    mine = [receipts for receipts in stored if receipts.are_about(header)]
    if not mine:
        return stored[0]
    nonces = tuple(own for receipts in mine for own in receipts.nonces)
    elsewhere = {own.nonce for receipts in stored if not receipts.are_about(header) for own in receipts.nonces}
    after = [receipts.sent_after for receipts in mine if receipts.sent_after is not None]
    after += [0 for own in nonces if own.nonce in elsewhere]
    digests = tuple(digest for receipts in mine for digest in receipts.digests)
    return Receipts(header, nonces, digests, min(after, default=None))


def contradictions(log: Log, receipts: Receipts) -> Iterator[tuple[int | None, str]]:
    """Yield each contradiction: the number of the entry, if any, and the reason. To have no digests is one."""
    if not receipts.are_about(log.header):
        yield None, "the receipts are for a race with another header"
        return
    if not receipts.digests:
        yield None, "no digests to compare"
        return
    received: dict[int, set[str]] = {}
    for receipt in receipts.digests:
        received.setdefault(receipt.n, set()).add(receipt.digest)
    secret = bytes.fromhex(log.closing.secret) if log.closing else b""
    if received.pop(0, first := {first_digest(secret, header_bytes(log.header))}) != first:
        yield None, "the digest before the first entry does not match the one received"
    mine = {(kept.seat, kept.nonce) for kept in receipts.nonces}
    seats, last = {seat for seat, _ in mine}, 0
    early = receipts.sent_after if log.header.sealed else None
    for last, entry in enumerate(log.entries, start=1):
        if received.pop(last, {entry.h}) != {entry.h}:
            yield last, f"the digest of entry {last} does not match the one received"
        if early is not None and early < last and isinstance(entry.event, Counting):
            yield last, f"the nonce was sent before the start of the countdown (entry {last}) was received"
        own = isinstance(entry.event, Nonce) and entry.event.seat in seats and entry.event
        if own and (own.seat, own.nonce) not in mine:
            yield last, f"the nonce of seat {own.seat} does not match the one sent"
    if missing := sorted(received):
        yield last, f"the log ends at entry {last}, but entry {missing[0]} was received"


def _receipts(lines: Iterable[bytes]) -> Iterator[Receipt]:
    for number, text in enumerate(lines, start=1):
        if number > MAX_LINES or len(text) > MAX_LINE_BYTES:
            raise Refused("bad-replay", f"Receipts can have at most {MAX_LINES} lines of {MAX_LINE_BYTES} bytes.")
        try:
            receipt = _decoder.decode(text)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _unreadable(number, text, error) from error
        if not is_same_json(text.rstrip(), _encoder.encode(receipt)):
            reason = "it has a duplicate field, a field with its default, or a number in another form"
            raise Refused("bad-replay", f"Line {number} is not a valid receipt: {reason}.")
        yield receipt


def _unreadable(number: int, text: bytes, error: Exception) -> Refused:
    """Return the refusal for a line: it is invalid, or the header is in a newer format."""
    try:
        race = _newer_decoder.decode(text).header.race
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return Refused("bad-replay", f"Line {number} is not a valid receipt: {error}")
    newer = f"These receipts for {race} need a newer version of samedeal: {error}. Update samedeal."
    return Refused("unsupported-version", newer)
