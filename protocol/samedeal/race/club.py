"""Clubs: private groups whose races are logged before they are dealt, as folds over their logs.

The log names players by their ids only, so that it still holds after a member was erased. Everything that counts in the
tables and ratings is in it, and the replays prove that it is right.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, Self, assert_never

from msgspec import Meta

from samedeal.digest_chain import first_digest
from samedeal.errors import Refused
from samedeal.race.chained_log import ChainedLog
from samedeal.race.events import (
    MAX_DEALS,
    ClubLink,
    Event,
    Hex32,
    LogEntry,
    RaceId,
    Record,
    Time,
    header_bytes,
)
from samedeal.values import replace

Member = Annotated[str, Meta(pattern=r"^[!-~]{1,64}$(?!\n)")]
"""The id of a player. Ids in printable ASCII have the same order in every language."""
Slug = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,63}$(?!\n)")]
"""The slug of a game."""
KEY: Final = bytes(32)
"""The key of the digests, which is public: members may read the whole log at any time."""
MAX_MEMBERS: Final = 200
MAX_OPEN: Final = 500
"""The maximum number of races and challenges that are open at a time."""


class ClubHeader(Record, frozen=True, kw_only=True):
    """What is fixed before the first entry of a club's log."""

    club: RaceId
    founder: Member
    """The first member."""
    opened_at: Time


class Invited(Event, frozen=True):
    """There is a new invitation, which replaces the one before."""

    digest: Hex32
    """The SHA-256 of the token with which players join."""


class Revoked(Event, frozen=True):
    """The invitation is no longer valid."""


class ClubJoined(Event, frozen=True, tag="joined"):
    """A player became a member."""

    player: Member
    digest: Hex32
    """The invitation."""


class ClubLeft(Event, frozen=True, tag="left"):
    """A member left."""

    player: Member


class Removed(Event, frozen=True):
    """The owner removed a member."""

    player: Member


class Erased(Event, frozen=True):
    """A player was erased from the server. Replays of races with them may no longer be available."""

    player: Member


class ClubOpened(Event, frozen=True, tag="opened"):
    """A race or a challenge was opened. Its header names the club and the digest before this entry."""

    race: RaceId
    """The id of the race or the challenge."""
    commitment: Hex32
    """Its commitment to the secret from which the deals are derived."""
    games: Annotated[tuple[Slug, ...], Meta(min_length=1, max_length=MAX_DEALS)]
    """The game of each deal."""


class ClubCancelled(Event, frozen=True, tag="cancelled"):
    """A race was cancelled before the deal, or a challenge never came about."""

    race: RaceId


Places = dict[Member, Annotated[int, Meta(ge=1, le=2**20)]]
"""The place of each player who was dealt cards, by player. Those who are tied share a place."""


class ClubFinished(Event, frozen=True, tag="finished"):
    """A race is over, or a challenge was revealed."""

    race: RaceId
    digest: Hex32
    """The last digest of its log."""
    places: Annotated[tuple[Places, ...], Meta(max_length=MAX_DEALS)] = ()
    """The places on each deal; none if a player had a head start, so that the race does not count."""


class Dissolved(Event, frozen=True):
    """The owner closed the club. It takes no more members and races."""


AnyClubEvent = (
    Invited | Revoked | ClubJoined | ClubLeft | Removed | Erased | ClubOpened | ClubCancelled | ClubFinished | Dissolved
)


class ClubEntry(LogEntry[AnyClubEvent], frozen=True):
    """An entry of a club's log."""


class OpenRace(NamedTuple):
    """A race or a challenge that is open or running."""

    at: int
    """When it was opened."""
    games: tuple[str, ...]
    """The slug of the game of each deal."""


class Club(ChainedLog[AnyClubEvent, ClubEntry], frozen=True):
    """The state of a club after some part of its log."""

    entry_type = ClubEntry

    header: ClubHeader
    members: tuple[str, ...]
    """The ids of the members in the order of joining. The first one is the owner."""
    invitation: str | None = None
    """The digest of the token with which players join."""
    races: Mapping[str, OpenRace] = MappingProxyType({})
    """By id."""
    dissolved: bool = False

    @classmethod
    def opened(cls, header: ClubHeader) -> Self:
        """Return the club before its first entry."""
        return cls(KEY, first_digest(KEY, header_bytes(header)), 0, header.opened_at, header, (header.founder,))

    @property
    def id(self) -> str:
        return self.header.club

    @property
    def link(self) -> ClubLink:
        """What the header of a race states whose entry is the next one."""
        return ClubLink(club=self.id, h=self.digest)

    def _apply(self, at: int, event: AnyClubEvent) -> Self:
        if isinstance(event, ClubCancelled | ClubFinished):
            if (opened := self.races.get(event.race)) is None:
                raise Refused("untimely", f"Race {event.race} is not open.")
            if isinstance(event, ClubFinished) and event.places and len(event.places) != len(opened.games):
                raise Refused("untimely", f"Race {event.race} has {len(opened.games)} deals.")
            return replace(self, races={race: each for race, each in self.races.items() if race != event.race})
        if isinstance(event, ClubLeft | Removed | Erased):
            if event.player not in self.members and not isinstance(event, Erased):
                raise Refused("not-found", "This player is not a member of the club.")
            members = tuple(member for member in self.members if member != event.player)
            ends = isinstance(event, Removed) or not members  # all who were members know the invitation
            return replace(self, members=members, invitation=None if ends else self.invitation)
        if self.dissolved:
            raise Refused("untimely", "The club has been dissolved.")
        match event:
            case Invited(digest=digest):
                return replace(self, invitation=digest)
            case Revoked():
                return replace(self, invitation=None)
            case ClubJoined(player=player, digest=digest):
                if digest != self.invitation:
                    raise Refused("not-allowed", "This invitation is not valid. Ask a member for a new link.")
                if player in self.members:
                    raise Refused("untimely", "You are a member already.")
                if len(self.members) >= MAX_MEMBERS:
                    raise Refused("too-many", f"The club has {MAX_MEMBERS} members, which is the limit.")
                return replace(self, members=(*self.members, player))
            case ClubOpened(race=race, games=games):
                if race in self.races:
                    raise Refused("untimely", f"Race {race} is already open.")
                if len(self.races) >= MAX_OPEN:
                    raise Refused("too-many", f"The club has {MAX_OPEN} open races. Try again later.")
                return replace(self, races={**self.races, race: OpenRace(at, games)})
            case Dissolved():
                return replace(self, dissolved=True, invitation=None)
            case _:
                assert_never(event)
