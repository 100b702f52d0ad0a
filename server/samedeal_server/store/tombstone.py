"""Tombstones: what is stored in place of a replay that was withdrawn."""

from typing import Final

from msgspec import Struct, msgpack

from samedeal.errors import Refused

TAG: Final = b"W"
"""The first byte, where stored replays have the number of their format."""


class Tombstone(Struct, frozen=True, array_like=True):
    """A replay that was withdrawn."""

    race: str
    digest: str
    """The digest of the replay, with which a copy of it can still be recognised."""
    withdrawn_on: str
    """A UTC date, such as 2026-11-23."""


def encode(tombstone: Tombstone) -> bytes:
    """Return the stored form of a tombstone."""
    return TAG + msgpack.encode(tombstone)


def is_tombstone(data: bytes) -> bool:
    """Return whether stored bytes, or the first of them, are those of a tombstone."""
    return data[:1] == TAG


def refusal(data: bytes) -> Refused:
    """Return the refusal of requests for a withdrawn replay, given its stored tombstone. Raises ValueError."""
    tombstone = msgpack.decode(data[1:], type=Tombstone)
    text = (
        f"The replay of {tombstone.race} was withdrawn on {tombstone.withdrawn_on}. Its digest is {tombstone.digest}."
    )
    return Refused("withdrawn", text)
