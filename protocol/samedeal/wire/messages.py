"""Messages: everything that a client and the server say to each other over the socket, in two unions.

A request has a number of the client's choosing, `id`, that its answer repeats as `re`. docs/protocol.md tells more.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct, convert

from samedeal.errors import Refused
from samedeal.race.events import Header, Hex32, MoveText, SeatNumber
from samedeal.race.race import Stage
from samedeal.race.seat import Standing

Id = Annotated[int, Meta(ge=0, le=2**53 - 1)]
RaceId = Annotated[str, Meta(min_length=1, max_length=64)]
Token = Annotated[str, Meta(min_length=1, max_length=128)]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower):
    """Something a client asks; an answer with `re` equal to `id` follows."""

    id: Id


class Hello(Request, frozen=True, kw_only=True, omit_defaults=True):
    """The first message: who is there. A name makes a new guest; a token comes back as the guest it was given to.

    Answered by Welcome. Fields that have their defaults are not sent: older servers refuse those they do not know.
    """

    token: Token | None = None
    name: Annotated[str, Meta(max_length=64)] | None = None
    client: Annotated[str, Meta(max_length=64)] = ""
    """The program and its version, for the server's log."""
    format: Annotated[int, Meta(ge=1, le=2**31)] = 1
    """The newest race format that the client reads. Races that need a newer one refuse it with unsupported-version."""
    features: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=32)] = ()
    """The optional messages that the client understands. The server sends no others, and ignores unknown names."""


class Join(Request, frozen=True, kw_only=True):
    """Take a seat in a race, or take up the seat one has, fencing off older connections. Answered by View."""

    race: RaceId
    commitment: Hex32 | None = None
    """To this racer's nonce (docs/replay-format.md). Needed for a new seat at a sealed deal."""
    bot: bool = False
    """Whether a program plays; everybody sees it."""
    legal: bool = True
    """Whether views shall list the legal moves."""


class Watch(Request, frozen=True, kw_only=True):
    """Look on without a seat. Answered by View."""

    race: RaceId


class Ready(Request, frozen=True, kw_only=True):
    """Be ready for the countdown, or not after all. Answered by View."""

    ready: bool = True


class Nonce(Request, frozen=True, kw_only=True):
    """Open the commitment, once the countdown has begun. Answered by View."""

    nonce: Hex32


class Move(Request, frozen=True, kw_only=True):
    """Make a move, ``undo`` and ``restart`` included. Answered by View when it is validated and in the log."""

    move: MoveText
    ply: Annotated[int, Meta(ge=0, le=2**31)]
    """How many moves the client knows it has made. A move that was already made from there is answered as made; another
    one is refused as stale."""


class Resign(Request, frozen=True, kw_only=True):
    """Stop for good; the best attempt counts. Answered by View."""


class Leave(Request, frozen=True, kw_only=True):
    """Give the seat up before the countdown. Answered by View."""


class Ping(Request, frozen=True, kw_only=True):
    """Ask for a sign of life. Answered by Pong."""


ToServer = Hello | Join | Watch | Ready | Nonce | Move | Resign | Leave | Ping


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag=str.lower):
    """Something the server says; `re` is the number of the request it answers, if it answers one."""

    re: int | None = None


class Welcome(Reply, frozen=True, kw_only=True):
    """Who you are here."""

    player: str
    """The public id."""
    name: str
    token: str | None = None
    """Given once, to a new guest: whoever has it is that guest."""
    server: str
    """The program and its version."""


class Board(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One racer's table as its owner sees it."""

    table: dict[str, tuple[str, ...]]
    """Every pile by its place, bottom to top; ``??`` is a card that lies face down."""
    notes: dict[str, str] = {}
    """What the owner knows beyond the piles, by name."""
    outcome: str
    home: int
    """Cards home in this attempt."""
    attempt: int
    ply: int
    """How many moves have been made over all attempts, undo and restart included."""
    moves: tuple[str, ...] | None = None
    """The legal moves, if they were asked for."""
    undo: bool = False
    """Whether undo is possible."""
    restart: bool = False


class View(Reply, frozen=True, kw_only=True):
    """All that its receiver may know of a race now. It replaces every earlier one."""

    race: str
    n: Annotated[int, Meta(ge=0)]
    """The number of the newest entry of the race's log."""
    h: Hex32
    """The digest of the log up to there: a receipt, to be compared with the replay."""
    stage: Stage
    clock_ms: int | None = None
    """In the countdown the time until the deal, in a running race the time left."""
    standings: tuple[Standing, ...] = ()
    seat: SeatNumber | None = None
    """The receiver's own seat."""
    board: Board | None = None
    """The receiver's own table."""
    boards: dict[int, Board] | None = None
    """The tables of others by seat, where the race lets the receiver see them."""
    deal: str | None = None
    """The code that names the deal, when it may be known."""
    header: Header | None = None
    """What was settled before the race: only in the answer to Join and Watch."""


class Progress(Reply, frozen=True, kw_only=True):
    """How the racers stand, when only that has changed. At most four a second; newer ones replace older ones."""

    race: str
    n: int
    standings: tuple[Standing, ...]


class Problem(Reply, frozen=True, kw_only=True):
    """A refusal, as a problem object (RFC 9457). Nothing was changed."""

    type: str
    title: str
    status: int
    code: str
    detail: str

    @classmethod
    def of(cls, refused: Refused, re: int | None = None) -> "Problem":
        return convert({"t": "problem", "re": re, **refused.problem()}, cls)


class Pong(Reply, frozen=True, kw_only=True):
    """A sign of life."""


FromServer = Welcome | View | Progress | Problem | Pong

ANSWERED_BY: Final[Mapping[type[Request], type[Reply]]] = {
    Hello: Welcome,
    Ping: Pong,
    **dict.fromkeys((Join, Watch, Ready, Nonce, Move, Resign, Leave), View),
}
"""What answers each request that is not refused."""

_IN_A_SEAT = ("bad-token", "not-seated", "replaced", "race-over", "untimely", "not-allowed", "store-unavailable")
REFUSED_WITH: Final[Mapping[type[Request], tuple[str, ...]]] = {
    Hello: ("bad-token", "too-many", "store-unavailable"),
    Join: (
        *("bad-token", "not-found", "not-seated", "unsupported-version", "race-over", "race-full", "untimely"),
        *("nonce-mismatch", "not-allowed", "store-unavailable"),
    ),
    Watch: ("bad-token", "not-found", "unsupported-version", "store-unavailable"),
    Ready: _IN_A_SEAT,
    Nonce: (*_IN_A_SEAT, "nonce-mismatch"),
    Move: (*_IN_A_SEAT, "not-playing", "illegal-move", "stale-move"),
    Resign: (*_IN_A_SEAT, "not-playing"),
    Leave: _IN_A_SEAT,
    Ping: (),
}
"""The codes that each request may be refused with, beside those of ANY_REFUSED_WITH."""
ANY_REFUSED_WITH: Final = ("bad-message", "malformed", "too-large")
"""The codes that whatever is sent may be refused with; after `malformed` the connection is closed."""
