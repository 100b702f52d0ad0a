"""The log of a race: header, events, entries, and the canonical bytes that the digest chain covers."""

from typing import Annotated, Final, Generic, Literal, TypeVar

from msgspec import Meta, Struct, json

from samedeal.day import Day

# Each pattern ends in $(?!\n), because in Python a bare $ also matches before a trailing line feed.
Hex32 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
"""32 bytes as lower-case hexadecimal."""
Whole = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]
"""An integer that every JSON parser represents exactly."""
Time = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""A time since 1970-01-01 UTC, in milliseconds, up to the end of the year 9999."""
RaceId = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9-]+$(?!\n)")]
SeatNumber = Annotated[int, Meta(ge=1, le=2**20)]
PlayerId = Annotated[str, Meta(min_length=1, max_length=64)]
"""The public id of a player."""
Name = Annotated[str, Meta(min_length=1, max_length=48)]
Seed = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^|\x00-\x1f\x7f]+$(?!\n)")]
"""The text from which a deal is derived."""
MoveText = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[!-~]+$(?!\n)")]
"""A move: one token of printable ASCII."""
VariantName = Annotated[str, Meta(pattern=r"^[a-z_]+$(?!\n)")]
"""An option of a game. Names without digits and capitals have the same order in every language."""


LONGEST_MS = 7_200_000
"""The maximum time limit of a race."""
LONGEST_HEAD_START_MS = 600_000
"""The maximum head start of a player."""
MAX_DEALS = 24
"""The maximum number of deals of a challenge."""
NEVER = 2**53 - 1
"""A time that never comes."""
RACE_FORMAT: Final = 4
"""The newest format of headers and events that this version reads."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stored record. Fields with default values are omitted, and unknown fields are rejected."""


FILTERS_1: Final = ("any", "friendly/1")
"""The deal filters of race format 1."""


class Options(Record, frozen=True, kw_only=True):
    """The options that the creator of a race chooses."""

    limit_ms: Annotated[int, Meta(ge=1_000, le=LONGEST_MS)]
    """The time limit."""
    max_racers: Annotated[int, Meta(ge=1, le=32)] = 8
    start_delay_ms: Annotated[int, Meta(ge=0, le=60_000)] = 5_000
    """The length of the countdown."""
    undo: bool = True
    attempts: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """The number of attempts per racer; 0 means unlimited."""
    spectators: Literal["progress", "after", "open"] = "progress"
    """What spectators see during the race: scores only, nothing, or the boards as well."""
    filter: Literal["any", "friendly/1", "certified/1", "easy/1", "medium/1", "hard/1", "brutal/1"] = "any"
    """Which deal of a root is dealt: the first one, or the first one that passes this filter."""
    unlisted: bool = False
    finishers: Literal["won", "none", "all"] = "won"
    """Which racers who have finished see the other tables during the race: those who have won, none, or all."""
    best_of: Literal[1, 3, 5, 7] = 1
    """How many races, each a rematch of the one before, a match has at most: the first to win more than half of them
    wins the match. 1 for no match."""
    end_when_stuck: bool = False
    """Whether the race ends early if nobody who could continue has a legal move, and nobody undoes or restarts."""


class HeadStart(Record, frozen=True, kw_only=True):
    """A handicap: how long one player has the cards before the others."""

    player: PlayerId
    ms: Annotated[int, Meta(ge=1, le=LONGEST_HEAD_START_MS)]


class Heat(Record, frozen=True, kw_only=True):
    """The challenge that a race is a heat of, and which of its deals the race is on.

    The id of the race is that of the challenge, a hyphen and the number of the heat's entry in the challenge's log.
    """

    challenge: RaceId
    deal: Annotated[int, Meta(ge=1, le=MAX_DEALS)]
    """The number of the deal."""
    nonce: Hex32
    """What the creator of the challenge contributes to its deals."""
    until: Time
    """The deadline: the race must be dealt before it."""
    reveals_at: Time
    """When the deals become public."""
    h: Hex32
    """The digest of the challenge's log before the heat's entry."""


class ClubLink(Record, frozen=True, kw_only=True):
    """The club that a race or a challenge was opened in."""

    club: RaceId
    h: Hex32
    """The digest of the club's log before the entry that opened it."""


class Header(Record, frozen=True, kw_only=True):
    """What is fixed before the first entry."""

    race: RaceId
    game: str
    """The slug of the game."""
    rules: str
    """The version of its rules."""
    variant: dict[VariantName, str | bool] = {}
    """The game's own options with non-default values."""
    seed: Seed | None = None
    """The seed of an open deal. The seed of a sealed deal is derived from the secret and the nonces instead."""
    daily: bool = False
    """Whether this is the daily deal of the UTC day on which the race was opened. It is derived from the secret alone
    and shared by all daily races of the game on that day."""
    commitment: Hex32
    salt: Annotated[str, Meta(pattern=r"^([0-9a-f]{32})?$(?!\n)")] = ""
    """The input to the secret besides the server's key and the race id. Daily deals do not need it."""
    opened_at: Time
    options: Options
    follows: RaceId | None = None
    """The race that this one is a rematch of."""
    ghosts: Annotated[tuple[RaceId, ...], Meta(max_length=8)] = ()
    """The finished races on the same open deal whose racers take part as ghosts."""
    head_start: HeadStart | None = None
    """If its player takes part, all others wait for so long after the deal: they neither see their cards nor play."""
    heat: Heat | None = None
    """The challenge that this race belongs to. All of its heats have the challenge's commitment and salt."""
    club: ClubLink | None = None
    """The club that this race was opened in. Heats have none: their challenge may have one."""

    @property
    def format(self) -> int:
        """The oldest race format that covers this race: its header and every event that can follow.

        A new field, value or event gets the next number, and the header must show from the start that the race uses it.
        """
        options = self.options
        if self.heat or self.club:
            return 4
        if self.head_start or options.end_when_stuck:
            return 3
        has_new_options = options.finishers != "won" or options.best_of != 1 or options.filter not in FILTERS_1
        return 2 if self.follows or self.ghosts or has_new_options else 1

    @property
    def sealed(self) -> bool:
        """Whether the deal is derived from the secret and the racers' nonces."""
        return self.seed is None and not self.is_common

    @property
    def is_common(self) -> bool:
        """Whether other races are on the same sealed deal, as on a daily deal or that of a challenge."""
        return self.daily or self.heat is not None

    @property
    def is_sealed_heat(self) -> bool:
        """Whether only the racers of this heat see its standings before the deals of the challenge are public."""
        return self.heat is not None and self.options.spectators == "after"

    @property
    def date(self) -> str:
        """The UTC date on which the race was opened, such as 2026-11-21."""
        return Day.at(self.opened_at).date

    @property
    def dealt_by(self) -> int:
        """When the race must have been dealt: by the end of the day of a daily deal or the deadline of a challenge."""
        if self.heat:
            return self.heat.until
        return Day.at(self.opened_at).ends_at if self.daily else NEVER

    @property
    def reveals_at(self) -> int:
        """The time before which the deal stays secret, even after the race: others may still race the same deal."""
        if self.heat:
            return self.heat.reveals_at
        return daily_reveals_at(Day.at(self.opened_at)) if self.daily else 0


def daily_reveals_at(day: Day) -> int:
    """Return when the daily deals of a day become public: once no race on them can still be running."""
    return day.ends_at + LONGEST_MS


class Event(Record, frozen=True, tag_field="t", tag=str.lower):
    """Something that happened in a race. The fold accepts or refuses it."""


class SeatEvent(Event, frozen=True):
    """Something that happened to a seat."""

    seat: SeatNumber


Connection = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
"""A random id of a connection. It distinguishes the entries of two connections that take the same seat at the same
time, so that only one of them is accepted into the log."""
SERVER: Final = "0000000000000000"
"""The connection of the seats of server bots. Clients' connections have random ids."""


class Joined(SeatEvent, frozen=True):
    """A player took a seat. Seats are numbered from 1 in the order of joining; returning players keep their number."""

    player: PlayerId
    name: Name
    bot: bool = False
    commitment: Hex32 | None = None
    """The commitment to the nonce that the racer contributes to a sealed deal."""
    by: Connection | None = None
    """The connection that controls the seat."""


class Left(SeatEvent, frozen=True):
    """A player gave up the seat before the countdown."""


class Readied(SeatEvent, frozen=True):
    """A player is ready for the countdown."""


class Unreadied(SeatEvent, frozen=True):
    """A player is no longer ready."""


class Counting(Event, frozen=True):
    """The countdown started. The seats are fixed, and racers can open their nonces."""


class Nonce(SeatEvent, frozen=True):
    """A racer opened the commitment by revealing the nonce."""

    nonce: Hex32


class Dealt(Event, frozen=True):
    """The cards were dealt and the clock started. Racers whose nonces did not arrive are scratched."""

    k: Annotated[int, Meta(ge=0, le=2**20)] = 0
    """The number of the seed derived from the root: the first that passes the race's filter."""


class Moved(SeatEvent, frozen=True):
    """A racer made a move, including ``undo`` and ``restart``."""

    move: MoveText


class Taken(SeatEvent, frozen=True):
    """A newer connection took over a racer's seat. Older ones can no longer play it."""

    by: Connection | None = None


class Resigned(SeatEvent, frozen=True):
    """A racer resigned. The best attempt so far counts."""


class Closed(Event, frozen=True):
    """The race ended or was cancelled. The secret is revealed."""

    secret: Hex32


AnyEvent = Joined | Left | Readied | Unreadied | Counting | Nonce | Dealt | Moved | Taken | Resigned | Closed


E = TypeVar("E", bound=Struct)


class LogEntry(Struct, Generic[E], frozen=True, array_like=True, forbid_unknown_fields=True):
    """An entry of a log, a race's or another one."""

    n: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    at: Time
    """The time on the log's clock, which never decreases."""
    event: E
    h: Hex32


class Entry(LogEntry[AnyEvent], frozen=True):
    """A numbered event with its time and the digest of the log up to and including it."""


_canonical = json.Encoder(order="sorted")


def header_bytes(header: Struct) -> bytes:
    """Return the canonical bytes of a header: JSON without whitespace and with sorted keys, as in RFC 8785."""
    return _canonical.encode(header)


def entry_bytes(n: int, at: int, event: Struct) -> bytes:
    """Return the canonical bytes of an entry without its digest: the JSON array of number, time and event."""
    return _canonical.encode((n, at, event))
