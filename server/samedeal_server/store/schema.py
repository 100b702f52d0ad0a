"""The schema version of the store. A store with another one is refused and stays unchanged.

1 to 5   development versions
6        version 1.0.0
"""

from typing import Final

from samedeal_server.store.connection import Store, UnfitStoreError

SCHEMA: Final = 6
UNFINISHED: Final = "unfinished-restore"
"""Stored in place of the schema number until a restore is complete, so that no server starts on half of the data."""
KEY: Final = "samedeal:schema"
_WRITTEN_BY_ANY: Final = "replays:keys"


async def check_schema(store: Store) -> None:
    """Raise UnfitStoreError if the store has another schema. An empty store gets the current schema number.

    Raises Refused("store-unavailable").
    """
    if not await store.ask("EXISTS", _WRITTEN_BY_ANY):
        await store.retry("SET", KEY, SCHEMA, "NX")
    if (number := await found(store)) != f"{SCHEMA}":
        raise UnfitStoreError(mismatch(number))


async def found(store: Store) -> str | None:
    """Return the schema number of a store as text, or what else is there; None if there is nothing."""
    number: bytes | None = await store.ask("GET", KEY)
    return None if number is None else number.decode(errors="replace")


def mismatch(found: str | None) -> str:
    """Return why this version cannot use a store with another schema, or without a number, and what to do instead."""
    if found == UNFINISHED:
        return "A restore into the store was interrupted. Empty the store with FLUSHDB and restore again."
    stated = "no schema number" if found is None else f"schema {found!r}"
    if found is None or (found.isdecimal() and int(found) < SCHEMA):
        advice = "Start with an empty store, or keep the version that wrote it, which can also export races as files."
    else:
        advice = "Start a newer version, or use another store."
    return f"The store has {stated}, and this version of Same Deal reads only schema {SCHEMA}. {advice}"
