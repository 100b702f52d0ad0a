"""Clubs: founding them, and what members see of them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from msgspec import msgpack
from msgspec.structs import replace

from samedeal import codec
from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal.race.club import Club, ClubHeader, ClubLeft, Dissolved, Removed, Revoked
from samedeal.race.due import EMPTY_MS
from samedeal.race.server_bots import SERVER_BOTS, server_bot_id
from samedeal.replays.log_files import ClubLog
from samedeal.scores.club_scores import ClubScores, Ratings
from samedeal.wire.documents import (
    ClubChallenge,
    ClubHistory,
    ClubInvitation,
    ClubList,
    ClubMember,
    ClubPage,
    ListedClub,
)
from samedeal_server.live.registry import Registry
from samedeal_server.store.club_logs import KnownClub, Rated, check_owner
from samedeal_server.store.guest_tokens import Guest, digest
from samedeal_server.work.pool import JobFailed

logger = logging.getLogger(__name__)

SHOWN: Final = 100
"""The maximum number of open races and challenges on a page."""
SHARE: Final = 100
LONGEST_S: Final = 60.0
"""How long ratings are kept in spite of new results: SHARE times as long as computing them takes, at most LONGEST_S."""
WAIT_S: Final = 1.0
"""How long a request waits for new ratings; after that, it gets those before (s)."""
BOTS: Final = {server_bot_id(name): name for name in SERVER_BOTS}


class Clubs:
    """The clubs of a server. All methods raise Refused, and Refused("not-found") for an unknown club."""

    def __init__(self, registry: Registry, check_name: Callable[[str], object], signing_key: bytes) -> None:
        """`check_name` raises Refused for a name that nobody may have."""
        self._registry, self._check_name, self._signing_key = registry, check_name, signing_key
        self._logs = registry.clubs

    async def found(self, name: str, founder: Guest) -> str:
        """Found a club with an invitation, and return its id."""
        self._registry.check_open()
        self._check_name(name)
        await self._logs.check_more(founder.player)
        while True:
            club_id, at = await self._registry.opener.new_id(unlisted=True), self._registry.clock.now()
            header = ClubHeader(club=club_id, founder=founder.player, opened_at=at)
            if await self._logs.create(header, founder, normalised(name)):
                await self._logs.invite(club_id, founder)
                return club_id

    async def all(self, guest: Guest) -> ClubList:
        """Return the clubs of a guest."""
        found = [
            ListedClub(club.id, await self._logs.name(club.id), len(club.members))
            for club in await self._logs.clubs_of(guest.player)
        ]
        return ClubList(sorted(found, key=lambda club: (club.name.casefold(), club.club)))

    async def page(self, club_id: str, guest: Guest | None, base: str, token: str | None = None) -> ClubPage:
        """Return what a guest may see of a club: all of it as a member, its name and members with an invitation."""
        club, link = (await self._logs.get(club_id)).state, f"{base}/g/{club_id}"
        member = guest if guest and guest.player in club.members else None
        if not member and not (token and digest(token) == club.invitation):
            raise Refused("not-allowed", "Only members can see this club. Ask one of them for an invitation.")
        names = await self._logs.names(club_id)
        if member and names.get(member.player) != member.name:
            await self._logs.remember(club_id, member)
            names[member.player] = member.name
        name = await self._logs.name(club_id)
        members = [ClubMember(player, names.get(player, "")) for player in club.members]
        page = ClubPage(club=club_id, link=link, name=name, members=members, is_member=member is not None)
        if not member:
            return page
        opened = [*club.races][: -SHOWN - 1 : -1]
        races = await self._registry.live.summaries(opened)
        since = self._registry.clock.now() - EMPTY_MS
        invitation = await self._logs.invitation(club)
        others = [race for race, summary in zip(opened, races, strict=True) if summary is None]
        return replace(
            page,
            dissolved=club.dissolved,
            invitation=invitation and f"{link}#{invitation}",
            races=[race for race in races if race and (race.racers or race.opened_at > since)],
            challenges=await self._challenges(others, member),
            names=names | BOTS,
            n=club.n,
        )

    async def rename(self, club_id: str, guest: Guest, name: str) -> None:
        """Change the name of a club as its owner."""
        check_owner(await self._club(club_id), guest)
        self._check_name(name)
        await self._logs.rename(club_id, normalised(name))

    async def invitation(self, club_id: str, guest: Guest, base: str, client: str) -> ClubInvitation:
        """Return the invitation to a club for a member."""
        club = await self._logs.check_member(club_id, guest.player)
        if (token := await self._logs.invitation(club)) is None:
            raise Refused("not-found", "The club has no invitation.")
        link = f"{base}/g/{club_id}#{token}"
        qr = await self._registry.renderings.render(client, "qr", link.encode())
        return ClubInvitation(link, codec.decoder("json", tuple[str, ...]).decode(qr))

    async def invite(self, club_id: str, guest: Guest) -> None:
        """Replace the invitation of a club as its owner."""
        await self._logs.invite(club_id, guest)

    async def revoke(self, club_id: str, guest: Guest) -> None:
        """Revoke the invitation of a club as its owner."""
        await self._change(club_id, guest, Revoked())

    async def join(self, club_id: str, guest: Guest, token: str) -> None:
        """Make a guest with an invitation a member. Safe to repeat."""
        await self._logs.join(club_id, guest, token)

    async def remove(self, club_id: str, guest: Guest, player: str) -> None:
        """Leave a club, or remove somebody else as its owner. Raises Refused("not-found") for others than members."""
        if player == guest.player:
            await self._logs.append(club_id, lambda _: ClubLeft(player=player))
        else:
            await self._change(club_id, guest, Removed(player=player))

    async def dissolve(self, club_id: str, guest: Guest) -> None:
        """Dissolve a club as its owner. Safe to repeat."""
        if not (await self._club(club_id)).dissolved:
            await self._change(club_id, guest, Dissolved())

    async def scores(self, club_id: str, guest: Guest, client: str) -> ClubScores:
        """Return the tables and ratings of a club for a member."""
        known, clock = await self._known(club_id, guest), asyncio.get_running_loop().time
        until_s = clock() + WAIT_S
        while True:
            async with known.lock:
                n, tables = known.tally.n, known.tally.tables()
                if known.rated.n != n and clock() >= known.rated.next_at_s and known.rating is None:
                    known.rating = asyncio.create_task(
                        self._rate(known, n, msgpack.encode([known.tally.games]), client)
                    )
            if not known.rating or not (await asyncio.wait({known.rating}, timeout=until_s - clock()))[0]:
                return ClubScores(club=club_id, n=n, tables=tables, rated=known.rated.n, ratings=known.rated.ratings)

    async def history(self, club_id: str, guest: Guest, client: str) -> ClubHistory:
        """Return how the ratings in a club have changed, for a member."""
        known = await self._known(club_id, guest)
        async with known.lock:
            weeks = {end: msgpack.encode([games]) for end, games in known.tally.weeks if end not in known.weeks}
        for end, games in weeks.items():  # a job for each, because jobs have a limit of time
            (known.weeks[end],), _ = await self._ratings(client, games)
        ends = [end for end, _ in known.tally.weeks if end in known.weeks]
        known.weeks = {end: known.weeks[end] for end in ends}
        strengths = dict[str, dict[str, list[float | None]]]()
        for at, end in enumerate(ends):
            for game, rows in known.weeks[end].items():
                for row in rows:
                    line = strengths.setdefault(game, {}).setdefault(row.player, [None] * len(ends))
                    line[at] = row.strength
        return ClubHistory(ends, strengths)

    async def log(self, club_id: str, guest: Guest) -> bytes:
        """Return the log of a club as JSON for a member."""
        club = (await self._known(club_id, guest)).state
        entries = await self._logs.entries(club_id, club.n)
        return await asyncio.to_thread(lambda: codec.encode(ClubLog.of(club, entries, self._signing_key), "json"))

    async def _club(self, club_id: str) -> Club:
        return (await self._logs.get(club_id)).state

    async def _known(self, club_id: str, guest: Guest) -> KnownClub:
        """Return a club. Raises Refused("not-allowed") for others than its members."""
        await self._logs.check_member(club_id, guest.player)
        return await self._logs.get(club_id)

    async def _change(self, club_id: str, guest: Guest, event: Any) -> None:
        """Log an event as the owner."""

        def owned(club: Club) -> Any:
            check_owner(club, guest)
            return event

        await self._logs.append(club_id, owned)

    async def _rate(self, known: KnownClub, n: int, games: bytes, client: str) -> None:
        """Compute the ratings of a club after entry `n`."""
        try:
            (ratings,), took_s = await self._ratings(client, games)
            known.rated = Rated(n, ratings, asyncio.get_running_loop().time() + min(LONGEST_S, SHARE * took_s))
        except (Refused, JobFailed) as error:
            logger.warning("the ratings cannot be computed: %s", error)
            known.rated = replace(known.rated, next_at_s=asyncio.get_running_loop().time() + LONGEST_S)
        finally:
            known.rating = None

    async def _ratings(self, client: str, games: bytes) -> tuple[list[Ratings], float]:
        """Return the ratings for each of some encoded ``Games``, and how long computing them took (s)."""
        answer = await self._registry.renderings.render(client, "ratings", games)
        return codec.decoder("msgpack", tuple[list[Ratings], float]).decode(answer)

    async def _challenges(self, ids: Sequence[str], guest: Guest) -> list[ClubChallenge]:
        """Return those of some ids that are challenges, earliest deadline first."""
        found = list[ClubChallenge]()
        for challenge_id in ids:
            with suppress(Refused):  # it is a race that has just ended, or a challenge that is not open yet
                challenge = await self._registry.challenges.get(challenge_id)
                header, host = challenge.header, await self._registry.challenges.host(challenge_id)
                field = await self._registry.fields.results(header.commitment, len(header.deals))
                found.append(
                    ClubChallenge(
                        challenge=challenge_id,
                        by=host.name if host else None,
                        games=[deal.game for deal in header.deals],
                        until=header.until,
                        names=field.names,
                        played=all(await self._registry.challenges.first_races(challenge, guest.player)),
                    )
                )
        return sorted(found, key=lambda challenge: challenge.until)
