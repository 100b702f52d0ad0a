"""Clubs in the store: their logs, names, and who is in which.

A race is opened in the log before it exists, and finished or cancelled there before it is removed from the live races.
What a dead process leaves behind in between is settled when the club is next used.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_urlsafe
from typing import Final

from msgspec import Struct, json

from samedeal.errors import Refused
from samedeal.race.club import (
    AnyClubEvent,
    Club,
    ClubCancelled,
    ClubEntry,
    ClubFinished,
    ClubHeader,
    ClubJoined,
    ClubOpened,
    Erased,
    Invited,
    Places,
)
from samedeal.race.events import ClubLink, Header
from samedeal.race.race import Race
from samedeal.scores.club_scores import ClubTally, RatingRow, Ratings, tally_of
from samedeal.scores.field import FieldRace
from samedeal.scores.results import RaceResult
from samedeal_server.net.limits import too_many
from samedeal_server.store import stored_replays
from samedeal_server.store.chained_logs import ChainedLogs
from samedeal_server.store.connection import texts
from samedeal_server.store.folded_logs import FoldedLogs, Known
from samedeal_server.store.guest_tokens import Guest, digest
from samedeal_server.store.race_store import RaceStore

KEPT: Final = 100
"""How many entries of a log are kept in memory, in case the store loses its last ones."""
MAX_CLUBS: Final = 50
"""The maximum number of clubs that a guest can found or join."""
MAX_JOINS: Final = 20
"""How often a guest can join a club: each time, its log grows."""
ABANDONED_MS: Final = 60_000
"""How long after its entry a race that does not exist is taken for abandoned (ms)."""


class _Logs(ChainedLogs[ClubEntry]):
    kind, entry_type = "club", ClubEntry


class Rated(Struct, frozen=True):
    """The last ratings that were computed, after entry `n`; others are computed from `next_at_s` on."""

    n: int = 0
    ratings: Mapping[str, tuple[RatingRow, ...]] = {}
    next_at_s: float = 0.0


class KnownClub(Known[Club, ClubEntry]):
    """What this process has read of a club."""

    tally: ClubTally
    rated: Rated = Rated()
    rating: asyncio.Task[None] | None = None
    """Computes other ratings."""
    weeks: dict[int, Ratings] = {}
    """The ratings at the ends of weeks that are over."""

    def extend(self, entries: list[ClubEntry]) -> None:
        self.state, _ = tally_of(self.state, entries, self.tally)
        self.entries = [*self.entries, *entries][-KEPT:]


class ClubLogs(FoldedLogs[Club, ClubEntry, KnownClub]):
    """The clubs of a server. All methods raise Refused("store-unavailable")."""

    not_found, header_type = "This club was not found.", ClubHeader

    def __init__(self, races: RaceStore) -> None:
        super().__init__(_Logs(races.log.commits), races.clock)
        self._archive, self._live = races.archive, races.live

    def _first(self, header: ClubHeader) -> KnownClub:
        return KnownClub(Club.opened(header), [], asyncio.Lock(), ClubTally())

    async def create(self, header: ClubHeader, founder: Guest, name: str) -> bool:
        """Create a club and return whether its id was free."""
        await self.remember(header.club, founder)
        return await self._logs.create(header.club, header, Club.opened(header).digest, name=name)

    async def get(self, club_id: str) -> KnownClub:
        """Return a club with its scores as it is now. Hold its lock while reading scores. Raises Refused("not-found").

        Races that a dead process left behind are settled.
        """
        known = await self._read(club_id)
        since = self._clock.now() - ABANDONED_MS
        abandoned = [race for race, opened in known.state.races.items() if opened.at < since]
        if abandoned:
            live = await self._live.live(abandoned)
            others = [race for race in abandoned if race not in live]
            exist = await self._store.ask_all([("EXISTS", f"challenge:{{{race}}}:head") for race in others])
            for race, is_challenge in zip(others, exist, strict=True):
                if not is_challenge:
                    await self._settle_abandoned(club_id, race)
            known = await self._read(club_id)
        return known

    async def entries(self, club_id: str, last: int) -> tuple[ClubEntry, ...]:
        """Return the log of a club up to entry `last`."""
        return tuple(await self._logs.read(club_id))[:last]

    async def name(self, club_id: str) -> str:
        """Return the name of a club."""
        return await self._logs.field(club_id, "name", str) or ""

    async def rename(self, club_id: str, name: str) -> None:
        """Change the name of a club."""
        await self._store.retry("HSET", self._logs.key(club_id, "head"), "name", json.encode(name))

    async def invitation(self, club: Club) -> str | None:
        """Return the token of the invitation, if there is one."""
        token = await self._logs.field(club.id, "invitation", str)
        return token if token and digest(token) == club.invitation else None

    async def invite(self, club_id: str, owner: Guest) -> None:
        """Replace the invitation. Raises Refused("not-allowed") for others than the owner."""
        token = token_urlsafe(12)

        def inviting(club: Club) -> Invited:
            check_owner(club, owner)
            return Invited(digest=digest(token))

        await self.append(club_id, inviting)
        await self._store.retry("HSET", self._logs.key(club_id, "head"), "invitation", json.encode(token))

    async def join(self, club_id: str, guest: Guest, token: str) -> None:
        """Make a guest a member. Safe to repeat. Raises Refused."""
        joined = ClubJoined(player=guest.player, digest=digest(token))
        await self.check_more(guest.player, club_id)
        count = "HINCRBY", self._logs.key(club_id, "head"), f"joined:{guest.player}", 1
        if await self.has(club_id) and int(await self._store.ask(*count)) > MAX_JOINS:
            raise too_many("clubs", "You have joined this club too often.")
        await self._store.retry("SADD", _clubs_key(guest.player), club_id)
        await self.append(club_id, lambda club: None if guest.player in club.members else joined)
        await self.remember(club_id, guest)

    async def check_more(self, player: str, club_id: str = "") -> None:
        """Raise Refused("too-many") for a player who has been in too many clubs to enter this or a new one."""
        ever = await self._ever(player)
        if len(ever) >= MAX_CLUBS and club_id not in ever:
            raise too_many("clubs", f"You have been in {MAX_CLUBS} clubs, which is the limit.")

    async def remember(self, club_id: str, guest: Guest) -> None:
        """Remember the name of somebody who is or was in a club, for its tables."""
        await self._store.retry("HSET", _names_key(club_id), guest.player, guest.name)
        await self._store.retry("SADD", _clubs_key(guest.player), club_id)

    async def names(self, club_id: str) -> dict[str, str]:
        """Return the last known names of all who are or were in a club, by player."""
        found = await self._store.ask("HGETALL", _names_key(club_id))
        return {player.decode(): name.decode() for player, name in found.items()}

    async def clubs_of(self, player: str) -> list[Club]:
        """Return the clubs in which a player is a member."""
        clubs = list[Club]()
        for club_id in await self._ever(player):
            with _if_found():
                clubs.append((await self._read(club_id)).state)
        return [club for club in clubs if player in club.members]

    async def erase(self, player: str) -> None:
        """Remove a player who is being erased from all clubs, and forget their name. Safe to repeat."""
        for club_id in await self._ever(player):
            with _if_found():
                await self.append(club_id, lambda _: Erased(player=player))
            await self._store.retry("HDEL", _names_key(club_id), player)
        await self._store.retry("DEL", _clubs_key(player))

    async def check_member(self, club_id: str, player: str) -> Club:
        """Return a club. Raises Refused("not-allowed") for others than its members."""
        club = (await self._read(club_id)).state
        _check_member(club, player)
        return club

    async def open(self, club_id: str, player: str, race: str, commitment: str, games: tuple[str, ...]) -> ClubLink:
        """Log that a member opens a race or a challenge, and return what its header has to state. Raises Refused."""
        event = ClubOpened(race=race, commitment=commitment, games=games)

        def opening(club: Club) -> ClubOpened:
            _check_member(club, player)
            return event

        await self.get(club_id)
        before, _ = await self.append(club_id, opening)
        return before.link

    async def settle(
        self, club_id: str, race: str, digest: str | None, places: Sequence[Places] = (), ended_at: int = 0
    ) -> None:
        """Log the end of a race or a challenge: the last digest of its log with the places on each deal, or None if it
        was cancelled. Safe to repeat.
        """
        end: AnyClubEvent = ClubCancelled(race=race)
        if digest is not None:
            end = ClubFinished(race=race, digest=digest, places=tuple(places))
        with _if_found():
            await self.append(club_id, lambda club: end if race in club.races else None, ended_at)

    async def cancel(self, header: Header) -> None:
        """Log that nobody took part in a race, if it is a club's. Safe to repeat."""
        if header.club:
            await self.settle(header.club.club, header.race, None)

    async def _settle_abandoned(self, club_id: str, race: str) -> None:
        """Log the end of a race that no process runs any more."""
        data, places, ended_at = await self._archive.data(race), tuple[Places, ...](), 0
        last = None if data is None else await asyncio.to_thread(stored_replays.dealt_digest, data)
        if data and last and not stored_replays.is_tombstone(data) and (found := stored_replays.summary(data)):
            result, ended_at = RaceResult.of(found.header, found.ended_at, found.racers), found.ended_at
            places = () if found.header.head_start else ({racer.player: racer.place for racer in result.racers},)
        await self.settle(club_id, race, last, places, ended_at)

    async def _ever(self, player: str) -> list[str]:
        """Return the clubs in which a player is or was a member."""
        return sorted(texts(await self._store.ask("SMEMBERS", _clubs_key(player))))


def places_of(race: Race) -> tuple[Places, ...]:
    """Return the places in a race that is over, as its club logs them."""
    if race.header.head_start:
        return ()
    return ({player: standing.place for player, standing in FieldRace.of(race).racers},)


def check_owner(club: Club, guest: Guest) -> None:
    """Raise Refused("not-allowed") for others than the owner."""
    if club.members[:1] != (guest.player,):
        raise Refused("not-allowed", "Only the owner of the club can do this.")


def _check_member(club: Club, player: str) -> None:
    if player not in club.members:
        raise Refused("not-allowed", "Only members of the club can do this.")


@contextmanager
def _if_found() -> Iterator[None]:
    """Ignore that a club does not exist: the store may have lost it, and everything else must go on."""
    try:
        yield
    except Refused as refused:
        if refused.code != "not-found":
            raise


def _names_key(club_id: str) -> str:
    return f"club:{{{club_id}}}:names"


def _clubs_key(player: str) -> str:
    return f"clubs:of:{player}"
