"""Signatures of the last digest of a race, which identify the server that hosted it."""

from typing import Annotated

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Meta

from samedeal.race.events import Hex32, Record


class Signature(Record, frozen=True, kw_only=True):
    """An Ed25519 signature (RFC 8032) with its public key."""

    key: Hex32
    value: Annotated[str, Meta(pattern=r"^[0-9a-f]{128}$(?!\n)")]
    """64 bytes as lower-case hexadecimal."""


def public_key(private_key: bytes) -> str:
    """Return the public key, in hexadecimal, for a private key of 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw().hex()


def signed(private_key: bytes, race: str, digest: str) -> Signature:
    """Sign the last digest of a race, which covers its header and all entries. Signatures are deterministic."""
    value = Ed25519PrivateKey.from_private_bytes(private_key).sign(_text(race, digest)).hex()
    return Signature(key=public_key(private_key), value=value)


def holds(signature: Signature, race: str, digest: str) -> bool:
    """Return whether the signature is valid for this race, this digest and its own key."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.key))
        key.verify(bytes.fromhex(signature.value), _text(race, digest))
    except (InvalidSignature, ValueError):  # ValueError: not a valid public key
        return False
    return True


def _text(race: str, digest: str) -> bytes:
    return f"samedeal/1/replay|{race}|{digest}".encode()
