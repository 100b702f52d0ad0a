"""Seals: the commitments, the nonces, the root of a deal, and the chain of digests that no entry can leave unseen.

All are SHA-256 over texts that begin with a label of their own; texts are UTF-8, bytes stand as lower-case hexadecimal.
docs/bots/replay-format.md specifies each to the byte.
"""

from collections.abc import Iterable
from hashlib import sha256
from hmac import digest as hmac_digest
from hmac import new as hmac_new

SECRET_BYTES = NONCE_BYTES = 32


def secret(master_key: bytes, race: str, salt: str) -> bytes:
    """The 32 secret bytes of a race, which the holders of the master key can derive at any time, and nobody else."""
    return hmac_digest(master_key, f"samedeal/1/secret|{race}|{salt}".encode(), "sha256")


def commitment(race: str, secret: bytes) -> str:
    """What the server publishes before anybody takes a seat."""
    return _sha256(f"samedeal/1/commit|{race}|{secret.hex()}")


def daily_secret(master_key: bytes, game: str, date: str) -> bytes:
    """The 32 secret bytes of a game's deal of a day, such as 2026-11-21; known like those of a race."""
    return hmac_digest(master_key, f"samedeal/1/daily-secret|{game}|{date}".encode(), "sha256")


def daily_commitment(game: str, date: str, secret: bytes) -> str:
    """What the server publishes of a daily deal before its day."""
    return _sha256(f"samedeal/1/daily|{game}|{date}|{secret.hex()}")


def nonce_commitment(race: str, nonce: bytes) -> str:
    """What a racer sends with the seat, before any nonce is known."""
    return _sha256(f"samedeal/1/nonce|{race}|{nonce.hex()}")


def root(secret: bytes, nonces: Iterable[bytes]) -> str:
    """What the deal follows from: the secret and the nonces of all racers in the order of their seats, none for a daily
    deal.
    """
    return _sha256(f"samedeal/1/root|{secret.hex()}|{','.join(nonce.hex() for nonce in nonces)}")


def first_digest(secret: bytes, header: bytes) -> str:
    """The digest before the first entry, from the canonical bytes of the header."""
    return hmac_digest(secret, b"samedeal/1/log|" + header, "sha256").hex()


def next_digest(secret: bytes, digest: str, entry: bytes) -> str:
    """The digest after an entry, from the one before and the entry's canonical bytes.

    Keyed with the race's secret, so that a digest given out as a receipt while the race runs cannot be used to guess a
    rival's move; after the race the secret is known and everybody can check the chain.
    """
    return hmac_new(secret, digest.encode() + b"|" + entry, "sha256").hexdigest()


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
