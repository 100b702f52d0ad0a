"""Recovery: reconciles a room's memory of a race with its log after a failure of the store.

If the log continues differently from the memory, the log wins. If the log lost entries that the memory still has, they
are written again: clients may have received acknowledgements for them.
"""

import logging
from collections.abc import Sequence
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
    entries: Sequence[Entry] = ()
    """The entries after those in memory that lead to `race`; all entries if they replace the memory."""
    replaces_memory: bool = False
    restored: bool = False
    """Whether the store had lost something, which has been written again."""


async def reconcile(store: RaceStore, host: Guest | None, race: Race, entries: Sequence[Entry]) -> Recovered:
    """Return what the log has beyond the memory, and write again what it has lost.

    `host` is the race's, and `entries` are those that lead to `race`; more may be appended during the call. Raises
    Refused or Behind; then memory and log may still differ.
    """
    n, digest = await store.log.head(race.id)
    if n < race.n:
        return await _restore_log(store, host, race, entries, n, digest)
    if n > race.n:
        news = await store.log.read(race.id, after=race.n)
        try:
            return Recovered(race.after_all(news), news)
        except Refused:
            return await _reload(store, race)
    return Recovered(race) if digest == race.digest else await _reload(store, race)


async def _restore_log(
    store: RaceStore, host: Guest | None, race: Race, entries: Sequence[Entry], n: int, digest: str
) -> Recovered:
    """Handle a log that ends at entry `n`, before the memory does; -1 if the race has no log.

    Either another process has archived the race, or the store lost the tail of the log.
    """
    initial = Race.opened(race.header, race.secret)
    if n < 0:
        if replay := await store.archive.replay(race.id):
            news = replay.entries[race.n :]
            return Recovered(race.after_all(news), news)
        await store.log.create(race.id, race.header, initial.digest, host=host)
        await store.live.add_to_deal(race.header)
        n, digest = 0, initial.digest
    last_digest = entries[n - 1].h if n else initial.digest
    if digest != last_digest:
        return await _reload(store, race)
    logger.error("the store lost the entries after %d; writing them again", n, extra=about(race=race.id))
    if lost := entries[n:]:
        metrics.LOST_ENTRIES.inc(len(lost))
        await store.log.append(race.id, last_digest, lost)
    return Recovered(race, restored=True)


async def _reload(store: RaceStore, race: Race) -> Recovered:
    """Read the whole log. Another writer, which did not have this memory's tail, has continued it."""
    logger.error("another writer has continued the log from an older entry", extra=about(race=race.id))
    entries = await store.log.read(race.id)
    return Recovered(Race.opened(race.header, race.secret).after_all(entries), entries, replaces_memory=True)
