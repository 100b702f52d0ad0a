"""Revocations: revoked tokens, announced to all processes, which close the connections that use them."""

from typing import Final

from samedeal_server.store.connection import Store

KEY: Final = "guests:revoked"
EXPIRE_S: Final = 86_400
"""How long announcements are kept after the last one, for processes that cannot reach the store."""
MAX_ANNOUNCEMENTS: Final = 10_000
WAIT_MS: Final = 200


class Revocations:
    """A stream with the digests of revoked tokens."""

    def __init__(self, store: Store) -> None:
        self._store, self._last = store, "0-0"

    async def announce(self, *token_digests: str) -> None:
        """Announce revoked tokens. Repeating it is harmless. Raises Refused("store-unavailable")."""
        entries = [("XADD", KEY, "MAXLEN", "~", MAX_ANNOUNCEMENTS, "*", "token", digest) for digest in token_digests]
        await self._store.retry_all(*entries, ("EXPIRE", KEY, EXPIRE_S))

    async def news(self) -> set[str]:
        """Return the digests announced since the last call, after waiting for some. Raises Refused."""
        streams = await self._store.news({KEY: self._last}, WAIT_MS)
        announcements = [entry for _, entries in streams for entry in entries]
        if announcements:
            self._last = announcements[-1][0].decode()
        return {fields[b"token"].decode() for _, fields in announcements}
