"""Stored replays: finished races as MessagePack, compressed with zlib; or tombstones in place of withdrawn ones.

Bytes: TAG, the CRC-32 of the rest, the summary, the log. The last two are compressed separately, so that the summary
can be read from the first bytes alone. Numbers and digests of entries are left out: they follow from the rest. A
tombstone has a tag of its own.

Every function that reads raises Refused("unsupported-version") for bytes that are damaged or in an unknown format, and
Refused("withdrawn") for those of a tombstone.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final, Literal, TypeVar

from msgspec import DecodeError, Meta, Struct, msgpack

from samedeal import codec
from samedeal.digest_chain import first_digest, next_digest
from samedeal.errors import Refused
from samedeal.race.events import AnyEvent, Closed, Entry, Header, Joined, Moved, entry_bytes, header_bytes
from samedeal.race.race import Race
from samedeal.race.standings import Standing
from samedeal.replays.replay import FORMATS, MAX_BYTES, MAX_ENTRIES, Replay
from samedeal.replays.signature import Signature
from samedeal_server.store.connection import Store

TAG: Final = b"\x03"
TOMBSTONE_TAG: Final = b"W"
SUMMARY_BYTES: Final = 4096
"""The first bytes of a stored replay that hold the summary of nearly every race."""
_START: Final = 5  # where the summary starts, after the tag and the checksum

Form = Literal["json", "msgpack", "ndjson"]
"""The forms in which clients can request a replay."""
T = TypeVar("T")


class Summary(Struct, frozen=True, array_like=True):
    """A finished race without its log."""

    header: Header
    deal: str | None
    """None if no deal was dealt."""
    started_at: int | None
    ended_at: int
    racers: tuple[tuple[str, Standing], ...]
    """The public ids and standings of all players with a seat, in order of place."""


class Tombstone(Struct, frozen=True, array_like=True):
    """A replay that was withdrawn."""

    race: str
    digest: str
    """The digest of the replay, with which a copy of it can still be recognised."""
    withdrawn_on: str
    """A UTC date, such as 2026-11-23."""


_Column = Annotated[tuple[int, ...], Meta(max_length=MAX_ENTRIES)]


class _Log(Struct, frozen=True, array_like=True):
    """A log in columns, which compress best."""

    signature: Signature
    waits: _Column
    """The milliseconds between each entry and the one before it; for the first one, since the race was opened."""
    seats: _Column
    """The seat of each move; 0 for any other event."""
    moves: str
    """Separated by spaces."""
    events: tuple[AnyEvent, ...]
    """All events except moves."""

    def merged(self) -> Iterator[tuple[int, AnyEvent]]:
        """Yield the wait and event of each entry. Raises ValueError if the columns do not match."""
        moves, others = self.moves.split(), self.seats.count(0)
        if (len(moves), len(self.events)) != (len(self.seats) - others, others):
            raise ValueError("the columns differ in length")
        move, event = iter(moves), iter(self.events)
        for wait, seat in zip(self.waits, self.seats, strict=True):
            yield wait, Moved(seat=seat, move=next(move)) if seat else next(event)


def key(race_id: str) -> str:
    """Return the key of the stored replay of a race."""
    return f"replay:{{{race_id}}}"


def race_of(key: bytes) -> str:
    """Return the id of the race whose stored replay has this key."""
    return key.decode().removeprefix("replay:{").removesuffix("}")


def encode(race: Race, entries: Iterable[Entry], signature: Signature) -> bytes:
    """Return the stored form of a closed race. `entries` is read once."""
    waits, seats, at = list[int](), list[int](), race.header.opened_at
    moves, events = list[str](), list[AnyEvent]()
    for entry in entries:
        waits.append(entry.at - at)
        at = entry.at
        if isinstance(entry.event, Moved):
            seats.append(entry.event.seat)
            moves.append(entry.event.move)
        else:
            seats.append(0)
            events.append(entry.event)
    racers = tuple([(race.seat(standing.seat).player, standing) for standing in race.standings()])
    summary = Summary(race.header, race.deal, race.started_at, at, racers)
    log = _Log(signature, tuple(waits), tuple(seats), " ".join(moves), tuple(events))
    data = _deflated(summary) + _deflated(log)
    return TAG + zlib.crc32(data).to_bytes(4) + data


def render(data: bytes, form: Form) -> bytes:
    """Return a stored replay in the form that a client requested."""
    return written(replay(data), form)


def written(replay: Replay, form: Form) -> bytes:
    """Return a replay in the form that a client requested."""
    return b"".join(replay.lines()) if form == "ndjson" else codec.encode(replay, form)


def replay(data: bytes) -> Replay:
    """Decode a stored replay."""
    with _refusing_damage(data):
        if zlib.crc32(data[_START:]) != int.from_bytes(data[1:_START]):
            raise ValueError("the checksum does not match")
        first, rest = _inflated(data[_START:])
        summary = codec.decoder("msgpack", Summary).decode(first)
        log = codec.decoder("msgpack", _Log).decode(_inflated(rest)[0])
        if not log.events or not isinstance(closing := log.events[-1], Closed):
            raise ValueError("it has no closing entry")
        secret, at, entries = bytes.fromhex(closing.secret), summary.header.opened_at, list[Entry]()
        digest = first_digest(secret, header_bytes(summary.header))
        for n, (wait, event) in enumerate(log.merged(), start=1):
            at += wait
            digest = next_digest(secret, digest, entry_bytes(n, at, event))
            entries.append(Entry(n, at, event, digest))
        return Replay(
            format=FORMATS[summary.header.format],
            header=summary.header,
            entries=tuple(entries),
            digest=digest,
            signature=log.signature,
            standings=tuple([standing for _, standing in summary.racers]),
        )


def dealt_digest(data: bytes) -> str | None:
    """Return the last digest of a stored replay or of the one that was withdrawn; None if no cards were dealt."""
    if is_tombstone(data):
        return codec.decoder("msgpack", Tombstone).decode(data[1:]).digest
    found = replay(data)
    return found.digest if any(standing.attempts for standing in found.standings) else None


def header(data: bytes) -> Header:
    """Return the header of a stored replay. Does not detect all damage."""
    with _refusing_damage(data):
        return codec.decoder("msgpack", Summary).decode(_inflated(data[_START:])[0]).header


def summary(start: bytes) -> Summary | None:
    """Return the summary from the first bytes of a stored replay, or None if more bytes are needed.

    Does not detect all damage.
    """
    with _refusing_damage(start):
        inflater = zlib.decompressobj()
        content = inflater.decompress(start[_START:], MAX_BYTES)
        return codec.decoder("msgpack", Summary).decode(content) if inflater.eof else None


async def data(store: Store, race_id: str) -> bytes | None:
    """Return the stored replay of a race, or None if it is not stored. Raises Refused("store-unavailable")."""
    found: bytes | None = await store.ask("GET", key(race_id))
    return found


async def summaries(store: Store, race_ids: Sequence[str]) -> dict[str, Summary | Refused | None]:
    """Return the summaries of stored replays by race, None for one that is not stored, or why it cannot be read.

    Does not detect all damage. Raises Refused("store-unavailable").
    """
    starts = await store.starts([key(race_id) for race_id in race_ids], SUMMARY_BYTES)
    found: dict[str, Summary | Refused | None] = dict.fromkeys(race_ids)
    for race_id, start in zip(race_ids, starts, strict=True):
        try:
            if start:
                found[race_id] = summary(start)
            if start and not found[race_id] and (whole := await data(store, race_id)):
                found[race_id] = summary(whole) or Refused("unsupported-version", "The stored replay is cut off.")
        except Refused as refused:
            if refused.code == "store-unavailable":
                raise
            found[race_id] = refused
    return found


def has_player(data: bytes, player: str) -> bool:
    """Return whether a player has ever had a seat in the race of a stored replay. `player` is a public id.

    Takes 10 µs for most replays without the player. Does not detect all damage.
    """
    with _refusing_damage(data):
        _, log = _inflated(data[_START:])
        if player.encode() not in _inflated(log)[0]:
            return False
        events = (entry.event for entry in replay(data).entries)  # the same digits can be part of something else
        return any(isinstance(event, Joined) and event.player == player for event in events)


def encode_tombstone(tombstone: Tombstone) -> bytes:
    """Return the stored form of a tombstone."""
    return TOMBSTONE_TAG + msgpack.encode(tombstone)


def is_tombstone(data: bytes) -> bool:
    """Return whether stored bytes, or the first of them, are those of a tombstone."""
    return data[:1] == TOMBSTONE_TAG


def encode_record(record: object) -> bytes:
    """Compress a record that is stored by itself."""
    return TAG + _deflated(record)


def decode_record(data: bytes, kind: type[T]) -> T:
    """Decode a record that is stored by itself."""
    with _refusing_damage(data):
        return codec.decoder("msgpack", kind).decode(_inflated(data[1:])[0])


def _deflated(record: object) -> bytes:
    return zlib.compress(msgpack.encode(record), zlib.Z_BEST_COMPRESSION)


def _inflated(data: bytes) -> tuple[bytes, bytes]:
    """Return what is compressed at the start of some bytes, and the bytes after it. Raises ValueError."""
    inflater = zlib.decompressobj()
    content = inflater.decompress(data, MAX_BYTES)
    if not inflater.eof:
        raise ValueError("it is truncated or too long")
    return content, inflater.unused_data


@contextmanager
def _refusing_damage(data: bytes) -> Iterator[None]:
    if data[:1] not in (TAG, TOMBSTONE_TAG):
        raise Refused("unsupported-version", "The replay of this race is stored in an unknown format.")
    try:
        if is_tombstone(data):
            stone = codec.decoder("msgpack", Tombstone).decode(data[1:])
            text = f"The replay of {stone.race} was withdrawn on {stone.withdrawn_on}. Its digest is {stone.digest}."
            raise Refused("withdrawn", text)
        yield
    except (DecodeError, ValueError, OverflowError, RecursionError, zlib.error) as error:
        text = f"The stored replay of this race is damaged, or was written by a newer version: {error}."
        raise Refused("unsupported-version", text) from error
