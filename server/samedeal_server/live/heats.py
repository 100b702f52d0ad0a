"""Seats in races that are not for everybody: those of clubs, and heats of challenges.

A player races a deal of a challenge in one heat at a time, and alone in a heat for one. Otherwise a second heat, which
does not count, would show the player what to do in the first one.
"""

from collections.abc import Awaitable, Callable

from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.race.race import Race
from samedeal.wire.requests import expulsion_events
from samedeal_server.live.hosting import unseat
from samedeal_server.live.registry import Registry
from samedeal_server.live.room import Room


async def join_exclusively(room: Room, player: str, registry: Registry, join: Callable[[], Awaitable[Race]]) -> Race:
    """Let a player `join` a race and return it after that. The player leaves other lobbies on the same deal.

    Raises Refused("race-full") in a heat for one that somebody else opened, Refused("untimely") while the player races
    the same deal, and Refused("not-allowed") unless the player is a member of the race's club, if it has one, and the
    refusals of `join`.
    """
    race = room.race
    if race.stage != "open" or race.seat_of(player):
        return await join()
    await check_member(registry, race.header, player)
    if race.header.heat is None:
        return await join()
    if race.options.max_racers == 1 and room.host and room.host.player != player:
        raise Refused("race-full", "This race is only for the player who opened it. You can open one of your own.")
    registry.live.check_open(race.id)
    if len(race.roster) >= race.options.max_racers:
        return await join()  # which is refused, and nothing else changes
    challenges = registry.challenges
    other = await challenges.seat(race, player)
    while other != race.id:
        if other:
            await _leave(other, player, registry)
        before, other = other, await challenges.take_seat(race, player)
        if other == before:
            break
    joined = await join()
    if await challenges.seat(race, player) != race.id:
        unseat(room, player, resigns=False)
        raise Refused("untimely", "You have just taken a seat in another race on this deal.")
    return joined


async def check_member(registry: Registry, header: Header, player: str) -> None:
    """Raise Refused("not-allowed") if a race is for members of a club, and the player is none."""
    club = header.club
    if header.heat:
        club = (await registry.challenges.get(header.heat.challenge)).header.club
    if club:
        await registry.clubs.check_member(club.club, player)


async def _leave(race_id: str, player: str, registry: Registry) -> None:
    """Release the seat of a player in another lobby. Raises Refused("untimely") if the race has started."""
    if not await registry.live.live([race_id]):
        return
    try:
        room = await registry.room(race_id)
    except Refused as refused:
        if refused.code in ("not-found", "withdrawn"):
            return
        raise
    race = await room.submit(lambda race: expulsion_events(race, player, resigns=False))
    seat = race.seat_of(player)
    if seat and not race.closed and not (seat.run and seat.run.done):
        raise Refused("untimely", f"You are already racing this deal in {race_id}.")
