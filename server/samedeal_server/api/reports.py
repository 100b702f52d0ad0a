"""Reports: players report other players to the administrators of the server."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from samedeal.errors import Refused
from samedeal.race.events import RaceId, SeatNumber
from samedeal_server.api.endpoint import RACE_REFUSALS, V1, ResponseSpec, route
from samedeal_server.live.registry import Registry
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.player_reports import Person, Reason, Reports

MAX_TEXT: Final = 500


class MakeReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A report about a player in a race, by seat or by public id."""

    race: RaceId
    reason: Reason
    seat: SeatNumber | None = None
    player: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """The public id, as an alternative to `seat`."""
    text: Annotated[str, Meta(max_length=MAX_TEXT)] = ""
    """What happened."""


class Reported(Struct, frozen=True):
    """The report that the administrators will see."""

    id: str
    race: str
    seat: int
    name: str
    """Whom it is about."""
    reason: Reason


class PlayerReports:
    """The endpoint with which players report others."""

    def __init__(self, reports: Reports, registry: Registry) -> None:
        self._reports, self._registry = reports, registry

    @route("POST", f"{V1}/reports", ResponseSpec(201, Reported), refuses=(*RACE_REFUSALS, "not-allowed"), cost=20)
    async def report(self, body: MakeReport, guest: Guest, client: str) -> Reported:
        """Report a player in a race to the administrators, as the guest whose token is sent.

        A guest can make 10 reports per day. Another report about the same player in the same race replaces the first.
        """
        if (body.seat is None) == (body.player is None):
            raise Refused("bad-request", "A report needs either a `seat` or a `player`.")
        text = " ".join(body.text.split())
        if not text.isprintable():
            raise Refused("bad-request", "The text of a report must be printable.")
        race = (await self._registry.room(body.race, client)).race
        seat = next((seat for seat in race.seats if body.seat == seat.number or body.player == seat.player), None)
        if seat is None:
            raise Refused("not-found", f"Nobody in race {race.id} has this seat or public id.")
        if seat.server or seat.player == guest.player:
            raise Refused("not-allowed", "You can report other people, but not yourself or server bots.")
        about, by = Person(seat.player, seat.name), Person(guest.player, guest.name)
        made = await self._reports.add(race.id, seat.number, about, by, body.reason, text)
        return Reported(made.id, made.race, made.seat, seat.name, made.reason)
