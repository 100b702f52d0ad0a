"""The log of a race: its header, its entries, and the canonical bytes that the chain of digests covers."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, json

from samedeal.day import Day

# Each pattern ends in $(?!\n), which means the end everywhere: in Python a bare $ lets a line feed follow.
Hex32 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
"""32 bytes as lower-case hexadecimal."""
Millis = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A duration, or a time since 1970-01-01 UTC, in milliseconds."""
Whole = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]
"""A whole number that every reader of JSON keeps as it is."""
Time = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""A time since 1970-01-01 UTC, in milliseconds, up to the end of the year 9999."""
SeatNumber = Annotated[int, Meta(ge=1, le=2**20)]
Name = Annotated[str, Meta(min_length=1, max_length=48)]
Seed = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^|\x00-\x1f\x7f]+$(?!\n)")]
"""The text that a deal follows from."""
MoveText = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[!-~]+$(?!\n)")]
"""A move: one token of printable ASCII."""


LONGEST_MS = 7_200_000
"""The longest time limit of a race."""
RACE_FORMAT: Final = 1
"""The newest format of headers and events that this version reads."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Something written down for good: a field that has its default is left out, an unknown one is refused."""


class Options(Record, frozen=True, kw_only=True):
    """What the creator of a race may choose."""

    limit_ms: Annotated[int, Meta(ge=1_000, le=LONGEST_MS)]
    """How long the race runs."""
    max_racers: Annotated[int, Meta(ge=1, le=32)] = 8
    start_delay_ms: Annotated[int, Meta(ge=0, le=60_000)] = 5_000
    """How long the countdown lasts."""
    undo: bool = True
    attempts: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """How often the deal may be played by each racer; 0 is as often as they like."""
    spectators: Literal["progress", "after", "open"] = "progress"
    """What those who do not race may see while it runs: counts, nothing, or boards too."""
    filter: Literal["any", "friendly/1"] = "any"
    """Which of the deals of a root is dealt: the first, or the first that can be won with a fair chance."""
    unlisted: bool = False


class Header(Record, frozen=True, kw_only=True):
    """What is settled before the first entry."""

    race: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9-]+$(?!\n)")]
    game: str
    """The slug of the game."""
    rules: str
    """The version of its rules."""
    variant: dict[str, str | bool] = {}
    """The game's own options that are not at their defaults."""
    seed: Seed | None = None
    """The seed of an open deal. A sealed deal has none: its seed follows from the secret and the nonces."""
    daily: bool = False
    """Whether it is the game's deal of the day, by UTC, on which the race was opened: it follows from the secret alone,
    and all races of that day have it."""
    commitment: Hex32
    salt: Annotated[str, Meta(pattern=r"^([0-9a-f]{32})?$(?!\n)")] = ""
    """What makes the secret, with the server's key and the race's id; the secret of a daily deal needs none."""
    opened_at: Time
    options: Options

    @property
    def format(self) -> int:
        """The oldest format whose readers understand this race: its header and every event that may follow.

        A new field, value or event gets the next number, and a header has to show from the start that its race uses it.
        """
        return 1

    @property
    def sealed(self) -> bool:
        """Whether the deal follows from the secret and the racers' nonces."""
        return self.seed is None and not self.daily

    @property
    def date(self) -> str:
        """The day, by UTC, on which the race was opened, such as 2026-11-21."""
        return Day.at(self.opened_at).date

    @property
    def day_ends_at(self) -> int:
        """When that day is over."""
        return Day.at(self.opened_at).ends_at

    @property
    def reveals_at(self) -> int:
        """Before when the deal of a race that is over must not be told: others may have a daily deal yet to play."""
        return daily_reveals_at(Day.at(self.opened_at)) if self.daily else 0


def daily_reveals_at(day: Day) -> int:
    """When the daily deals of a day may be told: when no race on them can run any more."""
    return day.ends_at + LONGEST_MS


class Event(Record, frozen=True, tag_field="t", tag=str.lower):
    """Something that happened in a race, to be accepted by the fold or refused."""


Connection = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
"""A random name of a connection: two that take the same seat at the same moment are two different entries, and only one
of them gets into the log at its place."""


class Joined(Event, frozen=True):
    """A player took a seat; they are numbered from 1 in the order of first joining, whoever comes back has the same."""

    seat: SeatNumber
    player: Annotated[str, Meta(min_length=1, max_length=64)]
    """The player's public id."""
    name: Name
    bot: bool = False
    commitment: Hex32 | None = None
    """To the nonce that the racer adds to a sealed deal."""
    by: Connection | None = None
    """The connection that has the seat."""


class Left(Event, frozen=True):
    """A player gave the seat up before the countdown."""

    seat: SeatNumber


class Readied(Event, frozen=True):
    """A player is ready for the countdown."""

    seat: SeatNumber


class Unreadied(Event, frozen=True):
    """A player is not ready after all."""

    seat: SeatNumber


class Counting(Event, frozen=True):
    """The countdown began: the seats are settled and the nonces may come."""


class Nonce(Event, frozen=True):
    """A racer opened the commitment."""

    seat: SeatNumber
    nonce: Hex32


class Dealt(Event, frozen=True):
    """The countdown ended; a racer whose nonce did not come is scratched. The clock runs from here."""

    k: Annotated[int, Meta(ge=0, le=2**20)] = 0
    """Which of the seeds that follow from the root was dealt: the first that the race's filter accepts."""


class Moved(Event, frozen=True):
    """A racer made a move, ``undo`` and ``restart`` included."""

    seat: SeatNumber
    move: MoveText


class Taken(Event, frozen=True):
    """A newer connection took over a racer's seat; older ones are fenced off everywhere."""

    seat: SeatNumber
    by: Connection | None = None


class Resigned(Event, frozen=True):
    """A racer stopped for good; the best attempt so far counts."""

    seat: SeatNumber


class Closed(Event, frozen=True):
    """The race is over, or was called off; the secret is out."""

    secret: Hex32


AnyEvent = Joined | Left | Readied | Unreadied | Counting | Nonce | Dealt | Moved | Taken | Resigned | Closed


class Entry(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A numbered event with its time and the digest of the log up to and with it."""

    n: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    at: Time
    """The time on the race's one clock; it never decreases."""
    event: AnyEvent
    h: Hex32


_canonical = json.Encoder(order="sorted")


def header_bytes(header: Header) -> bytes:
    """The canonical bytes of a header: JSON without white space, keys sorted, as in RFC 8785."""
    return _canonical.encode(header)


def entry_bytes(n: int, at: int, event: Event) -> bytes:
    """The canonical bytes of an entry without its digest: the JSON array of number, time and event."""
    return _canonical.encode((n, at, event))
