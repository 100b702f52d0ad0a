"""Reports: players report other players to the administrators of the server."""

from typing import Annotated, Final

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal.errors import Refused
from samedeal.race.events import RaceId, SeatNumber
from samedeal_server.api.administration import ADMIN, credential
from samedeal_server.api.endpoint import V1, BodySpec, ResponseSpec, route
from samedeal_server.live.registry import Registry
from samedeal_server.net.requests import bearer_token, client_network, read_json
from samedeal_server.net.responses import json_response
from samedeal_server.store.admin_log import Action, AdminLog
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.player_reports import Person, Reason, Report, ReportPage, Reports

MAX_BYTES: Final = 16_384
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


class ReportList(Struct, frozen=True):
    """Open reports, newest first."""

    reports: list[Report]


class Settle(Struct, frozen=True, forbid_unknown_fields=True):
    """A report to settle."""

    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{12}$(?!\n)")]
    reason: Annotated[str, Meta(max_length=200)] = ""
    """What was done about it, for the admin log."""


class PlayerReports:
    """The endpoint with which players report others."""

    def __init__(self, reports: Reports, registry: Registry, guests: Guests) -> None:
        self._reports, self._registry, self._guests = reports, registry, guests

    @route(
        "POST",
        f"{V1}/reports",
        ResponseSpec(201, Reported),
        body=BodySpec(MakeReport),
        refuses=(
            *("not-found", "bad-token", "not-allowed", "foreign-page"),
            *("unsupported-version", "withdrawn", "store-unavailable"),
        ),
        cost=20,
    )
    async def report(self, request: Request) -> Response:
        """Report a player in a race to the administrators, as the guest whose token is sent.

        A guest can make 10 reports per day. Another report about the same player in the same race replaces the first.
        """
        asked = await read_json(request, MakeReport, MAX_BYTES)
        token = bearer_token(request)
        if token is None:
            raise Refused("bad-token")
        guest = await self._guests.authenticate(token)
        if (asked.seat is None) == (asked.player is None):
            raise Refused("bad-request", "A report needs either a `seat` or a `player`.")
        text = " ".join(asked.text.split())
        if not text.isprintable():
            raise Refused("bad-request", "The text of a report must be printable.")
        race = (await self._registry.room(asked.race, client_network(request))).race
        seat = next((seat for seat in race.seats if asked.seat == seat.number or asked.player == seat.player), None)
        if seat is None:
            raise Refused("not-found", f"Nobody in race {race.id} has this seat or public id.")
        if seat.server or seat.player == guest.player:
            raise Refused("not-allowed", "You can report other people, but not yourself or server bots.")
        about, by = Person(seat.player, seat.name), Person(guest.player, guest.name)
        made = await self._reports.add(race.id, seat.number, about, by, asked.reason, text)
        return json_response(Reported(made.id, made.race, made.seat, seat.name, made.reason), 201)


class AdminReports:
    """The endpoints with which administrators read and settle reports."""

    def __init__(self, reports: Reports, log: AdminLog) -> None:
        self._reports, self._log = reports, log

    @route("GET", f"{ADMIN}/reports", refuses=("store-unavailable",), cost=5)
    async def all(self, request: Request, query: ReportPage) -> ReportList:
        """List open reports, newest first."""
        return ReportList(await self._reports.page(query))

    @route("POST", f"{ADMIN}/settle", body=BodySpec(Settle), refuses=("not-found", "store-unavailable"), cost=5)
    async def settle(self, request: Request) -> Report:
        """Remove a report that needs no more attention, and return it."""
        asked = await read_json(request, Settle, MAX_BYTES)
        report = await self._reports.get(asked.id)
        await self._log.append(Action(credential(request), "settle", report.id, asked.reason))
        await self._reports.remove(report.id)
        return report
