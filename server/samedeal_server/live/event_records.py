"""Event records: the entries of live races in the server's log."""

import logging
from collections.abc import Sequence
from typing import Final

from samedeal.race.events import Closed, Dealt, Entry, Joined, Taken
from samedeal.race.race import Race
from samedeal_server.net.logs import about
from samedeal_server.store.compact_log import CompactLog

logger = logging.getLogger(__name__)

LOGGED_AT_INFO: Final = (Dealt, Closed)
"""Events logged at level INFO. Guests can repeat all others at will, so those are logged at DEBUG."""


def record(race: Race, entries: Sequence[Entry], log: CompactLog) -> None:
    """Write the names of the newest events of a race to the server's log. `log` has all entries of the race."""
    for entry in entries:
        level = logging.INFO if isinstance(entry.event, LOGGED_AT_INFO) else logging.DEBUG
        if logger.isEnabledFor(level):
            seat: int | None = getattr(entry.event, "seat", None)
            extra = about(race=race.id, seat=seat, connection=_connection(race, seat, log))
            logger.log(level, "entry %d: %s", entry.n, type(entry.event).__name__.lower(), extra=extra)


def _connection(race: Race, seat: int | None, log: CompactLog) -> str | None:
    """Return the connection that took a seat, as named by the entry that took it."""
    taken = log[race.seats[seat - 1].taken - 1].event if seat else None
    return taken.by if isinstance(taken, Joined | Taken) else None
