"""Timed events: everything in a race that is triggered by time rather than by a player, as pure functions of the race.

This includes releasing the seats of absent players, and of players who do not get ready in time. The log does not
record whether a player is connected, so the caller passes in when each seat was last seen connected. The process that
holds a race calls ``due`` at ``due_at``.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from samedeal.commitments import server_nonce
from samedeal.race.events import NEVER, AnyEvent, Closed, Counting, Dealt, Left, Nonce
from samedeal.race.race import STUCK_MS, Race
from samedeal.race.standings import Seat

EMPTY_MS = 600_000
"""How long a race is kept if nobody takes a seat."""
NONCE_MS = 5_000
"""The minimum time to open a nonce, from the start of the countdown and from the end of an outage. A countdown can be
shorter than a round trip, and nobody should be scratched because of an outage."""
REJOIN_MS = 30_000
"""How long a rematch waits for the players of the race before, from when the second person has joined."""
NOBODY: Final[Mapping[Any, int]] = MappingProxyType({})


def due(
    race: Race,
    now: int,
    *,
    seen: Mapping[int, int],
    away_ms: int,
    ready_ms: int = 0,
    reachable_from: int = 0,
    rejoining: Mapping[str, int] = NOBODY,
    disconnected: Mapping[int, int] = NOBODY,
    deal_number: int | None = None,
) -> AnyEvent | None:
    """Return the next event to log at the time ``now``, or None. All times are in ms since 1970-01-01 UTC.

    ``seen`` maps seat numbers to the time when the seat was last connected. Before the countdown, a seat is released
    after ``away_ms`` without a connection, or as in ``ready_by``. ``reachable_from`` is the end of the last server
    outage. ``rejoining`` says until when a rematch waits for each player of the race before, by public id.
    ``disconnected`` says since when each seat is disconnected that is not connected now: in a running race, an early
    end waits ``away_ms`` for those who are stuck.
    ``deal_number`` is the number of the deal, or None while the search for it is running.
    """
    if race.closed:
        return None
    if race.ends_early_at is not None and now < close_at(race, away_ms, reachable_from, disconnected):
        return None
    if race.finished(now):
        return Closed(secret=race.secret.hex())
    if race.stage == "open":
        if race.roster and all(seat.server for seat in race.roster):
            return Left(seat=race.roster[0].number)
        absent = (seat for seat in race.roster if released_at(seat, seen, away_ms) <= now)
        if seat := next(absent, None):
            return Left(seat=seat.number)
        if (ready_at := ready_by(race, ready_ms, reachable_from)) is not None and ready_at <= now:
            return Left(seat=awaited(race)[0].number)
        return Counting() if race.ready_to_start and now >= complete_by(race, rejoining) else None
    if race.stage == "countdown" and race.header.sealed:
        for seat in race.roster:
            if seat.server and not seat.nonce:
                return Nonce(seat=seat.number, nonce=server_nonce(race.secret, race.id, seat.number).hex())
    if race.stage == "countdown" and deal_number is not None and now >= deal_at(race, reachable_from):
        return Dealt(k=deal_number)
    return None


def due_at(
    race: Race,
    *,
    seen: Mapping[int, int],
    away_ms: int,
    ready_ms: int = 0,
    reachable_from: int = 0,
    rejoining: Mapping[str, int] = NOBODY,
    disconnected: Mapping[int, int] = NOBODY,
) -> int:
    """Return when the next event is due, which can be in the past. Takes the same arguments as ``due``."""
    if race.ends_at is not None:
        return close_at(race, away_ms, reachable_from, disconnected)
    if race.stage == "countdown":
        return deal_at(race, reachable_from)
    times = [race.expires_at, *(released_at(seat, seen, away_ms) for seat in race.roster)]
    if race.ready_to_start:
        times.append(complete_by(race, rejoining))
    if (ready_at := ready_by(race, ready_ms, reachable_from)) is not None:
        times.append(ready_at)
    return min(times if race.n else (*times, race.header.opened_at + EMPTY_MS))


def close_at(race: Race, away_ms: int, reachable_from: int = 0, disconnected: Mapping[int, int] = NOBODY) -> int:
    """Return when a running race is closed if nothing else happens: early if all are stuck, or when its time is up.

    Its arguments are as in ``due``. A racer who reconnects has STUCK_MS from then on, because that is logged, and so
    have all after an outage.
    """
    ends_at, early_at = race.ends_at or 0, race.ends_early_at
    if early_at is None:
        return ends_at
    playing = {seat.number for seat in race.roster if seat.run and not seat.run.done}
    held_until = [since + away_ms for seat, since in disconnected.items() if seat in playing]
    return min(ends_at, max([early_at, reachable_from + STUCK_MS, *held_until]))


def awaited(race: Race) -> Sequence[Seat]:
    """Return the seats whose players have to get ready in time, because others are ready: none or at least one.

    At least two players have to be ready, one of them a person unless there are only bots: bots wait for people. Since
    some get ready only after all people, bots have to get ready once no person is awaited.
    """
    ready = [seat for seat in race.roster if seat.ready]
    if race.stage != "open" or len(ready) < 2 or (all(seat.bot for seat in ready) and _people(race.roster)):
        return ()
    waiting = [seat for seat in race.roster if not seat.ready]
    return _people(waiting) or waiting


def complete_by(race: Race, rejoining: Mapping[str, int]) -> int:
    """Return when a race can start in which all are ready; 0 if nobody is missing.

    A rematch waits for the players of the race before who have not had a seat in it yet, until the times in
    ``rejoining``, but for no longer than REJOIN_MS after its second person has joined.
    """
    had_seat = {seat.player for seat in race.seats}
    latest = max((until for player, until in rejoining.items() if player not in had_seat), default=0)
    second_at = _second_joined_at(race)
    return latest if second_at is None else min(latest, second_at + REJOIN_MS)


def ready_by(race: Race, ready_ms: int, reachable_from: int = 0) -> int | None:
    """Return when the awaited seats are released, or None if there are none or ``ready_ms`` is 0.

    That is ``ready_ms`` after enough players became ready, or after one of the awaited players joined or stopped being
    ready, so that all of them have had that long. In a rematch, it is when ``complete_by`` stops waiting, or as long
    after enough players became ready. ``reachable_from`` is as in ``due``.
    """
    seats = awaited(race)
    if not seats or not ready_ms:
        return None
    ready = [seat for seat in race.roster if seat.ready]
    enough_at = sorted(seat.changed_at for seat in ready)[1]
    person_at = min(seat.changed_at for seat in _people(ready) or ready)
    times = [enough_at, person_at, reachable_from]
    second_at = _second_joined_at(race) if race.header.follows else None
    if second_at is None:
        times += (seat.changed_at for seat in seats)
    else:
        times.append(second_at)
        ready_ms = min(ready_ms, REJOIN_MS)
    if seats[0].bot:
        times += (seat.changed_at for seat in _people(race.seats) if seat.left)
    return max(times) + ready_ms


def _second_joined_at(race: Race) -> int | None:
    """Return when the second person joined, or None before."""
    joined = sorted(seat.joined_at for seat in _people(race.seats))
    return joined[1] if len(joined) > 1 else None


def _people(seats: Iterable[Seat]) -> list[Seat]:
    return [seat for seat in seats if not seat.bot]


def released_at(seat: Seat, seen: Mapping[int, int], away_ms: int) -> int:
    """Return when a seat is released unless its player reconnects: ``away_ms`` after it was taken or last seen.

    A server bot is always there, until it would be alone.
    """
    if seat.server:
        return NEVER
    return max(seat.taken_at, seen.get(seat.number, 0)) + away_ms


def deal_at(race: Race, reachable_from: int = 0) -> int:
    """Return when a countdown ends. While nonces are missing, it is extended so that they can arrive."""
    starts_at, counting_at = race.starts_at or 0, race.counting_at or 0
    if race.has_all_nonces:
        return starts_at
    return max(starts_at, NONCE_MS + max(counting_at, reachable_from))
