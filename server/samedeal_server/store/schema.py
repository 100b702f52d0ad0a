"""The schema version of the store. Newer schemas are refused, older ones are migrated.

1   live races are in the sorted set ``races:listed``; there is no version in the store
2   live races are in ``races:index``, with their summaries in ``races:summaries``
3   unlisted finished races are in ``replays:unlisted:PLAYER``; ``unlisted_index.py`` builds these lists
"""

import logging
from typing import Final

from samedeal.errors import Refused
from samedeal_server.ops.logging_setup import about
from samedeal_server.races.registry import Registry
from samedeal_server.store.connection import Store, UnfitStoreError

logger = logging.getLogger(__name__)

SCHEMA: Final = 3
WITHOUT_UNLISTED_INDEX: Final = 2
KEY: Final = "samedeal:schema"
_LISTED_1, _WRITTEN_BY_ANY = "races:listed", "replays:keys"


async def check_schema(store: Store) -> None:
    """Raise UnfitStoreError if the store has a newer schema. An empty store gets the current schema number.

    Raises Refused("store-unavailable").
    """
    text = await store.ask("GET", KEY)
    if text is None and not await store.ask("EXISTS", _WRITTEN_BY_ANY):
        await store.retry("SET", KEY, SCHEMA, "NX")
    elif text is not None and not (text.isdigit() and int(text) <= SCHEMA):
        raise UnfitStoreError(
            f"The store has schema {text.decode(errors='replace')!r}, and this version of Same Deal reads schemas up to"
            f" {SCHEMA}. Start a newer version, or use another store."
        )


async def stored(store: Store) -> int:
    """Return the schema version of the store. Raises Refused("store-unavailable")."""
    return int(await store.ask("GET", KEY) or 1)


async def migrate(store: Store, registry: Registry) -> None:
    """Migrate an older store to schema 2. Safe to interrupt and repeat. Raises Refused."""
    if await stored(store) >= WITHOUT_UNLISTED_INDEX:
        return
    for name in await store.ask("ZRANGE", _LISTED_1, 0, -1):
        race_id = name.decode()
        try:
            room, now = await registry.room(race_id), registry.clock.now()
            await registry.live.update(room.race, now)
            room.mark_saved(now)  # the room then writes its own deadline over this one
        except Refused as refused:
            if refused.code == "store-unavailable":
                raise
            logger.error("the race cannot be listed: %s", refused.text, extra=about(race=race_id))
        await store.retry("ZREM", _LISTED_1, race_id)
    await store.retry("SET", KEY, WITHOUT_UNLISTED_INDEX)
    logger.info("the store was migrated to schema %d", WITHOUT_UNLISTED_INDEX)


async def finish_unlisted_index(store: Store) -> None:
    """Set schema 3, whose index has been built. Raises Refused("store-unavailable")."""
    await store.retry("SET", KEY, SCHEMA)
