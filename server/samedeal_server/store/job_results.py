"""Job results: what slow jobs computed, stored for a limited time."""

from samedeal_server.store.connection import Store, Word


class JobResults:
    """Stored results by key."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, key: str) -> bytes | None:
        """Return a stored result, or None."""
        data: bytes | None = await self._store.ask("GET", key)
        return data

    async def has(self, key: str) -> bool:
        """Return whether a result is stored."""
        return bool(await self._store.ask("EXISTS", key))

    async def put(self, key: str, result: bytes, expire_s: int | None) -> None:
        """Store a result, forever if `expire_s` is None. Safe to repeat."""
        expiry: tuple[Word, ...] = () if expire_s is None else ("EX", expire_s)
        await self._store.retry("SET", key, result, *expiry)
