"""What is due in a race: everything that is triggered by time rather than by a player, as pure functions of the race.

Seats are released here too. Whether a player is connected is not in the log, so the caller supplies when each seat was
last seen connected. The process that holds a race calls ``due`` whenever ``due_at`` has come.
"""

from collections.abc import Mapping

from samedeal.log import AnyEvent, Closed, Counting, Dealt, Left
from samedeal.race import Race, Seat

EMPTY_MS = 600_000
"""How long a race with an empty log is kept: nobody has ever taken a seat."""
NONCE_MS = 5_000
"""The least time that racers have to open their nonces, from the start of the countdown and from the end of an outage.
A countdown may be shorter than a round trip or than a moment in which the store does not answer, and nobody should be
scratched for a nonce that could not be received."""


def due(
    race: Race,
    now: int,
    *,
    seen: Mapping[int, int],
    away_ms: int,
    reachable_from: int = 0,
    deal_number: int | None = None,
) -> AnyEvent | None:
    """The next event that has to be written at the time ``now``, or None. All times are in ms since 1970-01-01 UTC.

    ``seen`` maps seat numbers to when the seat was last seen connected; a seat that stays away for ``away_ms`` before
    the countdown is released. ``reachable_from`` is when the players could last reach a server again.
    ``deal_number`` is which deal of the root to deal, or None while that is still being searched for.
    """
    if race.closed:
        return None
    if race.finished(now):
        return Closed(secret=race.secret.hex())
    if race.stage == "open":
        absent = (seat for seat in race.roster if released_at(seat, seen, away_ms) <= now)
        if seat := next(absent, None):
            return Left(seat=seat.number)
        return Counting() if race.set_to_go else None
    if race.stage == "countdown" and deal_number is not None and now >= deal_at(race, reachable_from):
        return Dealt(k=deal_number)
    return None


def due_at(race: Race, *, seen: Mapping[int, int], away_ms: int, reachable_from: int = 0) -> int:
    """When something is due next, or is due since. Arguments and times are those of ``due``."""
    if race.ends_at is not None:
        return race.ends_at
    if race.stage == "countdown":
        return deal_at(race, reachable_from)
    times = [race.called_off_at, *(released_at(seat, seen, away_ms) for seat in race.roster)]
    return min(times if race.n else (*times, race.header.opened_at + EMPTY_MS))


def released_at(seat: Seat, seen: Mapping[int, int], away_ms: int) -> int:
    """When a seat is released unless its player comes back: ``away_ms`` after it was taken or last seen."""
    return max(seat.taken_at, seen.get(seat.number, 0)) + away_ms


def deal_at(race: Race, reachable_from: int = 0) -> int:
    """When a countdown ends. While nonces are missing, it lasts long enough for them to arrive."""
    starts_at, counting_at = race.starts_at or 0, race.counting_at or 0
    if race.nonces_in:
        return starts_at
    return max(starts_at, NONCE_MS + max(counting_at, reachable_from))
