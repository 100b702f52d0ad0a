"""Server bots in races: players add them before the countdown, and they follow to rematches."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from samedeal.computer.bots import BOTS
from samedeal.errors import Refused
from samedeal.race.events import AnyEvent
from samedeal.race.race import Race
from samedeal.race.server_bots import Level, add_bot_events, follow_events
from samedeal_server.live.hosting import check_free
from samedeal_server.live.registry import Registry
from samedeal_server.live.room import Room
from samedeal_server.net.limits import too_many
from samedeal_server.store.guest_tokens import Guest

MAX_BOTS: Final = 96
"""Maximum number of bots that one process plays at a time. Together they make about 48 moves per second, one after
another. If all are experts, that takes up to 0.8 s of CPU time. If the machine is too busy, bots play more slowly.
"""


async def add_bot(room: Room, guest: Guest, registry: Registry, level: Level | None = None) -> None:
    """Give a seat to the bot of a level or the next one, for a player with a seat. Raises Refused("not-seated") for
    other guests, Refused("not-found") for a game without a bot, Refused("too-many"), and the refusals of
    ``add_bot_events`` and of joining.
    """
    if room.race.game.slug not in BOTS:
        raise Refused("not-found", f"The server has no bot for {room.race.game.title}.")

    def adding(race: Race) -> Iterable[AnyEvent]:
        if race.seat_of(guest.player) is None:
            raise Refused("not-seated", "Only players with a seat can add a bot.")
        check_free(room, race)
        return add_bot_events(race, level)

    after = room.race
    for event in adding(after):  # before the count, which takes long if there are many races
        after, _ = after.extended(after.at, event)
    if bots_here(registry) >= MAX_BOTS:
        raise too_many("bots_here", "All bots of this server are racing. Try again in a few minutes.")
    await room.submit(adding)


async def bring_bots(room: Room, registry: Registry) -> None:
    """Let the bots of the race before, or of the lobby that was replaced, join a race after its first player, once.

    They stay away if there is no room for them, so that the player can race.
    """
    before = room.rejoining.bots_from
    if room.race.stage != "open" or before is None or any(seat.server for seat in room.race.seats):
        return
    with suppress(Refused):
        if any(seat.server for seat in before.roster) and bots_here(registry) < MAX_BOTS:
            await room.submit(lambda race: follow_events(race, before, room.rejoining.free_seats(race)))


def bots_here(registry: Registry) -> int:
    """Return how many seats server bots have in the live races that are open in this process."""
    return sum(seat.server for race in registry.races() if not race.closed for seat in race.roster)
