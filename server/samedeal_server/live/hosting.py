"""Hosting: what the guest who opened a race may do before the countdown: start it, and remove players."""

from collections.abc import Iterable
from contextlib import suppress

from samedeal.errors import Refused
from samedeal.race.events import AnyEvent
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal.wire.requests import HostRequest, expulsion_events, remove_events, start_events
from samedeal_server.live.commands import Proposal
from samedeal_server.live.room import Room
from samedeal_server.store.bans import covers
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.live_races import LiveRaces


async def submit_as_host(room: Room, guest: Guest, request: HostRequest, live: LiveRaces, client: str) -> None:
    """Submit a request of the host to the room. `client` is the client's network.

    A player is barred before the seat is released, so that a process that dies in between leaves no removed player who
    can return. Raises Refused("not-allowed") for other guests, and the refusals of the request.
    """
    if room.host is None or room.host.player != guest.player:
        raise Refused("not-allowed", "Only the host of the race can do this.")
    if isinstance(request, m.Remove):
        if not remove_events(room.race, request.seat, guest.player):
            return
        removed = room.race.seat(request.seat).player
        await live.bar(room.race.id, removed)

        def removal(race: Race) -> Iterable[AnyEvent]:
            seat = race.seat_of(removed)
            return remove_events(race, seat.number, guest.player) if seat else ()

        await room.submit(removal)
        return

    def start(race: Race) -> Iterable[AnyEvent]:
        events = start_events(race, guest.player)
        if events:
            reserve_deal(room, race, events[:-1], client)  # the last one starts the countdown
        return events

    await room.submit(start)


def reserve_deal(room: Room, race: Race, events: Iterable[AnyEvent], client: str) -> None:
    """Reserve a place in the queue of deal searches for a race after some events. Raises Refused if it is full."""
    for event in events:
        race, _ = race.extended(race.at, event)
    room.deal_search.reserve(race, client)


async def submit_join(room: Room, guest: Guest, proposal: Proposal, live: LiveRaces) -> Race:
    """Submit a proposal that seats a guest. Return the race after it.

    Guests who still have a seat are checked too, and again if it is released before the proposal takes effect: the host
    may be removing them. Raises Refused("not-allowed") if the host has removed the guest from an open race or an
    administrator has closed it, as ``check_free``, and as ``Room.submit``.
    """
    while True:
        live.check_open(room.race.id)
        is_hosted = room.host is not None and room.race.stage == "open"
        if is_hosted and await live.is_barred(room.race.id, guest.player):
            raise Refused("not-allowed", "The host has removed you from this race.")
        had_seat = is_hosted and room.race.seat_of(guest.player) is not None

        def checked(race: Race, had_seat: bool = had_seat) -> Iterable[AnyEvent]:
            if had_seat and race.stage == "open" and race.seat_of(guest.player) is None:
                raise _SeatReleased("untimely")
            if race.seat_of(guest.player) is None:
                check_free(room, race, guest.player)
            return proposal(race)

        try:
            return await room.submit(checked)
        except _SeatReleased:
            continue


def check_free(room: Room, race: Race, player: str | None = None) -> None:
    """Raise Refused("race-full") if all free seats of an open rematch are reserved for others."""
    is_full = len(race.roster) >= race.options.max_racers
    if race.stage == "open" and not is_full and room.rejoining.free_seats(race, player) <= 0:
        raise Refused("race-full", "The free seats are reserved for the players of the last race.")


def unseat(room: Room, player: str, *, resigns: bool) -> None:
    """Release a player's seat before the countdown. In a running race, let the player resign if `resigns` is true."""
    with suppress(Refused):  # the room is closing, so the seat is released because the guest is away
        room.propose(lambda race: expulsion_events(race, player, resigns=resigns), lambda _: None)


def expel(room: Room, subject: str) -> None:
    """Unseat all racers whom a subject means, see ``subject_of``, connected or not. A network means nobody here."""
    for seat in room.race.roster:
        if covers(subject, player=seat.player, name=seat.name):
            unseat(room, seat.player, resigns=True)


class _SeatReleased(Refused):
    """The guest's seat has been released since the guest was checked."""
