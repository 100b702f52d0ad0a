"""RaceStore: the parts of the store that races use."""

from collections.abc import Container
from typing import NamedTuple, Self

from samedeal.race.race import Race
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.clock import Clock, RaceClock
from samedeal_server.store.live_races import LiveRaces


class RaceStore(NamedTuple):
    """The logs of live races, the archive of finished ones, the lists of live ones, the clock and announcements."""

    log: RaceLog
    archive: Archive
    live: LiveRaces
    clock: Clock
    announcements: Announcements
    closed: Container[str] = ()
    """Races that administrators have closed."""

    def timed(self, race: Race, behind_ms: int) -> Self:
        """Return the store with a clock for one race. `behind_ms` is how far the store's is ahead of it, if known."""
        clock = RaceClock(self.clock, behind_ms or self.clock.stepped_since(race.at))
        clock.reach(race.at)
        return self._replace(clock=clock)

    async def remove_live(self, race: Race) -> None:
        """Remove everything about a live race, once it is archived and indexed. Raises Refused("store-unavailable")."""
        await self.log.discard(race.id)
        await self.live.remove_from_deal(race.header)
        await self.live.forget(race.id)
