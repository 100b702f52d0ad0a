"""Packing: a finished race in few bytes, from which its replay follows again to the byte.

What follows from the rest is left out: numbers and digests, the deal, commitments to what was revealed. There remain a
head, with all that happened but the moves, and a log of moves and times. Both are deflated; random bytes, which that
would only make longer, stand behind the head as they are. The head comes first, so that whoever lists races need not
read the rest.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Annotated, Any, Final, NamedTuple, TypeVar

from msgspec import DecodeError, Meta, Raw, Struct, convert, json, msgpack, to_builtins
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.proof import commitments
from samedeal.proof.signature import Signature
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Dealt,
    Entry,
    Header,
    Hex32,
    Joined,
    Moved,
    Nonce,
    entry_bytes,
    header_bytes,
)
from samedeal.race.race import committed
from samedeal.race.seat import Standing
from samedeal.replays.replay import FORMATS, MAX_BYTES, MAX_ENTRIES, Replay, read
from samedeal.wire import codec

TAG: Final = b"\x01"
"""What a packed race begins with: the number of this form."""
START: Final = 4096
"""So many of the first bytes hold the head of nearly every race."""

T = TypeVar("T")

_PLAIN: Final = b"{"
_HEAD_AT: Final = len(TAG) + 4  # behind the checksum of all that follows
_RANDOM = re.compile(r"(?:[0-9a-f]{2}){8,64}")


class Summary(NamedTuple):
    """What can be told of a finished race without its moves."""

    header: Header
    deal: str | None
    """None if nothing was dealt."""
    started_at: int | None
    ended_at: int
    racers: tuple[tuple[str, Standing], ...]
    """The public ids and the standings of all who had a seat, the first first."""


class _Row(Struct, frozen=True, array_like=True):
    """A standing, without what follows."""

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
    """All but the moves, without commitments."""
    commitments: tuple[Hex32 | bool | None, ...]
    """Those with which seats were taken, in this order; true for one that follows from the seat's nonce."""
    started: int | None
    """As the next in milliseconds from the opening on."""
    ended: int
    goal: int
    rows: tuple[_Row, ...]


class _Log(Struct, frozen=True, array_like=True):
    """The entries, column by column."""

    low: bytes
    """How many milliseconds each came after the one before, less multiples of 256: as good as random."""
    high: Annotated[tuple[int, ...], Meta(max_length=MAX_ENTRIES)]
    """Those multiples."""
    seats: bytes
    """Who made a move; 0 for any other event."""
    moves: str
    """With spaces between them."""


class _Text(Struct, frozen=True):
    """A replay with its entries in JSON already."""

    digest: str
    entries: Raw
    format: str
    header: Header
    signature: Signature
    standings: tuple[Standing, ...]


class _Headed(Struct):
    """As much of a replay in plain JSON as says what race it is."""

    header: Header


def plain(data: bytes) -> bool:
    """Whether something was kept before there was packing, in plain JSON."""
    return data[:1] == _PLAIN


def pack(header: Header, entries: Iterable[Entry], signature: Signature, standings: Sequence[Standing]) -> bytes:
    """What a replay that holds consists of, in few bytes. Of the entries no more than one at a time is needed."""
    low, high, seats = bytearray(), list[int](), bytearray()
    moves, events, started, at = list[str](), list[AnyEvent](), None, header.opened_at
    for entry in entries:
        wait, at = entry.at - at, entry.at
        low.append(wait & 255)
        high.append(wait >> 8)
        if isinstance(entry.event, Moved):
            seats.append(entry.event.seat)
            moves.append(entry.event.move)
            continue
        seats.append(0)
        events.append(entry.event)
        if isinstance(entry.event, Dealt):
            started = at - header.opened_at
    follow = _following(header.race, events)
    joined = [event for event in events if isinstance(event, Joined)]
    fields = to_builtins(header)
    del fields["commitment"]
    head = _Head(
        header=fields,
        signature=signature,
        events=tuple([replace(event, commitment=None) if isinstance(event, Joined) else event for event in events]),
        commitments=tuple([event.commitment == follow.get(event.seat, "") or event.commitment for event in joined]),
        started=started,
        ended=at - header.opened_at,
        goal=standings[0].goal if standings else 0,
        rows=tuple([_Row(s.seat, s.place, s.outcome, s.home, s.attempts, s.ms) for s in standings]),
    )
    random = BytesIO()
    data = _deflated(msgpack.encode(_lifted(to_builtins(head), random)), _WORDS) + random.getvalue()
    data += _deflated(msgpack.encode(_Log(bytes(low), tuple(high), bytes(seats), " ".join(moves))))
    return TAG + zlib.crc32(data).to_bytes(4) + data


def text(data: bytes) -> bytes:
    """The canonical JSON of a replay that is kept, packed or, as they were before, plain.

    Takes 3 µs for each entry. Raises Refused("unsupported-version") for what is damaged, or packed by a newer version.
    """
    if plain(data):
        return data
    with _legible(data):
        head, log = _whole(data)
        header = _header(head)
        lines, digest = list[bytes](), ""
        for *_, digest, line in _chained(head, header, log):
            lines.append(b'%b,"%b"]' % (line[:-1], digest.encode()))
        entries, standings = Raw(b"[%b]" % b",".join(lines)), tuple([standing for _, standing in _racers(head)])
        return codec.encode(_Text(digest, entries, FORMATS[header.format], header, head.signature, standings), "json")


def replay(data: bytes) -> Replay:
    """The same as a value, in steps so small that other threads are not kept waiting. Raises as ``text``."""
    if plain(data):
        return read(data)
    with _legible(data):
        head, log = _whole(data)
        header = _header(head)
        entries = tuple([Entry(n, at, event, digest) for n, at, event, digest, _ in _chained(head, header, log)])
        return Replay(
            format=FORMATS[header.format],
            header=header,
            entries=entries,
            digest=entries[-1].h,
            signature=head.signature,
            standings=tuple([standing for _, standing in _racers(head)]),
        )


def header(data: bytes) -> Header:
    """The header of a replay that is kept. Raises as ``text``, but does not notice all damage."""
    with _legible(data):
        if plain(data):
            return json.decode(data, type=_Headed).header
        if (found := _head(data)) is None:
            raise ValueError("it does not end")
        return _header(found[0])


def summary(start: bytes) -> Summary | None:
    """What can be told of a packed race by its first bytes; None if they are too few.

    Raises as ``header``.
    """
    with _legible(start):
        if (found := _head(start)) is None:
            return None
        head, header = found[0], _header(found[0])
        return Summary(
            header=header,
            deal=_deal(head, header),
            started_at=None if head.started is None else header.opened_at + head.started,
            ended_at=header.opened_at + head.ended,
            racers=tuple(_racers(head)),
        )


def press(record: object) -> bytes:
    """A record that is kept by itself, in few bytes."""
    return TAG + _deflated(msgpack.encode(record), _WORDS)


def unpress(data: bytes, kind: type[T]) -> T:
    """A record that was pressed or, as they were before, is plain JSON. Raises Refused("unsupported-version")."""
    with _legible(data):
        if plain(data):
            return json.decode(data, type=kind)
        if (found := _inflated(data[len(TAG) :], _WORDS)) is None:
            raise ValueError("it does not end")
        return msgpack.decode(found[0], type=kind)


@contextmanager
def _legible(data: bytes) -> Iterator[None]:
    """Refuses what cannot be read."""
    if data[:1] not in (TAG, _PLAIN):
        raise Refused("unsupported-version", "The replay of this race is kept in a form that is not known here.")
    try:
        yield
    except (DecodeError, ValueError, OverflowError, RecursionError, zlib.error) as error:
        told = f"What is kept of this race is damaged, or from a newer version: {error}."
        raise Refused("unsupported-version", told) from error


def _whole(data: bytes) -> tuple[_Head, _Log]:
    if zlib.crc32(data[_HEAD_AT:]).to_bytes(4) != data[len(TAG) : _HEAD_AT]:
        raise ValueError("its checksum is another")
    found = _head(data)
    log = found and _inflated(found[1])
    if not found or not log:
        raise ValueError("it does not end")
    return found[0], msgpack.decode(log[0], type=_Log)


def _head(data: bytes) -> tuple[_Head, bytes] | None:
    """The head, and what comes behind it; None if it is not wholly there."""
    if (found := _inflated(data[_HEAD_AT:], _WORDS)) is None:
        return None
    body, behind = found
    random = BytesIO(behind)
    try:
        head = convert(_put_back(msgpack.decode(body), random), _Head)
    except EOFError:
        return None
    return head, behind[random.tell() :]


# What follows.


def _following(race: str, events: Iterable[AnyEvent]) -> dict[int, str]:
    """The commitments to the nonces that were opened, by seat."""
    opened = {event.seat: bytes.fromhex(event.nonce) for event in events if isinstance(event, Nonce)}
    return {seat: commitments.nonce_commitment(race, nonce) for seat, nonce in opened.items()}


def _secret(head: _Head) -> bytes:
    if not head.events or not isinstance(head.events[-1], Closed):
        raise ValueError("it has no closing entry")
    return bytes.fromhex(head.events[-1].secret)


def _header(head: _Head) -> Header:
    header = convert({**head.header, "commitment": "0" * 64}, Header)
    return replace(header, commitment=committed(header, _secret(head)))


def _deal(head: _Head, header: Header) -> str | None:
    dealt = next((event for event in head.events if isinstance(event, Dealt)), None)
    if dealt is None:
        return None
    nonces = sorted((event.seat, event.nonce) for event in head.events if isinstance(event, Nonce) and header.sealed)
    root = commitments.root(_secret(head), (bytes.fromhex(nonce) for _, nonce in nonces))
    return f"{header.game}:{header.seed or f'{root}.{dealt.k}'}"


def _chained(head: _Head, header: Header, log: _Log) -> Iterator[tuple[int, int, AnyEvent, str, bytes]]:
    """The number, time, event and digest of every entry, and its canonical bytes without the digest."""
    secret = _secret(head)
    digest = commitments.first_digest(secret, header_bytes(header))
    for n, (at, event) in enumerate(_entries(head, header, log), start=1):
        line = entry_bytes(n, at, event)
        digest = commitments.next_digest(secret, digest, line)
        yield n, at, event, digest, line


def _entries(head: _Head, header: Header, log: _Log) -> Iterator[tuple[int, AnyEvent]]:
    """The times and events of all entries."""
    follow, stated = _following(header.race, head.events), iter(head.commitments)
    events, moves, others = head.events, log.moves.split(), log.seats.count(0)
    joined = sum(isinstance(event, Joined) for event in events)
    if len(log.seats) > MAX_ENTRIES or (len(moves), len(events)) != (len(log.seats) - others, others):
        raise ValueError("its columns do not fit")
    if joined != len(head.commitments):
        raise ValueError("its commitments do not fit")
    at, move, event = header.opened_at, iter(moves), iter(events)
    for low, high, seat in zip(log.low, log.high, log.seats, strict=True):
        at += high << 8 | low
        if seat:
            yield at, Moved(seat=seat, move=next(move))
            continue
        other = next(event)
        if isinstance(other, Joined):
            commitment = next(stated)
            other = replace(other, commitment=follow.get(other.seat) if commitment is True else commitment)
        yield at, other


def _racers(head: _Head) -> Iterator[tuple[str, Standing]]:
    seats = {event.seat: event for event in head.events if isinstance(event, Joined)}
    for row in head.rows:
        if (seat := seats.get(row.seat)) is None:
            raise ValueError(f"nobody took seat {row.seat}")
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


# Bytes.


def _lifted(value: Any, random: BytesIO) -> Any:
    """A value without its hexadecimal texts: their bytes are written elsewhere, and their number takes their place."""
    match value:
        case str() if _RANDOM.fullmatch(value):
            return bytes((random.write(bytes.fromhex(value)),))
        case dict():
            return {name: _lifted(inner, random) for name, inner in value.items()}
        case list() | tuple():
            return [_lifted(inner, random) for inner in value]
        case _:
            return value


def _put_back(value: Any, random: BytesIO) -> Any:
    """What ``_lifted`` was given. Raises EOFError where bytes are missing."""
    match value:
        case bytes():
            (count,) = value
            if len(found := random.read(count)) < count:
                raise EOFError
            return found.hex()
        case dict():
            return {name: _put_back(inner, random) for name, inner in value.items()}
        case list():
            return [_put_back(inner, random) for inner in value]
        case _:
            return value


def _deflated(data: bytes, words: bytes = b"") -> bytes:
    deflating = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=words)
    return deflating.compress(data) + deflating.flush()


def _inflated(data: bytes, words: bytes = b"") -> tuple[bytes, bytes] | None:
    """What was deflated, and what stands behind it; None if it does not end, or is longer than any replay."""
    inflating = zlib.decompressobj(-zlib.MAX_WBITS, zdict=words)
    found = inflating.decompress(data, MAX_BYTES)
    return (found, inflating.unused_data) if inflating.eof else None


def _words() -> bytes:
    """What most heads have somewhere, the most frequent last. It belongs to the form: other words need another tag."""
    eight, more = "00" * 8, "00" * 32
    options = {"limit_ms": 360_000, "max_racers": 1, "start_delay_ms": 0, "undo": False, "attempts": 1}
    choices = {"spectators": "open", "filter": "friendly/1", "unlisted": True}
    header = {"race": "", "game": "", "rules": "", "variant": {}, "seed": "1", "daily": True, "salt": "00" * 16}
    examples: tuple[object, ...] = (
        *("stuck", "over", "lost", "scratched", "timeout", "won", "resigned"),
        *({"t": kind, "seat": 1} for kind in ("left", "unreadied")),
        {"t": "taken", "seat": 1, "by": eight},
        {**header, "opened_at": 1_790_000_000_000, "options": {**options, **choices}},
        {"key": more, "value": "00" * 64},
        {"t": "joined", "seat": 1, "player": eight, "name": "", "bot": True, "by": eight},
        *({"t": "readied", "seat": seat} for seat in (1, 2)),
        {"t": "counting"},
        *({"t": "nonce", "seat": seat, "nonce": more} for seat in (1, 2)),
        {"t": "dealt", "k": 0},
        *({"t": "resigned", "seat": seat} for seat in (1, 2)),
        {"t": "closed", "secret": more},
    )
    return b"".join(msgpack.encode(_lifted(example, BytesIO())) for example in examples)


_WORDS: Final = _words()
