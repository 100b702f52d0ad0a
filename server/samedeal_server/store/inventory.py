"""What a store contains: its keys, stored replays and live races. For backups, which read all of it."""

from collections.abc import AsyncIterator
from typing import Final

from msgspec import Struct

from samedeal_server.store import schema, stored_replays
from samedeal_server.store.connection import PROBE, Store

COUNT: Final = 500
"""How many keys are scanned at once."""
_HEAD: Final = "race:{*}:head"
_MASTER_KEY: Final = "samedeal:master-key"


class Summary(Struct, frozen=True):
    """What a store says about itself."""

    product: str
    """The program and its version."""
    schema: str | None
    """The number of its schema as text, or what else is there; None if there is nothing."""
    master_key: str | None
    """The fingerprint of the master key it is used with."""
    loaded: int
    """How many keys it loaded from a snapshot when it started."""
    expired: int
    """How many it did not load because their time had passed."""


async def summary(store: Store) -> Summary:
    """Return what the store says about itself. Raises Refused("store-unavailable")."""
    about = await store.ask("INFO")
    number, key = await store.ask("GET", schema.KEY), await store.ask("GET", _MASTER_KEY)
    name = "Valkey" if "valkey_version" in about else "Redis"
    return Summary(
        product=f"{name} {about.get('valkey_version') or about.get('redis_version')}",
        schema=number and number.decode(errors="replace"),
        master_key=key.decode(errors="replace") if key else None,
        loaded=int(about.get("rdb_last_load_keys_loaded", 0)),
        expired=int(about.get("rdb_last_load_keys_expired", 0)),
    )


async def keys(store: Store, pattern: str = "*") -> AsyncIterator[list[bytes]]:
    """Yield the keys of a store that match, in batches, each key once if none is written meanwhile. Raises Refused."""
    for node in await store.stamps():
        cursor = -1
        while cursor:
            cursor, batch = await store.scan(node, max(cursor, 0), pattern, COUNT)
            if found := sorted(set(batch)):
                yield found


async def is_empty(store: Store) -> bool:
    """Return whether the store has no keys but the probe. Raises Refused."""
    async for batch in keys(store):
        if batch != [PROBE.encode()]:
            return False
    return True


async def replay_ids(store: Store) -> list[str]:
    """Return the ids of all races with a stored replay, sorted. Raises Refused."""
    return sorted(
        [stored_replays.race_of(key) async for batch in keys(store, stored_replays.key("*")) for key in batch]
    )


async def log_ids(store: Store) -> list[str]:
    """Return the ids of all races with a log. Raises Refused."""
    start, _, end = _HEAD.partition("*")
    return [key.decode().removeprefix(start).removesuffix(end) async for batch in keys(store, _HEAD) for key in batch]


async def stored_replay(store: Store, race_id: str) -> bytes | None:
    """Return the bytes of a stored replay, or None if it has expired. Raises Refused."""
    data: bytes | None = await store.ask("GET", stored_replays.key(race_id))
    return data
