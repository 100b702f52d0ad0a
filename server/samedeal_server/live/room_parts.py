"""What a room is made from: the state of its race, and what the rooms of a process share."""

from collections.abc import Sequence
from typing import NamedTuple

from samedeal.race.events import Entry
from samedeal.race.race import Race
from samedeal.wire.messages import Host, Rematch
from samedeal_server.live.awaited_players import AwaitedPlayers
from samedeal_server.live.deal_finder import DealFinder
from samedeal_server.live.ghosts import GhostLoader
from samedeal_server.store.challenge_logs import ChallengeLogs
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore
from samedeal_server.work.pool import Jobs


class RaceState(NamedTuple):
    """A race and everything else that its room knows about it at first."""

    race: Race
    entries: Sequence[Entry] = ()
    """The log of a live race; empty for an archived one."""
    behind_ms: int = 0
    """How far the store's clock is ahead of the race's, if known."""
    archived: bool = False
    rematch: Rematch | None = None
    """The race that follows this one, or replaces it before the countdown."""
    host: Guest | None = None
    rejoining: AwaitedPlayers = AwaitedPlayers()
    due_at: int | None = None
    """When the race is due, if the store's lists already have it."""


class Services(NamedTuple):
    """What the rooms of a process share."""

    store: RaceStore
    deal_finder: DealFinder
    ghosts: GhostLoader
    challenges: ChallengeLogs
    bot_jobs: Jobs
    away_ms: int
    """How long a seat is held before the countdown for a player who is disconnected."""
    ready_ms: int
    """How long players have to get ready once enough others are; 0 for no limit."""


def public_host(race: Race, host: Guest | None) -> Host | None:
    """Return what everybody may know about the host of a race before its countdown."""
    if host is None or race.stage != "open":
        return None
    seat = race.seat_of(host.player)
    return Host(name=host.name, seat=seat.number if seat else None)
