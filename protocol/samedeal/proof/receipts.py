"""Receipts: what a client was told of a log while its race ran, to be held against the replay afterwards.

As bytes they are lines of JSON that are only ever added to: ``["header",{…}]`` when a race was entered,
``["nonce",seat,"…"]`` before the own nonce was sent, ``["digest",n,"…"]`` with every view. What follows a header is
about its race.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import DecodeError, Meta, Struct, json

from samedeal.errors import Refused
from samedeal.race.events import Header, Hex32, SeatNumber, header_bytes
from samedeal.wire.lenient import lenient

MAX_LINE_BYTES = 65_536
MAX_LINES = 2**20


class HeaderKept(Struct, frozen=True, array_like=True, tag="header", forbid_unknown_fields=True):
    """What was settled before the race, as it was told on entering."""

    header: Header


class NonceKept(Struct, frozen=True, array_like=True, tag="nonce", forbid_unknown_fields=True):
    """The own nonce and the seat that it was for."""

    seat: SeatNumber
    nonce: Hex32


class DigestKept(Struct, frozen=True, array_like=True, tag="digest", forbid_unknown_fields=True):
    """The digest of the log up to and with entry n; before the first entry n is 0."""

    n: Annotated[int, Meta(ge=0, le=2**53 - 1)]
    digest: Hex32


Kept = HeaderKept | NonceKept | DigestKept


@dataclass(frozen=True)
class Receipts:
    """All that one client was told of one race."""

    header: Header
    nonces: tuple[NonceKept, ...] = ()
    """The own nonce, if it was sent."""
    digests: tuple[DigestKept, ...] = ()
    """As they came. A server that changes its log contradicts here what it has said before."""
    sent_after: int | None = None
    """The newest entry that had been told of before the nonce was sent, since the header before it; the oldest of them,
    if it was sent several times. None if it was not sent."""


_encoder, _decoder = json.Encoder(order="sorted"), json.Decoder(Kept)
_newer_decoder: "json.Decoder[HeaderKept]" = json.Decoder(lenient(HeaderKept))


def line(kept: Kept) -> bytes:
    """One line, with its end."""
    return _encoder.encode(kept) + b"\n"


def header_line(header: dict[str, Any]) -> bytes:
    """The line of a header as the server sent it, with fields that this version may not know."""
    return _encoder.encode(("header", header)) + b"\n"


def read(lines: Iterable[bytes]) -> list[Receipts]:
    """The receipts of each header in a file, the oldest first; a race that was entered twice has those of both times.

    Raises Refused("bad-replay") if they are none, Refused("unsupported-version") if the header of a race has more in it
    than this version knows.
    """
    found: dict[bytes, tuple[Header, list[NonceKept], list[DigestKept], list[int]]] = {}
    current, newest = None, 0
    for number, kept in enumerate(_kept(lines), start=1):
        if isinstance(kept, HeaderKept):
            current, newest = found.setdefault(header_bytes(kept.header), (kept.header, [], [], [])), 0
        elif current is None:
            raise Refused("bad-replay", f"Receipts begin with a header, and line {number} comes before one.")
        elif isinstance(kept, NonceKept):
            current[1].append(kept)
            current[3].append(newest)
        else:
            current[2].append(kept)
            newest = max(newest, kept.n)
    return [
        Receipts(header, tuple(nonces), tuple(digests), min(after, default=None))
        for header, nonces, digests, after in found.values()
    ]


def about(header: Header, kept: Sequence[Receipts]) -> Receipts:
    """What one or several clients were told of the race with this header, or of another one if there is nothing else.

    A nonce that was sent in another race as well was sent before anything was told of this one.
    """
    mine = [receipts for receipts in kept if receipts.header == header]
    if not mine:
        return kept[0]
    nonces = tuple(own for receipts in mine for own in receipts.nonces)
    elsewhere = {own.nonce for receipts in kept if receipts.header != header for own in receipts.nonces}
    after = [receipts.sent_after for receipts in mine if receipts.sent_after is not None]
    after += [0 for own in nonces if own.nonce in elsewhere]
    digests = tuple(digest for receipts in mine for digest in receipts.digests)
    return Receipts(header, nonces, digests, min(after, default=None))


def _kept(lines: Iterable[bytes]) -> Iterator[Kept]:
    for number, text in enumerate(lines, start=1):
        if number > MAX_LINES or len(text) > MAX_LINE_BYTES:
            raise Refused("bad-replay", f"Receipts have at most {MAX_LINES} lines of {MAX_LINE_BYTES} bytes.")
        try:
            yield _decoder.decode(text)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _unreadable(number, text, error) from error


def _unreadable(number: int, text: bytes, error: Exception) -> Refused:
    """Why a line is refused: it is no receipt, or that of a header in a newer format."""
    try:
        race = _newer_decoder.decode(text).header.race
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return Refused("bad-replay", f"Line {number} is no receipt: {error}")
    newer = f"These receipts of {race} need a newer version of samedeal: {error}. Update samedeal."
    return Refused("unsupported-version", newer)
