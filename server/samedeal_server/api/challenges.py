"""Challenges: open, list and view, and the log."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal.race.challenge import LONGEST_MS, SHORTEST_MS
from samedeal.race.events import MAX_DEALS, Hex32, RaceId
from samedeal.replays.log_files import ChallengeLog
from samedeal.wire.documents import ChallengeList, ChallengePage, OpenedChallenge
from samedeal_server.api.endpoint import STORE_REFUSALS, V1, ResponseSpec, route
from samedeal_server.live.challenges import SHOWN, Challenges, NewDeal
from samedeal_server.live.fields import FIRST_PAGE, Page
from samedeal_server.net.responses import MEDIA, json_response
from samedeal_server.store.guest_tokens import Guest

UNTIL_MS = 48 * 3_600_000
"""How long a challenge is open by default (ms)."""


class CreateChallenge(Struct, frozen=True, forbid_unknown_fields=True):
    """A challenge to open."""

    deals: Annotated[tuple[NewDeal, ...], Meta(min_length=1, max_length=MAX_DEALS)]
    """Its deals, which players can race in any order."""
    until_ms: Annotated[float, Meta(ge=SHORTEST_MS, le=LONGEST_MS, multiple_of=1)] = UNTIL_MS
    """The time until the deadline, in milliseconds."""
    unlisted: bool = True
    """Whether it is left out of the lists."""
    spectators: Literal["after", "progress"] = "after"
    """Who sees results before the deals are public: those who have played all deals, or everybody."""
    club: RaceId | None = None
    """The club whose members it is for. It is then unlisted."""


class Contribution(Struct, frozen=True, forbid_unknown_fields=True):
    """What the creator of a challenge contributes to its deals."""

    nonce: Hex32
    """32 random bytes, chosen after the server has published the commitment."""


class Filter(Struct, frozen=True, forbid_unknown_fields=True):
    """Which challenges to list."""

    game: str | None = None
    """The slug of a game that they have."""
    limit: Annotated[int, Meta(ge=1, le=SHOWN)] = SHOWN


class ChallengeEndpoints:
    """The endpoints of challenges."""

    def __init__(self, challenges: Challenges) -> None:
        self._challenges = challenges

    @route("GET", f"{V1}/challenges", refuses=STORE_REFUSALS, cost=10)
    async def all(self, query: Filter) -> ChallengeList:
        """List the challenges that are open and not unlisted, earliest deadline first."""
        return ChallengeList(await self._challenges.listed(query.game, query.limit))

    @route(
        "POST",
        f"{V1}/challenges",
        ResponseSpec(201, OpenedChallenge, headers=("Location",)),
        refuses=("not-found", "not-allowed", "untimely", "draining", *STORE_REFUSALS),
        cost=20,
    )
    async def open(self, request: Request, base: str, body: CreateChallenge, guest: Guest, client: str) -> Response:
        """Prepare a challenge: the response commits the server to its secret. The challenge exists once its creator has
        contributed to the deals, within a minute.
        """
        common = {"unlisted": body.unlisted or body.club is not None, "spectators": body.spectators}
        header = await self._challenges.open(body.deals, int(body.until_ms), common, guest, client, body.club)
        location = {"Location": f"{request.scope['root_path']}{V1}/challenges/{header.challenge}"}
        opened = OpenedChallenge(header.challenge, f"{base}/c/{header.challenge}", header)
        return json_response(opened, 201, location)

    @route(
        "PUT",
        f"{V1}/challenges/{{challenge}}/nonce",
        refuses=("not-found", "not-allowed", "untimely", *STORE_REFUSALS),
        cost=5,
    )
    async def contribute(
        self, challenge: str, body: Contribution, guest: Guest, base: str, client: str
    ) -> ChallengePage:
        """Contribute to the deals of a challenge as its creator. Safe to repeat."""
        await self._challenges.contribute(challenge, body.nonce, guest, client)
        return await self._challenges.page(challenge, FIRST_PAGE, guest, base)

    @route("GET", f"{V1}/challenges/{{challenge}}", refuses=("not-found", *STORE_REFUSALS), cost=5)
    async def one(self, challenge: str, query: Page, guest: Guest | None, base: str) -> ChallengePage:
        """Return a challenge with a page of its results, as the guest whose token is sent may see it."""
        return await self._challenges.page(challenge, query, guest, base)

    @route(
        "GET",
        f"{V1}/challenges/{{challenge}}/log",
        ResponseSpec(kind=ChallengeLog),
        refuses=("not-found", "replay-sealed", *STORE_REFUSALS),
        cost=20,
    )
    async def log(self, challenge: str) -> Response:
        """Return the log of a challenge whose deals are public. With the replays of its heats, it proves the table."""
        return Response(await self._challenges.log(challenge), media_type=MEDIA["json"])
