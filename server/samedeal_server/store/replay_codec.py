"""The format of stored replays: a summary, then the log in columns, both MessagePack in one deflate stream.

Bytes: TAG, the CRC-32 of the rest, the length of the inflated summary, the stream, and the low bytes of the times (they
do not compress). Entry numbers and digests are left out: they follow from the rest. A flush after the summary makes
it readable from the first bytes alone. A race of five takes at most 4 bytes per move and 1 KB.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from struct import Struct as Layout
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct, msgpack
from msgspec.structs import replace

from samedeal.commitments import nonce_commitment
from samedeal.race.events import AnyEvent, Closed, Entry, Header, Joined, Moved, Nonce
from samedeal.race.race import Race
from samedeal.race.standings import Standing
from samedeal.replays.replay import MAX_BYTES, MAX_ENTRIES
from samedeal.replays.signature import Signature

TAG: Final = b"\x02"
SUMMARY_BYTES: Final = 4096
"""The first bytes of a stored replay that hold the summary of nearly every race."""
_PREFIX: Final = Layout(">cII")
_CHECKED_FROM: Final = 5  # the first byte that the checksum covers
_ZEROS: Final = "0" * 64
_DICTIONARY: Final = (
    b"\x82\xa1t\xa4left\xa4seat\x01\x82\xa1t\xa9unreadied\xa4seat\x01\x83\xa1t\xa5taken\xa4seat\x01\xa2by\xb0\xa7t"
    b"imeout\xa9scratched\xa4lost\xa5stuck\xa4over\xa3won\xaafriendly/1\xa5daily\xc3\xa7variant\xa4seed\xa6filter"
    b"\xa8unlisted\xc3\xa8attempts\xaaspectators\xa4undo\xc2\xaestart_delay_ms\xaamax_racers\x95\x87\xa4race\xa4ga"
    b"me\xa5rules\xaacommitment\xd9@\xa4salt\xd9 \xa9opened_at\xcf\x00\x00\x01\xa0\xa7options\x82\xa8limit_ms\xce"
    b"\x00\x05~@\xaamax_racers\x01\x92\xb0\x8b\xa5place\x01\xa4seat\x01\xa4name\xa3bot\xc2\xa7outcome\xa8resigned"
    b"\xa4done\xc3\xa4home\x00\xa4goal0\xa8progress\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xa8attempts\x01\xa2ms\x00"
    b"\x82\xa3key\xd9@\xa5value\xd9\x80\x86\xa1t\xa6joined\xa4seat\x01\xa6player\xb0\xa4name\xaacommitment\xd9@000"
    b"0000000000000000000000000000000000000000000000000000000000000\xa2by\xb0\x82\xa1t\xa7readied\xa4seat\x01\x82"
    b"\xa1t\xa7readied\xa4seat\x02\x81\xa1t\xa8counting\x83\xa1t\xa5nonce\xa4seat\x01\xa5nonce\xd9@\x83\xa1t\xa5no"
    b"nce\xa4seat\x02\xa5nonce\xd9@\x81\xa1t\xa5dealt\x82\xa1t\xa8resigned\xa4seat\x01\x82\xa1t\xa8resigned\xa4sea"
    b"t\x02\x82\xa1t\xa6closed\xa6secret\xd9@"
)
"""Frequent bytes for deflate. A change requires a new tag."""

_Column = Annotated[tuple[int, ...], Meta(max_length=MAX_ENTRIES)]


class Summary(Struct, frozen=True, array_like=True):
    """A finished race without its log."""

    header: Header
    deal: str | None
    """None if no deal was dealt."""
    started_at: int | None
    ended_at: int
    racers: tuple[tuple[str, Standing], ...]
    """The public ids and standings of all players with a seat, in order of place."""


class StoredRace(NamedTuple):
    """The content of a stored replay. It can be iterated once."""

    summary: Summary
    signature: Signature
    secret: bytes
    events: Iterable[tuple[int, AnyEvent]]
    """The time and event of each entry."""


class _Log(Struct, frozen=True, array_like=True):
    signature: Signature
    waits: _Column
    """The milliseconds between each entry and the one before it, divided by 256. The remainders follow the stream."""
    seats: _Column
    """The seat of each move; 0 for any other event."""
    moves: str
    """Separated by spaces."""
    events: tuple[AnyEvent, ...]
    """All events except moves; see ``_swapped``."""


def encode(race: Race, entries: Iterable[Entry], signature: Signature) -> bytes:
    """Return the stored form of a closed race. `entries` is read once."""
    low, high, seats = bytearray(), list[int](), list[int]()
    moves, events, at = list[str](), list[AnyEvent](), race.header.opened_at
    for entry in entries:
        wait, at = entry.at - at, entry.at
        low.append(wait & 255)
        high.append(wait >> 8)
        if isinstance(entry.event, Moved):
            seats.append(entry.event.seat)
            moves.append(entry.event.move)
        else:
            seats.append(0)
            events.append(entry.event)
    racers = tuple([(race.seat(standing.seat).player, standing) for standing in race.standings()])
    summary = msgpack.encode(Summary(race.header, race.deal, race.started_at, at, racers))
    log = _Log(signature, tuple(high), tuple(seats), " ".join(moves), _swapped(race.id, events))
    deflater = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=-zlib.MAX_WBITS, zdict=_DICTIONARY)
    stream = deflater.compress(summary) + deflater.flush(zlib.Z_SYNC_FLUSH)
    stream += deflater.compress(msgpack.encode(log)) + deflater.flush()
    checked = len(summary).to_bytes(4) + stream + low
    return TAG + zlib.crc32(checked).to_bytes(4) + checked


def decode(data: bytes) -> StoredRace:
    """Return the content of a stored replay. Raises ValueError if it is damaged."""
    _, checksum, length = _prefix(data)
    if zlib.crc32(data[_CHECKED_FROM:]) != checksum:
        raise ValueError("the checksum does not match")
    inflater = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_DICTIONARY)
    content = inflater.decompress(data[_PREFIX.size :], MAX_BYTES)
    if not inflater.eof:
        raise ValueError("it is truncated or too long")
    summary = msgpack.decode(content[:length], type=Summary)
    log = msgpack.decode(content[length:], type=_Log)
    events, opened_at = _swapped(summary.header.race, log.events), summary.header.opened_at
    merged = _merged(opened_at, inflater.unused_data, log.waits, log.seats, log.moves, events)
    return StoredRace(summary, log.signature, _secret(log.events), merged)


def decode_summary(start: bytes) -> Summary | None:
    """Return the summary from the first bytes of a stored replay, or None if more bytes are needed.

    Raises ValueError for most damage, but does not check the checksum.
    """
    if len(start) < _PREFIX.size:
        return None
    _, _, length = _prefix(start)
    if not 0 < length <= MAX_BYTES:
        raise ValueError("the length of the summary is out of range")
    content = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_DICTIONARY).decompress(start[_PREFIX.size :], length)
    return msgpack.decode(content, type=Summary) if len(content) == length else None


def contains(data: bytes, word: bytes) -> bool:
    """Return whether a stored replay contains some bytes, such as the id of a player. Does not check the checksum."""
    return word in zlib.decompressobj(-zlib.MAX_WBITS, zdict=_DICTIONARY).decompress(data[_PREFIX.size :], MAX_BYTES)


def _prefix(data: bytes) -> tuple[bytes, int, int]:
    if len(data) < _PREFIX.size:
        raise ValueError("it is truncated")
    tag, checksum, length = _PREFIX.unpack_from(data)
    return tag, checksum, length


def _merged(
    at: int, low: Sequence[int], high: Sequence[int], seats: Sequence[int], moves: str, events: Sequence[AnyEvent]
) -> Iterator[tuple[int, AnyEvent]]:
    """Yield the time and event of each entry of a race opened at `at`. Raises ValueError if the columns do not match.

    `low` and `high` are the milliseconds between entries, modulo 256 and divided by 256. `moves` are separated by
    spaces; `events` are all others.
    """
    texts, others = moves.split(), seats.count(0)
    if (len(texts), len(events)) != (len(seats) - others, others):
        raise ValueError("the columns differ in length")
    move, event = iter(texts), iter(events)
    for wait_low, wait_high, seat in zip(low, high, seats, strict=True):
        at += wait_high << 8 | wait_low
        yield at, Moved(seat=seat, move=next(move)) if seat else next(event)


def _secret(events: Sequence[AnyEvent]) -> bytes:
    """Return the secret that the last event reveals. Raises ValueError if that does not close the race."""
    if not events or not isinstance(closing := events[-1], Closed):
        raise ValueError("it has no closing entry")
    return bytes.fromhex(closing.secret)


def _swapped(race_id: str, events: Sequence[AnyEvent]) -> tuple[AnyEvent, ...]:
    """Swap commitments that follow from a revealed nonce with zeros, which compress well. It is its own inverse."""
    nonces = {event.seat: bytes.fromhex(event.nonce) for event in events if isinstance(event, Nonce)}
    derived = {seat: nonce_commitment(race_id, nonce) for seat, nonce in nonces.items()}
    swapped = list[AnyEvent]()
    for event in events:
        if isinstance(event, Joined) and event.commitment in (_ZEROS, derived.get(event.seat, _ZEROS)):
            other = derived.get(event.seat, _ZEROS) if event.commitment == _ZEROS else _ZEROS
            swapped.append(replace(event, commitment=other))
        else:
            swapped.append(event)
    return tuple(swapped)
