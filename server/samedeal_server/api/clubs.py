"""Clubs: start, list, join and view them, with their tables, ratings and logs."""

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal.replays.log_files import ClubLog
from samedeal.scores.club_scores import ClubScores
from samedeal.wire.documents import ClubHistory, ClubInvitation, ClubList, ClubPage
from samedeal_server.api.endpoint import STORE_REFUSALS, V1, ResponseSpec, route
from samedeal_server.live.clubs import Clubs
from samedeal_server.net.responses import MEDIA, json_response
from samedeal_server.store.guest_tokens import Guest

CLUB = f"{V1}/clubs/{{club}}"
REFUSALS = ("not-found", "not-allowed", "untimely", *STORE_REFUSALS)


class ClubName(Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a club."""

    name: Annotated[str, Meta(min_length=1, max_length=24)]
    """1 to 24 characters. The server may refuse it."""


class Joining(Struct, frozen=True, forbid_unknown_fields=True):
    """What others than members need to see who is in a club, and to join it."""

    invitation: Annotated[str, Meta(min_length=1, max_length=64)]
    """The token of the invitation: the fragment of its link."""


class ClubEndpoints:
    """The endpoints of clubs. All but the preview need the token of a guest."""

    def __init__(self, clubs: Clubs) -> None:
        self._clubs = clubs

    @route("GET", f"{V1}/clubs", refuses=STORE_REFUSALS, cost=10)
    async def all(self, guest: Guest) -> ClubList:
        """List the clubs in which the guest is a member."""
        return await self._clubs.all(guest)

    @route(
        "POST",
        f"{V1}/clubs",
        ResponseSpec(201, ClubPage, headers=("Location",)),
        refuses=("bad-message", "name-refused", "draining", *STORE_REFUSALS),
        cost=20,
    )
    async def found(self, request: Request, body: ClubName, guest: Guest, base: str) -> Response:
        """Start a club. The guest is its first member and its owner."""
        club = await self._clubs.found(body.name, guest)
        location = {"Location": f"{request.scope['root_path']}{V1}/clubs/{club}"}
        return json_response(await self._clubs.page(club, guest, base), 201, location)

    @route("GET", CLUB, refuses=REFUSALS, cost=5)
    async def one(self, club: str, guest: Guest, base: str) -> ClubPage:
        """Return a club to a member."""
        return await self._clubs.page(club, guest, base)

    @route("PATCH", CLUB, refuses=("bad-message", "name-refused", *REFUSALS), cost=5)
    async def rename(self, club: str, body: ClubName, guest: Guest, base: str) -> ClubPage:
        """Change the name of a club as its owner."""
        await self._clubs.rename(club, guest, body.name)
        return await self._clubs.page(club, guest, base)

    @route("DELETE", CLUB, ResponseSpec(204, media=()), refuses=REFUSALS, cost=5)
    async def dissolve(self, club: str, guest: Guest) -> None:
        """Dissolve a club as its owner: it takes no more members and races, and its members can still see it. Safe to
        repeat.
        """
        await self._clubs.dissolve(club, guest)

    @route("POST", f"{CLUB}/preview", refuses=REFUSALS, cost=5)
    async def preview(self, club: str, body: Joining, guest: Guest | None, base: str) -> ClubPage:
        """Return the name and the members of a club to those who have its invitation, and everything to members. No
        token is necessary.
        """
        return await self._clubs.page(club, guest, base, body.invitation)

    @route("GET", f"{CLUB}/invitation", refuses=REFUSALS, cost=5)
    async def invitation(self, club: str, guest: Guest, base: str, client: str) -> ClubInvitation:
        """Return the invitation of a club to a member."""
        return await self._clubs.invitation(club, guest, base, client)

    @route("POST", f"{CLUB}/invitation", refuses=REFUSALS, cost=5)
    async def invite(self, club: str, guest: Guest, base: str) -> ClubPage:
        """Replace the invitation of a club as its owner. The one before is no longer valid."""
        await self._clubs.invite(club, guest)
        return await self._clubs.page(club, guest, base)

    @route("DELETE", f"{CLUB}/invitation", refuses=REFUSALS, cost=5)
    async def revoke(self, club: str, guest: Guest, base: str) -> ClubPage:
        """Revoke the invitation of a club as its owner."""
        await self._clubs.revoke(club, guest)
        return await self._clubs.page(club, guest, base)

    @route("POST", f"{CLUB}/members", refuses=REFUSALS, cost=5)
    async def join(self, club: str, body: Joining, guest: Guest, base: str) -> ClubPage:
        """Join a club with its invitation. Safe to repeat."""
        await self._clubs.join(club, guest, body.invitation)
        return await self._clubs.page(club, guest, base)

    @route("DELETE", f"{CLUB}/members/{{player}}", ResponseSpec(204, media=()), refuses=REFUSALS, cost=5)
    async def remove(self, club: str, player: str, guest: Guest) -> None:
        """Leave a club, or remove another member as its owner."""
        await self._clubs.remove(club, guest, player)

    @route("GET", f"{CLUB}/scores", refuses=REFUSALS, cost=5)
    async def scores(self, club: str, guest: Guest, client: str) -> ClubScores:
        """Return the tables and ratings of a club to a member. In a large club, ratings can be a minute old."""
        return await self._clubs.scores(club, guest, client)

    @route("GET", f"{CLUB}/history", refuses=REFUSALS, cost=10)
    async def history(self, club: str, guest: Guest, client: str) -> ClubHistory:
        """Return how the ratings in a club have changed, to a member."""
        return await self._clubs.history(club, guest, client)

    @route("GET", f"{CLUB}/log", ResponseSpec(kind=ClubLog), refuses=REFUSALS, cost=20)
    async def log(self, club: str, guest: Guest) -> Response:
        """Return the log of a club to a member. With the replays of its races, it proves the tables and ratings."""
        return Response(await self._clubs.log(club, guest), media_type=MEDIA["json"])
