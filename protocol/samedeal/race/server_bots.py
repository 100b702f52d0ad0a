"""Server bots: players whose seats the server itself has, with nonces that follow from the race's secret."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final, Literal

from samedeal.errors import Refused
from samedeal.race.events import SERVER, AnyEvent, Joined, Readied
from samedeal.race.race import Race
from samedeal.race.standings import Seat

Level = Literal["beginner", "regular", "expert"]
SERVER_BOTS: Final[Mapping[str, Level]] = {"Trey": "regular", "Deuce": "beginner", "Joker": "expert"}
"""Their names and levels, in the order in which they join. Each takes part in a race at most once."""


def add_bot_events(race: Race, level: Level | None = None) -> list[AnyEvent]:
    """Return the events by which the bot of a level, or else the next one, takes a seat and is ready.

    Raises Refused("not-allowed") if it is in the race already, and Refused("race-full") if all of them are.
    """
    free = [name for name in SERVER_BOTS if race.seat_of(server_bot_id(name)) is None]
    if not free:
        raise Refused("race-full", f"The server has {len(SERVER_BOTS)} bots, and all of them are in this race.")
    name = next((name for name in SERVER_BOTS if SERVER_BOTS[name] == level), free[0])
    if name not in free:
        raise Refused("not-allowed", f"{name}, the {level} bot, is already in this race.")
    return seat_events(race, name)


def follow_events(race: Race, before: Race, free: int) -> list[AnyEvent]:
    """Return the events by which the bots of the race before join a rematch, once, after its first player.

    `free` is how many seats are not taken or reserved.
    """
    if race.stage != "open" or not race.roster or any(seat.server for seat in race.seats):
        return []
    names = [seat.name for seat in before.roster if seat.server]
    events = list[AnyEvent]()
    for name in names[: max(0, free)]:
        joining = seat_events(race, name)
        for event in joining:
            race, _ = race.extended(race.at, event)
        events += joining
    return events


def seat_events(race: Race, name: str) -> list[AnyEvent]:
    """Return the events by which a bot takes a seat and is ready."""
    player = server_bot_id(name)
    number = race.seat_for(player)
    commitment = race.server_commitment(number) if race.header.sealed else None
    joined = Joined(seat=number, player=player, name=name, bot=True, commitment=commitment, by=SERVER)
    return [joined, Readied(seat=number)]


def levels(race: Race) -> dict[int, Level]:
    """Return the levels of the bots in a race by seat."""
    return {seat.number: SERVER_BOTS[seat.name] for seat in race.roster if seat.server and seat.name in SERVER_BOTS}


def bots_playing(race: Race) -> Sequence[Seat]:
    """Return the seats of the bots that have not finished yet."""
    if race.stage != "running":
        return ()
    return [seat for seat in race.seats if seat.server and seat.run and not seat.run.done]


def people_playing(race: Race) -> bool:
    """Return whether somebody else has not finished yet."""
    return any(seat.run and not seat.run.done for seat in race.roster if not seat.server)


def server_bot_id(name: str) -> str:
    """Return the public id of a bot. It is the same on every server."""
    return sha256(f"samedeal/1/bot|{name}".encode()).hexdigest()[:16]


SERVER_BOT_IDS: Final = frozenset(map(server_bot_id, SERVER_BOTS))
