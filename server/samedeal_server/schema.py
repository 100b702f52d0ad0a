"""The version of what the store holds: a newer one is refused, an older one is migrated.

1   before there was a version: live races are listed in the sorted set ``races:listed``
2   live races are listed in ``races:index``, with their summaries in ``races:summaries``
"""

import logging
from typing import Final

from samedeal.errors import Refused
from samedeal_server.hall import Hall
from samedeal_server.log_lines import about
from samedeal_server.store import Store, UnfitStoreError

logger = logging.getLogger(__name__)

SCHEMA: Final = 2
KEY: Final = "samedeal:schema"
_LISTED_1, _WRITTEN_BY_ANY = "races:listed", "replays:keys"


async def check_schema(store: Store) -> None:
    """Raises UnfitStoreError if the store was written by a newer version. A new store gets this version's number.

    Raises Refused("store-unavailable").
    """
    text = await store.ask("GET", KEY)
    if text is None and not await store.ask("EXISTS", _WRITTEN_BY_ANY):
        await store.insist("SET", KEY, SCHEMA, "NX")
    elif text is not None and not (text.isdigit() and int(text) <= SCHEMA):
        raise UnfitStoreError(
            f"The store has schema {text.decode(errors='replace')!r}, and this version of Same Deal reads schemas up to"
            f" {SCHEMA}. Start a newer version, or use another store."
        )


async def migrate(store: Store, hall: Hall) -> None:
    """Brings an older store up to date. Interrupted or repeated, it loses nothing. Raises Refused."""
    if int(await store.ask("GET", KEY) or 1) == SCHEMA:
        return
    for name in await store.ask("ZRANGE", _LISTED_1, 0, -1):
        race_id = name.decode()
        try:
            room, now = await hall.room(race_id), hall.clock.now()
            await hall.live.update(room.race, now)
            room.noted(room.race, now)  # it is due by what the lists have, not by what its room would have written
        except Refused as refused:
            if refused.code == "store-unavailable":
                raise
            logger.error("it cannot be listed: %s", refused.text, extra=about(race=race_id))
        await store.insist("ZREM", _LISTED_1, race_id)
    await store.insist("SET", KEY, SCHEMA)
    logger.info("the store was migrated to schema %d", SCHEMA)
