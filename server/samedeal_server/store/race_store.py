"""RaceStore: the parts of the store that races use."""

from collections.abc import Container
from typing import NamedTuple

from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.clock import Clock
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.race_log import RaceLog


class RaceStore(NamedTuple):
    """The logs of live races, the archive of finished ones, the lists of live ones, the clock and announcements."""

    log: RaceLog
    archive: Archive
    live: LiveRaces
    clock: Clock
    announcements: Announcements
    closed: Container[str] = ()
    """Races that administrators have closed."""
