"""Challenges: sealed deals that people race before a deadline, each in their own time, as folds over their logs.

The log of a challenge names every heat before it is dealt, so that none can be left out afterwards.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, assert_never

from msgspec import Meta

from samedeal.commitments import challenge_root, commitment
from samedeal.digest_chain import first_digest
from samedeal.errors import Refused
from samedeal.race.chained_log import ChainedLog
from samedeal.race.events import (
    MAX_DEALS,
    ClubLink,
    Connection,
    Event,
    Header,
    Heat,
    Hex32,
    LogEntry,
    Options,
    PlayerId,
    RaceId,
    Record,
    Time,
    VariantName,
    header_bytes,
)
from samedeal.values import replace

HOUR_MS: Final = 3_600_000
SHORTEST_MS, LONGEST_MS = HOUR_MS, 30 * 24 * HOUR_MS
"""How soon and how late the deadline of a challenge can be after its opening."""
OPENING_MS: Final = 60_000
"""How long the server waits for what the creator contributes."""
MAX_OPEN_HEATS: Final = 1_000
"""The maximum number of open heats at a time."""
Stage = Literal["open", "closed", "revealed"]
NumberOfEntry = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class ChallengeDeal(Record, frozen=True, kw_only=True):
    """One of the deals of a challenge, and how it is raced."""

    game: str
    """The slug of the game."""
    rules: str
    """The version of its rules."""
    variant: dict[VariantName, str | bool] = {}
    """The game's own options with non-default values."""
    options: Options
    """The options of all heats, which only choose the number of racers and the length of the countdown themselves."""


class ChallengeHeader(Record, frozen=True, kw_only=True):
    """What is fixed before the first entry of a challenge's log."""

    challenge: RaceId
    creator: PlayerId
    deals: Annotated[tuple[ChallengeDeal, ...], Meta(min_length=1, max_length=MAX_DEALS)]
    commitment: Hex32
    salt: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)")]
    opened_at: Time
    until: Time
    """The deadline. Heats must be dealt before it."""
    club: ClubLink | None = None
    """The club that it was opened in."""

    @property
    def reveals_at(self) -> int:
        """When the deals become public: once no heat can still be running."""
        return self.until + max(deal.options.limit_ms for deal in self.deals)

    @property
    def unlisted(self) -> bool:
        return self.deals[0].options.unlisted

    @property
    def shows_results(self) -> bool:
        """Whether everybody sees the results before the reveal, rather than only those who have played."""
        return self.deals[0].options.spectators != "after"


class Opened(Event, frozen=True):
    """The creator contributed to the deals. From now on, the challenge exists."""

    nonce: Hex32


class HeatOpened(Event, frozen=True, tag="heat"):
    """A heat was opened. Its number is that of this entry."""

    deal: Annotated[int, Meta(ge=1, le=MAX_DEALS)]
    by: Connection | None = None
    """A random id. It distinguishes two heats that are opened at the same time, so that only one of them is accepted
    into the log as this entry."""


class Cancelled(Event, frozen=True):
    """A heat ended before cards were dealt."""

    heat: NumberOfEntry


class Finished(Event, frozen=True):
    """A heat is over."""

    heat: NumberOfEntry
    digest: Hex32
    """The last digest of its log."""


class Revealed(Event, frozen=True):
    """The secret is revealed, and with it all deals."""

    secret: Hex32


AnyChallengeEvent = Opened | HeatOpened | Cancelled | Finished | Revealed


class ChallengeEntry(LogEntry[AnyChallengeEvent], frozen=True):
    """An entry of a challenge's log."""


class Challenge(ChainedLog[AnyChallengeEvent, ChallengeEntry], frozen=True):
    """The state of a challenge after some part of its log."""

    entry_type = ChallengeEntry

    header: ChallengeHeader
    nonce: str | None = None
    heats: Mapping[int, int] = MappingProxyType({})
    """The heats that are open or running, by number, with the numbers of their deals."""
    revealed: bool = False

    @classmethod
    def opened(cls, header: ChallengeHeader, secret: bytes) -> Self:
        """Return the challenge before its first entry. Raises Refused if the header is not valid for this secret."""
        if commitment(header.challenge, secret) != header.commitment:
            raise Refused("bad-replay", "The secret does not match the commitment of the challenge.")
        seen_by = {(deal.options.unlisted, deal.options.spectators) for deal in header.deals}
        if not SHORTEST_MS <= header.until - header.opened_at <= LONGEST_MS or len(seen_by) > 1:
            text = "A challenge lasts 1 hour to 30 days, and the same people see all of its deals."
            raise Refused("bad-replay", text)
        return cls(secret, first_digest(secret, header_bytes(header)), 0, header.opened_at, header)

    @property
    def id(self) -> str:
        return self.header.challenge

    def stage(self, now: int) -> Stage:
        """Return the stage at the time ``now``: ``closed`` after the deadline."""
        return "revealed" if self.revealed else "closed" if now >= self.header.until else "open"

    def due_at(self) -> int:
        """Return when the server has to act next: to forget an opening, or to end the challenge."""
        return self.header.opened_at + OPENING_MS if self.nonce is None else self.header.reveals_at

    def heat_header(self, deal: int, at: int, chosen: Options) -> Header:
        """Return the header of the next heat, whose entry has the time `at`. It has two of the options `chosen`."""
        common = _of_heats(self.header, self.nonce or "", deal, self.digest, at, chosen)
        return Header(race=f"{self.id}-{self.n + 1}", **common)

    def root(self, deal: int) -> str:
        """Return what a deal is derived from."""
        return challenge_root(self.secret, self.id, bytes.fromhex(self.nonce or ""), deal)

    def _apply(self, at: int, event: AnyChallengeEvent) -> Self:
        if self.revealed or (self.nonce is None) != isinstance(event, Opened):
            raise Refused("untimely", "This is not possible now.")
        match event:
            case Opened(nonce=nonce):
                if at > self.header.opened_at + OPENING_MS:
                    raise Refused("untimely", "The opening of this challenge has expired.")
                return replace(self, nonce=nonce)
            case HeatOpened(deal=deal):
                if at >= self.header.until:
                    raise Refused("untimely", "The deadline of this challenge has passed.")
                if deal > len(self.header.deals):
                    raise Refused("not-found", f"The challenge has {len(self.header.deals)} deals.")
                if len(self.heats) >= MAX_OPEN_HEATS:
                    raise Refused("too-many", f"The challenge has {MAX_OPEN_HEATS} open races. Try again later.")
                return replace(self, heats={**self.heats, self.n + 1: deal})
            case Finished(heat=number) | Cancelled(heat=number):
                if number not in self.heats:
                    raise Refused("untimely", f"Heat {number} is not open.")
                return replace(self, heats={heat: deal for heat, deal in self.heats.items() if heat != number})
            case Revealed(secret=secret):
                if at < self.header.reveals_at or self.heats or bytes.fromhex(secret) != self.secret:
                    raise Refused("untimely", "The challenge cannot be revealed now, or not with this secret.")
                return replace(self, revealed=True)
            case _:
                assert_never(event)


def heat_fault(header: Header, challenge: ChallengeHeader, nonce: str, deal: int, digest: str, at: int) -> str:
    """Return what distinguishes a race's header from that of the heat on a deal whose entry follows the digest at the
    time ``at``, as text after its id; "" if nothing does.
    """
    if header.heat and header.heat.h != digest:
        return "names a different head of the log"
    common = _of_heats(challenge, nonce, deal, digest, at, header.options)
    return "" if replace(header, **common) == header else "does not match the challenge"


def _of_heats(
    challenge: ChallengeHeader, nonce: str, deal: int, digest: str, at: int, chosen: Options
) -> dict[str, Any]:
    """Return what the header of a heat states, apart from the id of the race."""
    of = challenge.deals[deal - 1]
    heat = Heat(
        challenge=challenge.challenge,
        deal=deal,
        nonce=nonce,
        until=challenge.until,
        reveals_at=challenge.reveals_at,
        h=digest,
    )
    return {
        "game": of.game,
        "rules": of.rules,
        "variant": of.variant,
        "commitment": challenge.commitment,
        "salt": challenge.salt,
        "opened_at": at,
        "options": replace(of.options, max_racers=chosen.max_racers, start_delay_ms=chosen.start_delay_ms),
        "heat": heat,
    }
