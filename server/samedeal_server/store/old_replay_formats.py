"""Reads the packed format (tag 1) in which earlier versions stored finished races. Nothing is written in it.

Bytes: TAG, the CRC-32 of the rest, a deflated head with every event except the moves, the random bytes taken out of the
head, and a deflated log with moves and times. Numbers, digests, the deal, and commitments to revealed values are left
out: they are derived from the rest.
"""

import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct, convert, msgpack
from msgspec.structs import replace

from samedeal.proof import commitments
from samedeal.proof.signature import Signature
from samedeal.race.events import AnyEvent, Dealt, Header, Hex32, Joined, Nonce
from samedeal.race.race import committed
from samedeal.race.seat import Standing
from samedeal.replays.replay import MAX_BYTES, MAX_ENTRIES
from samedeal_server.store.replay_codec import Column, StoredRace, Summary, merge_columns, revealed_secret

TAG: Final = b"\x01"
T = TypeVar("T")
_HEAD_AT: Final = len(TAG) + 4  # after the checksum
_DICTIONARY: Final = (
    b"\xa5stuck\xa4over\xa4lost\xa9scratched\xa7timeout\xa3won\xa8resigned\x82\xa1t\xa4left\xa4seat\x01\x82\xa1t"
    b"\xa9unreadied\xa4seat\x01\x83\xa1t\xa5taken\xa4seat\x01\xa2by\xc4\x01\x08\x89\xa4race\xa0\xa4game\xa0\xa5rule"
    b"s\xa0\xa7variant\x80\xa4seed\xa11\xa5daily\xc3\xa4salt\xc4\x01\x10\xa9opened_at\xcf\x00\x00\x01\xa0\xc4Pl\x00"
    b"\xa7options\x88\xa8limit_ms\xce\x00\x05~@\xaamax_racers\x01\xaestart_delay_ms\x00\xa4undo\xc2\xa8attempts\x01"
    b"\xaaspectators\xa4open\xa6filter\xaafriendly/1\xa8unlisted\xc3\x82\xa3key\xc4\x01 \xa5value\xc4\x01@\x86\xa1t"
    b"\xa6joined\xa4seat\x01\xa6player\xc4\x01\x08\xa4name\xa0\xa3bot\xc3\xa2by\xc4\x01\x08\x82\xa1t\xa7readied\xa4"
    b"seat\x01\x82\xa1t\xa7readied\xa4seat\x02\x81\xa1t\xa8counting\x83\xa1t\xa5nonce\xa4seat\x01\xa5nonce\xc4\x01 "
    b"\x83\xa1t\xa5nonce\xa4seat\x02\xa5nonce\xc4\x01 \x82\xa1t\xa5dealt\xa1k\x00\x82\xa1t\xa8resigned\xa4seat\x01"
    b"\x82\xa1t\xa8resigned\xa4seat\x02\x82\xa1t\xa6closed\xa6secret\xc4\x01 "
)
"""The deflate dictionary of this format."""


class _Truncated(ValueError):
    def __init__(self) -> None:
        super().__init__("it is truncated")


class _Row(Struct, frozen=True, array_like=True):
    """A standing without derived fields."""

    seat: int
    place: int
    outcome: str
    home: int
    attempts: int
    ms: int


class _Head(Struct, frozen=True, array_like=True):
    header: dict[str, Any]
    """Without the commitment."""
    signature: Signature
    events: tuple[AnyEvent, ...]
    """All events except moves, without commitments."""
    commitments: tuple[Hex32 | bool | None, ...]
    """The commitment of each Joined event, in order; true if it is derived from the seat's nonce."""
    started: int | None
    """Milliseconds since the race was opened, as is `ended`."""
    ended: int
    goal: int
    rows: tuple[_Row, ...]


class _Log(Struct, frozen=True, array_like=True):
    low: bytes
    """The milliseconds between each entry and the one before it, modulo 256."""
    high: Column
    """The same divided by 256."""
    seats: Annotated[bytes, Meta(max_length=MAX_ENTRIES)]
    """The seat of each move; 0 for any other event."""
    moves: str
    """Separated by spaces."""


def decode(data: bytes) -> StoredRace:
    """Return the content of a packed race. Raises ValueError if it is damaged."""
    if zlib.crc32(data[_HEAD_AT:]).to_bytes(4) != data[len(TAG) : _HEAD_AT]:
        raise ValueError("the checksum does not match")
    head, rest = _head(data)
    log = msgpack.decode(_inflated(rest)[0], type=_Log)
    summary = _summary(head)
    events, opened_at = _with_commitments(head, summary.header), summary.header.opened_at
    merged = merge_columns(opened_at, log.low, log.high, log.seats, log.moves, events)
    return StoredRace(summary, head.signature, revealed_secret(head.events), merged)


def decode_summary(start: bytes) -> Summary | None:
    """Return the summary from the first bytes of a packed race, or None if more bytes are needed."""
    try:
        head, _ = _head(start)
    except _Truncated:
        return None
    return _summary(head)


def decode_record(data: bytes, kind: type[T]) -> T:
    """Return a record that was compressed by itself. Raises ValueError if it is damaged."""
    return msgpack.decode(_inflated(data[len(TAG) :], _DICTIONARY)[0], type=kind)


def _summary(head: _Head) -> Summary:
    header = convert({**head.header, "commitment": "0" * 64}, Header)
    header = replace(header, commitment=committed(header, revealed_secret(head.events)))
    started_at = None if head.started is None else header.opened_at + head.started
    return Summary(header, _deal(head, header), started_at, header.opened_at + head.ended, tuple(_racers(head)))


def _head(data: bytes) -> tuple[_Head, bytes]:
    """Return the head and the bytes after it. Raises _Truncated if it is incomplete."""
    body, rest = _inflated(data[_HEAD_AT:], _DICTIONARY)
    random = BytesIO(rest)
    head = convert(_with_random_bytes(msgpack.decode(body), random), _Head)
    return head, rest[random.tell() :]


def _deal(head: _Head, header: Header) -> str | None:
    dealt = next((event for event in head.events if isinstance(event, Dealt)), None)
    if dealt is None:
        return None
    nonces = sorted((event.seat, event.nonce) for event in head.events if isinstance(event, Nonce) and header.sealed)
    root = commitments.root(revealed_secret(head.events), (bytes.fromhex(nonce) for _, nonce in nonces))
    return f"{header.game}:{header.seed or f'{root}.{dealt.k}'}"


def _with_commitments(head: _Head, header: Header) -> list[AnyEvent]:
    revealed = {event.seat: bytes.fromhex(event.nonce) for event in head.events if isinstance(event, Nonce)}
    derived = {seat: commitments.nonce_commitment(header.race, nonce) for seat, nonce in revealed.items()}
    stored, events = list(head.commitments), list[AnyEvent]()
    for event in head.events:
        if isinstance(event, Joined):
            if not stored or (commitment := stored.pop(0)) is False:
                raise ValueError("a commitment is missing")
            event = replace(event, commitment=derived.get(event.seat) if commitment is True else commitment)
        events.append(event)
    if stored:
        raise ValueError("there are too many commitments")
    return events


def _racers(head: _Head) -> Iterator[tuple[str, Standing]]:
    seats = {event.seat: event for event in head.events if isinstance(event, Joined)}
    for row in head.rows:
        if (seat := seats.get(row.seat)) is None:
            raise ValueError(f"seat {row.seat} has no player")
        standing = Standing(
            place=row.place,
            seat=row.seat,
            name=seat.name,
            bot=seat.bot,
            outcome=row.outcome,
            done=True,
            home=row.home,
            goal=head.goal,
            progress=1.0 if row.outcome == "won" else row.home / max(1, head.goal),
            attempts=row.attempts,
            ms=row.ms,
        )
        yield seat.player, standing


def _with_random_bytes(value: Any, random: BytesIO) -> Any:
    """Return a value with each length replaced by as many random bytes, in hexadecimal. Raises _Truncated."""
    match value:
        case bytes():
            (count,) = value
            if len(taken := random.read(count)) < count:
                raise _Truncated
            return taken.hex()
        case dict():
            return {name: _with_random_bytes(inner, random) for name, inner in value.items()}
        case list():
            return [_with_random_bytes(inner, random) for inner in value]
        case _:
            return value


def _inflated(data: bytes, dictionary: bytes = b"") -> tuple[bytes, bytes]:
    """Return the inflated bytes and the bytes after them. Raises _Truncated if they do not end within MAX_BYTES."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary)
    inflated = inflater.decompress(data, MAX_BYTES)
    if not inflater.eof:
        raise _Truncated
    return inflated, inflater.unused_data
