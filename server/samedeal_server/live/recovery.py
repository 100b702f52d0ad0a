"""Recovery: reconciles a room's memory of a race with its log after a failure of the store.

If the log continues differently from the memory, the log wins. If the log lost entries that the memory still has, they
are written again: clients may have received acknowledgements for them.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from samedeal.errors import Refused
from samedeal.race.events import Entry
from samedeal.race.race import Race
from samedeal_server.net import metrics
from samedeal_server.net.logs import about
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore

logger = logging.getLogger(__name__)


class Recovered(NamedTuple):
    """What the log contains beyond the memory."""

    race: Race
    entries: Sequence[Entry]
    """The entries after those in memory that lead to `race`; all entries if they replace the memory."""
    replaces_memory: bool = False


class Recovery:
    """Reconciles one race. All methods raise Refused, Behind or Lost; then memory and log may still differ."""

    def __init__(self, store: RaceStore, host: Guest | None, on_recreated: Callable[[], None]) -> None:
        """`host` is the race's.

        `on_recreated` is called when the race was missing from the store and its log has been created again.
        """
        self._store, self._host, self._on_recreated = store, host, on_recreated

    async def reconcile(self, race: Race, entries: Sequence[Entry]) -> Recovered:
        """Return what the log has beyond the memory, and write again what it has lost.

        `entries` are those that lead to `race`; more may be appended during the call.
        """
        n, digest = await self._store.log.head(race.id)
        if n < race.n:
            return await self._restore_log(race, entries, n, digest)
        if n > race.n:
            news = await self._store.log.read(race.id, after=race.n)
            try:
                return Recovered(race.after_all(news), news)
            except Refused:
                return await self._reload(race)
        return Recovered(race, ()) if digest == race.digest else await self._reload(race)

    async def _restore_log(self, race: Race, entries: Sequence[Entry], n: int, digest: str) -> Recovered:
        """Handle a log that ends at entry `n`, before the memory does; -1 if the race has no log.

        Either another process has archived the race, or the store lost the tail of the log.
        """
        initial = Race.opened(race.header, race.secret)
        if n < 0:
            if replay := await self._store.archive.replay(race.id):
                news = replay.entries[race.n :]
                return Recovered(race.after_all(news), news)
            await self._store.log.create(race.header, initial.digest, self._host)
            await self._store.live.add_to_deal(race.header)
            n, digest = 0, initial.digest
            self._on_recreated()
        last_digest = entries[n - 1].h if n else initial.digest
        if digest != last_digest:
            return await self._reload(race)
        logger.error("the store lost the entries after %d; writing them again", n, extra=about(race=race.id))
        if lost := entries[n:]:
            metrics.LOST_ENTRIES.inc(len(lost))
            await self._store.log.append(race.id, last_digest, lost)
        return Recovered(race, ())

    async def _reload(self, race: Race) -> Recovered:
        """Read the whole log. Another writer, which did not have this memory's tail, has continued it."""
        logger.error("another writer has continued the log from an older entry", extra=about(race=race.id))
        entries = await self._store.log.read(race.id)
        return Recovered(Race.opened(race.header, race.secret).after_all(entries), entries, replaces_memory=True)
