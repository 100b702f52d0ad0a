"""Signatures of the last digest of a race, which identify the server that hosted it.

Races and the computer's plays are signed with different texts, so that neither passes as the other.
"""

from typing import Annotated, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Meta

from samedeal.race.events import Hex32, Record

PLAY_PREFIX = "par-"
"""The first characters of the ids of the computer's plays. No race has such an id."""
_PRIME: Final = 2**255 - 19
_Y: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER: Final = frozenset({0, 1, _PRIME - 1, _Y, _PRIME - _Y})
"""The y-coordinates of the points of order 1, 2, 4 and 8."""


class Signature(Record, frozen=True, kw_only=True):
    """An Ed25519 signature (RFC 8032) with its public key."""

    key: Hex32
    value: Annotated[str, Meta(pattern=r"^[0-9a-f]{128}$(?!\n)")]
    """64 bytes as lower-case hexadecimal."""


def public_key(private_key: bytes) -> str:
    """Return the public key, in hexadecimal, for a private key of 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw().hex()


def signed(private_key: bytes, race: str, digest: str) -> Signature:
    """Sign the last digest of a race or play, which covers its header and all entries. Signatures are deterministic."""
    value = Ed25519PrivateKey.from_private_bytes(private_key).sign(_texts(race, digest)[0]).hex()
    return Signature(key=public_key(private_key), value=value)


def is_weak(key: str) -> bool:
    """Return whether a public key proves nothing: its point has a small order, so that anybody can sign with it, or it
    is not in canonical form, so that programs can disagree about it.
    """
    y = int.from_bytes(bytes.fromhex(key), "little") % 2**255  # without the sign of x
    return y >= _PRIME or y in _SMALL_ORDER


def holds(signature: Signature, race: str, digest: str) -> bool:
    """Return whether the signature is valid for this race or play, this digest and its key, which must not be weak."""
    return not is_weak(signature.key) and any(_is_valid(signature, text) for text in _texts(race, digest))


def _is_valid(signature: Signature, text: bytes) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.key))
        key.verify(bytes.fromhex(signature.value), text)
    except (InvalidSignature, ValueError):  # ValueError: not a valid public key
        return False
    return True


def _texts(race: str, digest: str) -> tuple[bytes, ...]:
    """Return the text to sign, then older ones that are still valid: plays were signed like races at first."""
    what = ("play", "replay") if race.startswith(PLAY_PREFIX) else ("replay",)
    return tuple(f"samedeal/1/{each}|{race}|{digest}".encode() for each in what)
