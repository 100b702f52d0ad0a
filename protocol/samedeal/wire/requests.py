"""Requests: the events that a player's request leads to, given the race as it stands.

A request that has already taken effect leads to no events, so clients can safely repeat it.
"""

from typing import Final, assert_never

from samedeal.errors import Refused
from samedeal.race.events import AnyEvent, Counting, Joined, Left, Moved, Nonce, Readied, Resigned, Taken, Unreadied
from samedeal.race.race import MAX_PLAYER_ENTRIES, Race
from samedeal.wire import messages as m

SeatRequest = m.Move | m.Ready | m.Nonce | m.Resign | m.Leave
"""The requests that a player can make from a seat."""
HostRequest = m.Start | m.Remove
"""The requests that only the host can make."""
OPEN_ENTRIES: Final = 1_000
"""The number of log entries about one player before the countdown beyond which the player cannot add more, so that a
few players cannot use up the seats."""


def check_entries(race: Race, event: AnyEvent) -> None:
    """Raise Refused("not-allowed") if an event that players can repeat exceeds a player's share of the log entries."""
    if isinstance(event, Moved | Joined | Taken | Readied | Unreadied) and event.seat <= len(race.seats):
        seat = race.seats[event.seat - 1]
        is_new = isinstance(event, Joined) and event.player != seat.player
        own = 0 if is_new or race.stage != "open" else seat.entries - seat.inherited
        if seat.entries >= MAX_PLAYER_ENTRIES or own >= OPEN_ENTRIES:
            raise Refused("not-allowed", "This seat has reached its limit of log entries.")


def seat_events(race: Race, number: int, request: SeatRequest) -> list[AnyEvent]:
    """Return the events that a request from the seat ``number`` leads to. Raises Refused."""
    match request:
        case m.Move(move=move, ply=ply):
            return _move(race, number, move, ply)
        case m.Ready(ready=ready):
            if race.seat(number).ready == ready:
                return []
            return [Readied(seat=number) if ready else Unreadied(seat=number)]
        case m.Nonce(nonce=nonce):
            return [] if race.seat(number).nonce == nonce else [Nonce(seat=number, nonce=nonce)]
        case m.Resign():
            run = race.seat(number).run
            return [] if run and run.resigned else [Resigned(seat=number)]
        case m.Leave():
            return [] if race.seats[number - 1].left else [Left(seat=number)]
        case _:
            assert_never(request)


def start_events(race: Race, host: str) -> list[AnyEvent]:
    """Return the events by which the player ``host`` gets ready and starts a race without those who are not.

    Raises Refused("untimely") unless enough players are ready, or after the countdown.
    """
    if race.stage == "countdown":
        return []
    if race.stage != "open":
        raise Refused("untimely", "This is possible only before the countdown.")
    own = race.seat_of(host)
    if sum(seat.ready or seat == own for seat in race.roster) < min(2, race.options.max_racers):
        raise Refused("untimely", "A race starts with at least two players who are ready.")
    waiting = [seat for seat in race.roster if not seat.ready]
    changes = [Readied(seat=seat.number) if seat == own else Left(seat=seat.number) for seat in waiting]
    return [*changes, Counting()]


def remove_events(race: Race, number: int, host: str) -> list[AnyEvent]:
    """Return the events by which the player ``host`` removes the one in the seat ``number``. Raises Refused."""
    if number <= len(race.seats) and race.seats[number - 1].left:
        return []
    if race.stage != "open":
        raise Refused("untimely", "This is possible only before the countdown.")
    if race.seat(number).player == host:
        raise Refused("not-allowed", "You cannot remove yourself. You can leave instead.")
    return [Left(seat=number)]


def expulsion_events(race: Race, player: str, *, resigns: bool) -> list[AnyEvent]:
    """Return the events by which the server takes a player's seat before the countdown, or lets the player resign."""
    seat = race.seat_of(player)
    if seat and race.stage == "open":
        return [Left(seat=seat.number)]
    is_playing = seat and seat.run and not seat.run.done and race.stage == "running"
    return [Resigned(seat=seat.number)] if seat and is_playing and resigns else []


def closing_event(race: Race) -> AnyEvent | None:
    """Return the next event by which the server empties a race before the countdown, or ends it once it is running.

    Nothing can end a race during the countdown.
    """
    for seat in race.roster:
        if events := expulsion_events(race, seat.player, resigns=True):
            return events[0]
    return None


def join_events(
    race: Race, request: m.Join, *, player: str, name: str, connection: str, has_seat: bool
) -> list[AnyEvent]:
    """Return the events by which a player takes a seat, or takes their seat over from an older connection.

    ``has_seat`` is whether this ``connection`` already has the player's seat. Raises Refused.
    """
    seat = race.seat_of(player)
    joined = Joined(
        seat=race.seat_for(player),
        player=player,
        name=name,
        bot=request.bot,
        commitment=request.commitment,
        by=connection,
    )
    if seat is None:
        return [joined]
    if race.stage == "open" and request.commitment not in (None, seat.commitment):
        return [Left(seat=seat.number), joined]
    return [] if race.closed or has_seat else [Taken(seat=seat.number, by=connection)]


def _move(race: Race, number: int, move: str, ply: int) -> list[AnyEvent]:
    run = race.seat(number).run
    if run and ply != len(run.moves):
        if ply < len(run.moves) and run.moves[ply] == move:
            return []
        raise Refused("stale-move", f"The ply of this move is {ply}, but {len(run.moves)} is next.")
    return [Moved(seat=number, move=move)]
