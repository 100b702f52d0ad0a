"""Commitments: secrets, nonces, and the root of a deal.

All of them are SHA-256 over UTF-8 text with a distinct label as its prefix; bytes are written as lower-case
hexadecimal. docs/bots/replay-format.md specifies them byte by byte.
"""

from collections.abc import Iterable
from hashlib import sha256
from hmac import digest as hmac_digest


def secret(master_key: bytes, race: str, salt: str) -> bytes:
    """Derive the 32-byte secret of a race from the master key."""
    return hmac_digest(master_key, f"samedeal/1/secret|{race}|{salt}".encode(), "sha256")


def commitment(race: str, secret: bytes) -> str:
    """Return the commitment that the server publishes before anyone takes a seat."""
    return _sha256(f"samedeal/1/commit|{race}|{secret.hex()}")


def daily_secret(master_key: bytes, game: str, date: str) -> bytes:
    """Derive the 32-byte secret of a game's daily deal from the master key. The date looks like 2026-11-21."""
    return hmac_digest(master_key, f"samedeal/1/daily-secret|{game}|{date}".encode(), "sha256")


def daily_commitment(game: str, date: str, secret: bytes) -> str:
    """Return the commitment that the server publishes before the day of a daily deal."""
    return _sha256(f"samedeal/1/daily|{game}|{date}|{secret.hex()}")


def nonce_commitment(race: str, nonce: bytes) -> str:
    """Return the commitment that a racer sends when taking a seat, before any nonce is revealed."""
    return _sha256(f"samedeal/1/nonce|{race}|{nonce.hex()}")


def server_nonce(secret: bytes, race: str, seat: int) -> bytes:
    """Return the nonce of a seat that a server bot has. It follows from the secret, so nobody can choose it."""
    return bytes.fromhex(_sha256(f"samedeal/1/server-nonce|{secret.hex()}|{race}|{seat}"))


def server_bot_words(secret: bytes, race: str, seat: int) -> str:
    """Return the label of a server bot's random choices. Nobody can predict them before the race is over."""
    return _sha256(f"samedeal/1/server-bot|{secret.hex()}|{race}|{seat}")


def root(secret: bytes, nonces: Iterable[bytes]) -> str:
    """Return the root of a deal from the secret and the racers' nonces in seat order; daily deals use no nonces."""
    return _sha256(f"samedeal/1/root|{secret.hex()}|{','.join(nonce.hex() for nonce in nonces)}")


def challenge_root(secret: bytes, challenge: str, nonce: bytes, deal: int) -> str:
    """Return the root of a deal of a challenge from its secret, its id, what its creator contributes and the number of
    the deal, from 1.
    """
    return _sha256(f"samedeal/1/challenge|{secret.hex()}|{challenge}|{nonce.hex()}|{deal}")


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
