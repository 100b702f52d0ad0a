"""The index of unlisted races: built once, in the background, from the replays that an earlier version stored."""

import asyncio
import logging
from secrets import token_hex
from typing import Final

from samedeal_server.store import schema, stored_replays
from samedeal_server.store.connection import Store
from samedeal_server.store.player_races import PlayerRaces

logger = logging.getLogger(__name__)

PROGRESS: Final = "replays:indexing"
"""A hash of how far each node has been scanned: the node's stamp and the cursor, or the stamp alone at the end."""
LOCK: Final = "replays:indexing:lock"
LOCK_S: Final = 30
"""How long another process waits before it continues the work of one that has died (s)."""
RETRY_S: Final = 10.0
"""How often a process checks whether the index is complete (s)."""
COUNT: Final = 100
"""How many keys are scanned at once."""
PAUSE_S: Final = 0.01
"""The pause after each batch, in which the process serves its clients (s)."""


class UnlistedIndex:
    """Builds the index. Interrupted work continues where it stopped, in any process."""

    def __init__(self, store: Store, player_races: PlayerRaces) -> None:
        self._store, self._player_races, self._id = store, player_races, token_hex(8)
        self._complete = False

    async def build(self) -> None:
        """Build the index unless it is complete or another process is building it. Raises Refused."""
        if self._complete or await schema.stored(self._store) != schema.WITHOUT_UNLISTED_INDEX:
            self._complete = True
            return
        if not await self._has_lock():
            return
        indexed = 0
        while unfinished := await self._unfinished():
            for node, (stamp, cursor) in unfinished.items():
                while cursor is not None:
                    cursor, found = await self._index_batch(node, cursor)
                    indexed += found
                    await self._store.retry("HSET", PROGRESS, node, stamp if cursor is None else f"{stamp} {cursor}")
                    await asyncio.sleep(PAUSE_S)
                    if not await self._has_lock():
                        return
        await self._store.retry("DEL", PROGRESS)  # before the schema, so that nothing is left if this is interrupted
        await schema.finish_unlisted_index(self._store)
        await self._store.retry("DEL", LOCK)
        self._complete = True
        logger.info("the index of unlisted races is complete; %d were found since it was started here", indexed)

    async def _has_lock(self) -> bool:
        """Return whether this process may build the index. The lock has to be renewed within LOCK_S."""
        await self._store.retry("SET", LOCK, self._id, "NX", "EX", LOCK_S)
        if await self._store.ask("GET", LOCK) != self._id.encode():
            return False
        await self._store.retry("EXPIRE", LOCK, LOCK_S)
        return True

    async def _unfinished(self) -> dict[str, tuple[str, int | None]]:
        """Return the stamp and the next cursor of each node that has not been scanned to the end.

        A node whose stamp has changed is scanned again: after a restart its cursors are void, and slots that have moved
        to it can contain races that were never seen.
        """
        nodes: dict[str, tuple[str, int | None]] = {}
        for node, stamp in (await self._store.stamps()).items():
            text: bytes = await self._store.ask("HGET", PROGRESS, node) or b""
            known, _, cursor = text.decode().partition(" ")
            if known != stamp:
                nodes[node] = stamp, 0
            elif cursor:
                nodes[node] = stamp, int(cursor)
        return nodes

    async def _index_batch(self, node: str, cursor: int) -> tuple[int | None, int]:
        """Index some replays, and return the next cursor, or None at the end, and the number of unlisted races."""
        after, keys = await self._store.scan(node, cursor, stored_replays.key("*"), COUNT)
        found = 0
        async for race_id, result in self._player_races.results(list(map(stored_replays.race_of, keys))):
            if result and result.unlisted:
                players = [racer.player for racer in result.racers]
                await self._player_races.add(race_id, result.ended_at, players, unlisted=True)
                found += 1
        return after or None, found
