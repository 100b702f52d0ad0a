"""Timed events: everything in a race that is triggered by time rather than by a player, as pure functions of the race.

This includes releasing the seats of absent players. The log does not record whether a player is connected, so the
caller passes in when each seat was last seen connected. The process that holds a race calls ``due`` at ``due_at``.
"""

from collections.abc import Mapping

from samedeal.race.events import AnyEvent, Closed, Counting, Dealt, Left
from samedeal.race.race import Race
from samedeal.race.seat import Seat

EMPTY_MS = 600_000
"""How long a race is kept if nobody takes a seat."""
NONCE_MS = 5_000
"""The minimum time to open a nonce, from the start of the countdown and from the end of an outage. A countdown can be
shorter than a round trip, and nobody should be scratched because of an outage."""


def due(
    race: Race,
    now: int,
    *,
    seen: Mapping[int, int],
    away_ms: int,
    reachable_from: int = 0,
    deal_number: int | None = None,
) -> AnyEvent | None:
    """Return the next event to log at the time ``now``, or None. All times are in ms since 1970-01-01 UTC.

    ``seen`` maps seat numbers to the time when the seat was last connected. Before the countdown, a seat is released
    after ``away_ms`` without a connection. ``reachable_from`` is the end of the last server outage. ``deal_number`` is
    the number of the deal, or None while the search for it is running.
    """
    if race.closed:
        return None
    if race.finished(now):
        return Closed(secret=race.secret.hex())
    if race.stage == "open":
        absent = (seat for seat in race.roster if released_at(seat, seen, away_ms) <= now)
        if seat := next(absent, None):
            return Left(seat=seat.number)
        return Counting() if race.ready_to_start else None
    if race.stage == "countdown" and deal_number is not None and now >= deal_at(race, reachable_from):
        return Dealt(k=deal_number)
    return None


def due_at(race: Race, *, seen: Mapping[int, int], away_ms: int, reachable_from: int = 0) -> int:
    """Return when the next event is due, which can be in the past. Takes the same arguments as ``due``."""
    if race.ends_at is not None:
        return race.ends_at
    if race.stage == "countdown":
        return deal_at(race, reachable_from)
    times = [race.expires_at, *(released_at(seat, seen, away_ms) for seat in race.roster)]
    return min(times if race.n else (*times, race.header.opened_at + EMPTY_MS))


def released_at(seat: Seat, seen: Mapping[int, int], away_ms: int) -> int:
    """Return when a seat is released unless its player reconnects: ``away_ms`` after it was taken or last seen."""
    return max(seat.taken_at, seen.get(seat.number, 0)) + away_ms


def deal_at(race: Race, reachable_from: int = 0) -> int:
    """Return when a countdown ends. While nonces are missing, it is extended so that they can arrive."""
    starts_at, counting_at = race.starts_at or 0, race.counting_at or 0
    if race.has_all_nonces:
        return starts_at
    return max(starts_at, NONCE_MS + max(counting_at, reachable_from))
