"""Administration: who is an administrator, and what administrators can do about players, races and reports."""

import hmac
from collections.abc import Callable
from typing import Annotated, Final

from msgspec import Meta, Struct
from starlette.requests import Request

from samedeal.errors import Refused
from samedeal.race.race import Race, Stage
from samedeal.race.server_bots import SERVER_BOT_IDS
from samedeal_server.api.endpoint import CREDENTIAL, STORE_REFUSALS, V1, Credential, route
from samedeal_server.live.hosting import expel
from samedeal_server.live.registry import Registry
from samedeal_server.net.limits import RateLimits
from samedeal_server.net.requests import bearer_token, client_network
from samedeal_server.settings import Settings
from samedeal_server.store.admin_log import Action, AdminLog, Logged, LogPage
from samedeal_server.store.bans import PLAYER, Ban, subject_of
from samedeal_server.store.erasure import Erasure
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.player_reports import Report, ReportPage, Reports
from samedeal_server.store.revocations import Revocations


def admin_check(rate_limits: RateLimits, settings: Settings) -> Callable[[Request], None]:
    """Return a function that checks that a request comes from the admin socket or has the admin key.

    It raises Refused("not-found") if no key is set, Refused("bad-token") for another key, Refused("too-many").
    """

    def check(request: Request) -> None:
        if CREDENTIAL in request.scope:
            return
        if settings.admin_key is None:
            raise Refused("not-found", "This server has no admin key: use its admin socket.")
        given = (bearer_token(request) or "").encode()
        if not hmac.compare_digest(given, settings.admin_key.encode()):
            rate_limits.wrong_tokens.take(client_network(request))
            raise Refused("bad-token", "The admin key is missing or wrong.")
        request.scope[CREDENTIAL] = "key"

    return check


ADMIN: Final = f"{V1}/admin"
"""The prefix of all endpoints for administrators. They are not part of the public API."""
BAN_S: Final = 7 * 86_400
"""How long a ban lasts unless the request says otherwise."""
MAX_BAN_S: Final = 10 * 365 * 86_400

Reason = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]*$")]


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


class ReportList(Struct, frozen=True):
    """Open reports, newest first."""

    reports: list[Report]


class Settle(Because, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A report to settle, and what was done about it."""

    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{12}$(?!\n)")]


class Erase(Because, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A player to erase, or the next step of erasing one. The reason must not contain what is to be erased."""

    player: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
    """The public id."""
    after: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """`next` of the step before; None for the first step."""


class Erased(Struct, frozen=True):
    """A step of erasing a player."""

    player: str
    tokens: int
    """How many devices were logged out."""
    withdrawn: int
    """How many replays were withdrawn."""
    unreadable: int
    """How many replays this version cannot read, and therefore left as they are."""
    next: str | None
    """The next step, which has to be requested; None if the player is erased."""


class ErasedPlayers(Struct, frozen=True):
    """The public ids of all players who were erased, the first one first."""

    players: list[str]


class Administration:
    """The endpoints for administrators. Changes are logged first, and take effect when a process reads the log."""

    def __init__(
        self,
        log: AdminLog,
        registry: Registry,
        guests: Guests,
        revocations: Revocations,
        reports: Reports,
        erasure: Erasure,
    ) -> None:
        self._log, self._registry, self._guests = log, registry, guests
        self._revocations, self._reports, self._erasure = revocations, reports, erasure

    @route("GET", f"{ADMIN}/log", refuses=STORE_REFUSALS, cost=5)
    async def log(self, query: LogPage) -> LogEntries:
        """Return what administrators did, newest first."""
        return LogEntries(await self._log.page(query))

    @route("GET", f"{ADMIN}/races", refuses=STORE_REFUSALS, cost=50)
    async def races(self, query: RacePage) -> LiveRaceList:
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

    @route("POST", f"{ADMIN}/races/{{race}}/{{change}}", refuses=("not-found", "race-over", *STORE_REFUSALS), cost=20)
    async def change_race(self, race: str, change: str, body: Because, admin: Credential) -> Action:
        """Close a race that is not over, so that all its racers leave or resign. Hide or unhide a race or challenge."""
        if change not in ("close", "hide", "unhide"):
            raise Refused("not-found", "The changes of a race are close, hide and unhide.")
        if change == "close" or not await self._registry.challenges.has(race):
            room = await self._registry.room(race)
            if change == "close" and room.race.closed:
                raise Refused("race-over")
        return await self._append(admin, change, race, body.reason)

    @route("POST", f"{ADMIN}/kick", refuses=STORE_REFUSALS, cost=5)
    async def kick(self, body: About, admin: Credential) -> Action:
        """Close the connections of a player, name or network. Before the countdown, they lose their seats."""
        return await self._append(admin, "kick", subject_of(body.subject), body.reason)

    @route("GET", f"{ADMIN}/bans", refuses=STORE_REFUSALS, cost=5)
    async def bans(self) -> BanList:
        """Return the bans in force."""
        await self._log.update()
        return BanList(sorted(self._log.bans, key=lambda ban: ban.until))

    @route("POST", f"{ADMIN}/bans", refuses=STORE_REFUSALS, cost=5)
    async def ban(self, body: NewBan, admin: Credential) -> Action:
        """Ban a player, name or network, and close their connections. It replaces an earlier ban of the same."""
        now = self._registry.clock.now()
        if body.seconds is not None and body.until is not None:
            raise Refused("bad-request", "A ban has either `seconds` or `until`.")
        until = body.until if body.until is not None else now + 1000 * (body.seconds or BAN_S)
        if not now < until <= now + 1000 * MAX_BAN_S:
            raise Refused("bad-request", "A ban must end in the next ten years.")
        action = await self._append(admin, "ban", subject_of(body.subject), body.reason, until)
        if not action.subject.startswith("address:"):  # nobody knows the addresses of those who are not connected
            await self._expel(action.subject)
        return action

    @route("POST", f"{ADMIN}/unban", refuses=("not-found", *STORE_REFUSALS), cost=5)
    async def unban(self, body: About, admin: Credential) -> Action:
        """Lift a ban."""
        subject = subject_of(body.subject)
        await self._log.update()
        if not any(ban.subject == subject for ban in self._log.bans):
            raise Refused("not-found", f"No ban of {subject} is in force.")
        return await self._append(admin, "unban", subject, body.reason)

    @route("POST", f"{ADMIN}/revoke", refuses=STORE_REFUSALS, cost=50)
    async def revoke(self, body: About, admin: Credential) -> Revoked:
        """Revoke all tokens of a player, by public id, and close their connections."""
        player = body.subject.removeprefix("player:")
        if not PLAYER.fullmatch(player):
            raise Refused("bad-request", "The public id of a player has 16 hexadecimal digits.")
        await self._append(admin, "revoke", f"player:{player}", body.reason)
        digests = await self._guests.revoke_all(player)
        await self._revocations.announce(*digests)
        return Revoked(len(digests))

    @route("GET", f"{ADMIN}/reports", refuses=STORE_REFUSALS, cost=5)
    async def reports(self, query: ReportPage) -> ReportList:
        """List open reports, newest first."""
        return ReportList(await self._reports.page(query))

    @route("POST", f"{ADMIN}/settle", refuses=("not-found", *STORE_REFUSALS), cost=5)
    async def settle(self, body: Settle, admin: Credential) -> Report:
        """Remove a report that needs no more attention, and return it."""
        report = await self._reports.get(body.id)
        await self._append(admin, "settle", report.id, body.reason)
        await self._reports.remove(report.id)
        return report

    @route("POST", f"{ADMIN}/erase", refuses=("not-allowed", *STORE_REFUSALS), cost=20)
    async def erase(self, body: Erase, admin: Credential) -> Erased:
        """Erase a player in steps: withdraw the replays with the player's name. Safe to repeat.

        When `erased` is logged, every process forgets the replays.
        """
        player, tokens = body.player, 0
        if player in SERVER_BOT_IDS:
            raise Refused("not-allowed", "Server bots are not people, and are not erased.")
        if body.after is None:
            await self._append(admin, "erase", player, body.reason)
            tokens = await self._erasure.start(player, self._registry.clock.now())
            await self._expel(f"player:{player}")  # after the logout: nobody takes the seat again
        step = await self._erasure.step(player, body.after)
        if step.next is None:
            tokens += await self._erasure.log_out(player)  # a login code may have been in use at the start
            await self._append(admin, "erased", player)
        return Erased(player, tokens, step.withdrawn, step.unreadable, step.next)

    @route("GET", f"{ADMIN}/erased", refuses=STORE_REFUSALS, cost=5)
    async def erased(self) -> ErasedPlayers:
        """Return the players who were erased, to erase them again after a backup was restored."""
        return ErasedPlayers(await self._registry.archive.withdrawals.erased())

    async def _expel(self, subject: str) -> None:
        """Expel players from all live races, also those that no process has in memory."""
        for race_id in await self._registry.live.all():
            try:
                expel(await self._registry.room(race_id), subject)
            except Refused as refused:  # it has ended meanwhile, or cannot be read
                if refused.code == "store-unavailable":
                    raise

    async def _append(
        self, admin: Credential, command: str, subject: str, reason: str = "", until: int | None = None
    ) -> Action:
        action = Action(admin, command, subject, reason, until)
        await self._log.log(action)
        return action
