"""Field results: finished races by the daily deal or the challenge that they belong to."""

import logging
from collections.abc import AsyncIterator, Collection, Set
from typing import Final

from samedeal.errors import Refused
from samedeal.race.race import Race
from samedeal.scores.field import FieldRace
from samedeal_server.net.logs import about
from samedeal_server.store import stored_replays
from samedeal_server.store.connection import Store

logger = logging.getLogger(__name__)

BATCH: Final = 200
"""How many results are read at once."""


class FieldResults:
    """Finished races by the commitment to their daily deal or challenge."""

    def __init__(self, store: Store, expire_s: int | None = None, hidden: Set[str] = frozenset()) -> None:
        """`expire_s` is how long the results are kept after its newest race; None keeps them forever.

        `hidden` are races that do not count.
        """
        self._store, self._expire_s, self.hidden = store, expire_s, hidden

    async def add(self, race: Race, without: Collection[str] = ()) -> None:
        """Add a finished race, without the results of players who were erased. Safe to repeat."""
        key, result = _key(race.header.commitment), FieldRace.of(race).without(without)
        if not result.racers:
            return
        await self.add_dealt(race)
        await self._store.retry("HSET", key, race.id, stored_replays.encode_record(result))
        await self._expire(key, race)

    async def add_dealt(self, race: Race) -> None:
        """Record who was dealt cards in a heat: it counts for those who had not been dealt the same deal before."""
        if race.header.heat and race.started_at is not None:
            key, number = first_key(race.header.commitment), race.header.heat.deal
            players = [seat.player for seat in race.roster if seat.run]
            await self._store.retry_all(*(("HSETNX", key, f"{number}:{player}", race.id) for player in players))
            await self._expire(key, race)

    async def _expire(self, key: str, race: Race) -> None:
        if self._expire_s is not None:
            sealed_s = max(0, race.header.reveals_at - race.at) // 1000
            await self._store.retry("EXPIRE", key, self._expire_s + sealed_s)

    async def withdraw(self, commitment: str, race_id: str, players: Collection[str]) -> None:
        """Remove the results of some players in a race, and the links from all others to it. Safe to repeat."""
        data: bytes | None = await self._store.ask("HGET", _key(commitment), race_id)
        if data is None:
            return
        result = stored_replays.decode_record(data, FieldRace).without(players)
        if result.racers:
            await self._store.retry("HSET", _key(commitment), race_id, stored_replays.encode_record(result))
        else:
            await self._store.retry("HDEL", _key(commitment), race_id)

    async def count(self, commitment: str) -> int:
        """Return the number of finished races."""
        return int(await self._store.ask("HLEN", _key(commitment)))

    async def races(self, commitment: str, known: Collection[str] = ()) -> AsyncIterator[tuple[str, FieldRace | None]]:
        """Yield the id and result of each finished race not in `known`; None for a damaged result."""
        names: list[bytes] = await self._store.ask("HKEYS", _key(commitment))
        race_ids = sorted({name.decode() for name in names}.difference(known))
        for start in range(0, len(race_ids), BATCH):
            batch = race_ids[start : start + BATCH]
            for race_id, data in zip(batch, await self._store.ask("HMGET", _key(commitment), *batch), strict=True):
                try:
                    yield race_id, stored_replays.decode_record(data or b"", FieldRace)
                except Refused as refused:
                    yield race_id, None
                    logger.error("the result of a race cannot be read: %s", refused.text, extra=about(race=race_id))


def first_key(commitment: str) -> str:
    """Return the key of the first heat in which each player was dealt each deal of a challenge."""
    return f"first:{{{commitment}}}"


def _key(commitment: str) -> str:
    return f"field:{{{commitment}}}"
