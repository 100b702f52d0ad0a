"""Withdrawals: players who were erased, and the replacement of replays with their names by tombstones."""

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from samedeal.race.events import Joined
from samedeal_server.store import stored_replays
from samedeal_server.store.connection import Store, texts
from samedeal_server.store.field_results import FieldResults
from samedeal_server.store.player_races import LISTED, UNLISTED

ERASED: Final = "erased"
"""A sorted set of the public ids of erased players, by the time when they were erased first."""


class Withdrawals:
    """Withdrawn replays and erased players. Every write is idempotent. All methods raise Refused."""

    def __init__(self, store: Store, fields: FieldResults) -> None:
        self._store, self._fields = store, fields

    async def erase(self, player: str, now: int) -> None:
        """Remember that a player is erased. From now on, replays with the player are withdrawn when they are stored."""
        await self._store.retry("ZADD", ERASED, "NX", now, player)

    async def erased(self) -> list[str]:
        """Return the public ids of all erased players, the first one first."""
        return texts(await self._store.ask("ZRANGE", ERASED, 0, -1))

    async def erased_among(self, players: Collection[str]) -> list[str]:
        """Return those of some players who were erased."""
        scores = await self._store.ask("ZMSCORE", ERASED, *players) if players else ()
        return [player for player, score in zip(players, scores, strict=True) if score is not None]

    async def withdraw(self, race_id: str) -> bool:
        """Replace a stored replay by a tombstone, and remove the race from all lists. Return whether it was stored.

        On a daily deal and in a challenge, the results of players who were not erased stay, without a link to the race.
        The tombstone is written last, so that an interrupted withdrawal is completed when it is repeated. Raises
        Refused("unsupported-version") if the replay cannot be read.
        """
        data: bytes | None = await self._store.ask("GET", stored_replays.key(race_id))
        if data is None or stored_replays.is_tombstone(data):
            return False
        replay = await asyncio.to_thread(stored_replays.replay, data)
        header, summary = replay.header, stored_replays.summary(data)
        deal = summary.deal if summary else None
        players = sorted({entry.event.player for entry in replay.entries if isinstance(entry.event, Joined)})
        lists = ["replays", f"replays:game:{header.game}", f"replays:deal:{deal}"]
        lists += [f"{kind}:{player}" for kind in (LISTED, UNLISTED) for player in players]
        await self._store.retry_all(*(("ZREM", key, race_id) for key in lists))
        if header.is_common:
            await self._fields.withdraw(header.commitment, race_id, await self.erased_among(players))
        for kind in ("analysis", "successor"):
            await self._store.retry("DEL", f"{kind}:{{{race_id}}}")
        today = datetime.now(UTC).date().isoformat()
        stone = stored_replays.encode_tombstone(stored_replays.Tombstone(race_id, replay.digest, today))
        await self._store.retry("SET", stored_replays.key(race_id), stone, "XX", "KEEPTTL")
        return True
