"""Signing keys: the key this process signs replays with, and the public keys of every process that used the store."""

from typing import Final

from msgspec import Struct

from samedeal.replays.signature import Signature, public_key, signed
from samedeal_server.store.connection import Store

KEYS: Final = "replays:keys"


class PublicKey(Struct, frozen=True):
    """A key that verifies signatures of this service."""

    key: str
    """In hexadecimal."""
    since: int
    """When a server first started with it, in milliseconds since 1970-01-01 UTC."""
    current: bool
    """Whether this process signs with it."""


class SigningKeys:
    """The private key of this process and all published public keys."""

    def __init__(self, store: Store, signing_key: bytes) -> None:
        """`signing_key` is private, 32 bytes."""
        self._store, self._signing_key, self._public_key = store, signing_key, public_key(signing_key)

    async def publish(self, now: int) -> None:
        """Publish this process's public key before it signs anything. A published key keeps its time."""
        await self._store.retry("HSETNX", KEYS, self._public_key, now)

    async def published(self) -> list[PublicKey]:
        """Return every published key, newest first."""
        since_by_key = await published_keys(self._store)
        keys = (PublicKey(key, since, key == self._public_key) for key, since in since_by_key.items())
        return sorted(keys, key=lambda key: key.since, reverse=True)

    def sign(self, race_id: str, digest: str) -> Signature:
        """Sign the last digest of a race."""
        return signed(self._signing_key, race_id, digest)


async def published_keys(store: Store) -> dict[str, int]:
    """Return the public keys of all servers that used a store, and when each first started."""
    found: dict[bytes, bytes] = await store.ask("HGETALL", KEYS)
    return {key.decode(): int(since) for key, since in found.items()}
