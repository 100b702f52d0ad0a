"""Administration: who is an administrator, what administrators can do, and the log of what they did."""

import hmac
from typing import Annotated, Final, Literal, TypeVar

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.types import Scope

from samedeal.errors import Refused
from samedeal.race.race import Race, Stage
from samedeal_server.api.endpoint import V1, BodySpec, route
from samedeal_server.live.registry import Registry
from samedeal_server.net.limits import RateLimits
from samedeal_server.net.requests import bearer_token, client_network, read_json
from samedeal_server.settings import Settings
from samedeal_server.store.admin_log import Action, AdminLog, Logged, LogPage
from samedeal_server.store.bans import PLAYER, Ban, subject_of
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.revocations import Revocations

Credential = Literal["socket", "key"]
"""How an administrator is identified."""
CREDENTIAL: Final = "samedeal.credential"
"""The name in the ASGI scope of an administrator's Credential."""


def from_socket(scope: Scope) -> Scope:
    """Return the scope of a request that arrived on the admin socket, which only the server's user can open."""
    return {**scope, CREDENTIAL: "socket"}


def credential(request: Request) -> Credential:
    """Return how the administrator of a checked request is identified."""
    found: Credential = request.scope[CREDENTIAL]
    return found


class AdminCheck:
    """Checks that a request comes from the admin socket or has the admin key."""

    def __init__(self, rate_limits: RateLimits, settings: Settings) -> None:
        self._wrong, self._key = rate_limits.wrong_tokens, settings.admin_key

    def __call__(self, request: Request) -> None:
        """Raise Refused("not-found") if no key is set, Refused("bad-token") for another key, Refused("too-many")."""
        if CREDENTIAL in request.scope:
            return
        if self._key is None:
            raise Refused("not-found", "This server has no admin key: use its admin socket.")
        given = (bearer_token(request) or "").encode()
        if not hmac.compare_digest(given, self._key.encode()):
            self._wrong.take(client_network(request))
            raise Refused("bad-token", "The admin key is missing or wrong.")
        request.scope[CREDENTIAL] = "key"


ADMIN: Final = f"{V1}/admin"
"""The prefix of all endpoints for administrators. They are not part of the public API."""
MAX_BODY_BYTES: Final = 4096
BAN_S: Final = 7 * 86_400
"""How long a ban lasts unless the request says otherwise."""
MAX_BAN_S: Final = 10 * 365 * 86_400

Reason = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]*$")]
T = TypeVar("T", bound=Struct)


class RacePage(Struct, frozen=True, forbid_unknown_fields=True):
    """Which live races to return."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str = ""
    """Only races whose ids come after this one in alphabetical order: `next` of the previous page."""


class Player(Struct, frozen=True):
    """A player with a seat."""

    seat: int
    player: str
    name: str
    bot: bool


class LiveRace(Struct, frozen=True):
    """A race that is not over, with everything that spectators could see about its players, but no cards."""

    race: str
    game: str
    stage: Stage
    opened_at: int
    unlisted: bool
    hidden: bool
    closed: bool
    """Whether an administrator has closed it. It can be open for some time, but nobody can join."""
    players: list[Player]


class LiveRaceList(Struct, frozen=True):
    """Live races in alphabetical order of their ids."""

    races: list[LiveRace]
    next: str | None
    """`after` of the next page; None at the end."""


class LogEntries(Struct, frozen=True):
    """Entries of the admin log, newest first."""

    entries: list[Logged]


class BanList(Struct, frozen=True):
    """The bans in force, those that end first at the start."""

    bans: list[Ban]


class Because(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a change is made."""

    reason: Reason = ""


class About(Because, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whom a change affects."""

    subject: Annotated[str, Meta(min_length=1, max_length=64)]
    """A public id, a name, or an IP address or network; see ``subject_of``."""


class NewBan(About, frozen=True, forbid_unknown_fields=True):
    """A ban, for some time from now or until some time, by default for a week."""

    seconds: Annotated[int, Meta(ge=1, le=MAX_BAN_S)] | None = None
    until: int | None = None
    """In ms since 1970-01-01 UTC."""


class Revoked(Struct, frozen=True):
    """How many tokens were revoked."""

    tokens: int


class Administration:
    """The endpoints for administrators. Changes are logged first, and take effect when a process reads the log."""

    def __init__(self, log: AdminLog, registry: Registry, guests: Guests, revocations: Revocations) -> None:
        self._log, self._registry, self._guests, self._revocations = log, registry, guests, revocations

    @route("GET", f"{ADMIN}/log", refuses=("store-unavailable",), cost=5)
    async def log(self, request: Request, query: LogPage) -> LogEntries:
        """Return what administrators did, newest first."""
        return LogEntries(await self._log.page(query))

    @route("GET", f"{ADMIN}/races", refuses=("store-unavailable",), cost=50)
    async def races(self, request: Request, query: RacePage) -> LiveRaceList:
        """Return the live races, unlisted and hidden ones included."""
        race_ids = sorted(race_id for race_id in await self._registry.live.all() if race_id > query.after)
        page, races = race_ids[: query.limit], list[LiveRace]()
        for race_id in page:
            try:
                races.append(self._live_race((await self._registry.room(race_id)).race))
            except Refused as refused:
                if refused.code == "store-unavailable":
                    raise
                # It has ended or cannot be read.
        return LiveRaceList(races, page[-1] if len(race_ids) > len(page) else None)

    def _live_race(self, race: Race) -> LiveRace:
        return LiveRace(
            race=race.id,
            game=race.header.game,
            stage=race.stage,
            opened_at=race.header.opened_at,
            unlisted=race.options.unlisted,
            hidden=race.id in self._log.hidden,
            closed=race.id in self._log.closed,
            players=[Player(seat.number, seat.player, seat.name, seat.bot) for seat in race.roster],
        )

    @route(
        "POST",
        f"{ADMIN}/races/{{race}}/{{change}}",
        body=BodySpec(Because),
        refuses=("not-found", "race-over", "store-unavailable"),
        cost=20,
    )
    async def change_race(self, request: Request) -> Action:
        """Close a race that is not over, so that all its racers leave or resign, or hide or unhide any race."""
        change, race_id = request.path_params["change"], request.path_params["race"]
        if change not in ("close", "hide", "unhide"):
            raise Refused("not-found", "The changes of a race are close, hide and unhide.")
        reason = (await self._read(request, Because)).reason
        room = await self._registry.room(race_id)
        if change == "close" and room.race.closed:
            raise Refused("race-over")
        return await self._append(request, change, race_id, reason)

    @route("POST", f"{ADMIN}/kick", body=BodySpec(About), refuses=("store-unavailable",), cost=5)
    async def kick(self, request: Request) -> Action:
        """Close the connections of a player, name or network. Before the countdown, they lose their seats."""
        about = await self._read(request, About)
        return await self._append(request, "kick", subject_of(about.subject), about.reason)

    @route("GET", f"{ADMIN}/bans", refuses=("store-unavailable",), cost=5)
    async def bans(self, request: Request) -> BanList:
        """Return the bans in force."""
        await self._log.update()
        return BanList(sorted(self._log.bans, key=lambda ban: ban.until))

    @route("POST", f"{ADMIN}/bans", body=BodySpec(NewBan), refuses=("store-unavailable",), cost=5)
    async def ban(self, request: Request) -> Action:
        """Ban a player, name or network, and close their connections. It replaces an earlier ban of the same."""
        ban, now = await self._read(request, NewBan), self._registry.clock.now()
        if ban.seconds is not None and ban.until is not None:
            raise Refused("bad-request", "A ban has either `seconds` or `until`.")
        until = ban.until if ban.until is not None else now + 1000 * (ban.seconds or BAN_S)
        if not now < until <= now + 1000 * MAX_BAN_S:
            raise Refused("bad-request", "A ban must end in the next ten years.")
        return await self._append(request, "ban", subject_of(ban.subject), ban.reason, until)

    @route("POST", f"{ADMIN}/unban", body=BodySpec(About), refuses=("not-found", "store-unavailable"), cost=5)
    async def unban(self, request: Request) -> Action:
        """Lift a ban."""
        about = await self._read(request, About)
        subject = subject_of(about.subject)
        await self._log.update()
        if not any(ban.subject == subject for ban in self._log.bans):
            raise Refused("not-found", f"No ban of {subject} is in force.")
        return await self._append(request, "unban", subject, about.reason)

    @route("POST", f"{ADMIN}/revoke", body=BodySpec(About), refuses=("store-unavailable",), cost=50)
    async def revoke(self, request: Request) -> Revoked:
        """Revoke all tokens of a player, by public id, and close their connections."""
        about = await self._read(request, About)
        player = about.subject.removeprefix("player:")
        if not PLAYER.fullmatch(player):
            raise Refused("bad-request", "The public id of a player has 16 hexadecimal digits.")
        await self._append(request, "revoke", f"player:{player}", about.reason)
        digests = await self._guests.revoke_all(player)
        await self._revocations.announce(*digests)
        return Revoked(len(digests))

    async def _read(self, request: Request, kind: type[T]) -> T:
        return await read_json(request, kind, MAX_BODY_BYTES)

    async def _append(
        self, request: Request, command: str, subject: str, reason: str, until: int | None = None
    ) -> Action:
        action = Action(credential(request), command, subject, reason, until)
        await self._log.append(action)
        return action
