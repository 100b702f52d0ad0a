"""The WebSocket messages: one union for each direction.

A request has an ``id`` chosen by the client, which the reply repeats as ``re``. See docs/bots/protocol.md.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from samedeal.codec import convert
from samedeal.errors import Refused
from samedeal.race.events import LONGEST_HEAD_START_MS, Header, Hex32, MoveText, SeatNumber
from samedeal.race.ghosts import Ghost
from samedeal.race.race import Stage
from samedeal.race.server_bots import Level
from samedeal.race.standings import Standing

Id = Annotated[int, Meta(ge=0, le=2**53 - 1)]
RaceId = Annotated[str, Meta(min_length=1, max_length=64)]
Token = Annotated[str, Meta(min_length=1, max_length=128)]
ReactionName = Literal["wave", "good-luck", "well-played", "wow", "laugh", "oops"]
"""The reactions that a racer can send."""
REACTIONS: Final = "reactions"
"""The feature of clients that show reactions."""
GUIDANCE: Final = "guidance"
"""The feature of clients that show the guidance of boards."""


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower):
    """A client's request. A reply with ``re`` equal to ``id`` follows."""

    id: Id


class Hello(Request, frozen=True, kw_only=True, omit_defaults=True):
    """The first message, which identifies the client. A name creates a new guest, and a token identifies a known one.

    Answered by Welcome. Fields with default values are omitted, because older servers reject fields they do not know.
    """

    token: Token | None = None
    name: Annotated[str, Meta(max_length=64)] | None = None
    client: Annotated[str, Meta(max_length=64)] = ""
    """The client program and its version, for the server's log."""
    format: Annotated[int, Meta(ge=1, le=2**31)] = 1
    """The newest race format that the client reads. Races in a newer one refuse it with unsupported-version."""
    features: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=32)] = ()
    """The optional messages and fields that the client supports. The server ignores unknown names."""


class Join(Request, frozen=True, kw_only=True, omit_defaults=True):
    """Take a seat in a race, or reconnect to your seat and disconnect older connections. Answered by View.

    Fields with default values are omitted, because older servers reject fields they do not know.
    """

    race: RaceId
    commitment: Hex32 | None = None
    """The commitment to the racer's nonce (see the replay format). Required for a new seat at a sealed deal."""
    bot: bool = False
    """Whether a program plays. This is public."""
    legal: bool = True
    """Whether views list the legal moves."""
    views: Literal["full", "changes"] = "full"
    """What answers a move: the full view, or for programs only what has changed on the table."""


class Watch(Request, frozen=True, kw_only=True):
    """Watch a race without a seat. Answered by View."""

    race: RaceId


class Ready(Request, frozen=True, kw_only=True):
    """Set whether you are ready for the countdown. Answered by View."""

    ready: bool = True


class Nonce(Request, frozen=True, kw_only=True):
    """Reveal the nonce during the countdown. Answered by View."""

    nonce: Hex32


class Move(Request, frozen=True, kw_only=True):
    """Make a move, including ``undo`` and ``restart``. Answered by View once the move is validated and logged.

    If ``views`` in Join was ``changes``, it is answered by Changes while you can continue to play.
    """

    move: MoveText
    ply: Annotated[int, Meta(ge=0, le=2**31)]
    """The number of moves made before this one. Repeating a move that is already logged at this ply succeeds; any other
    move from an older ply is refused with stale-move."""


class Resign(Request, frozen=True, kw_only=True):
    """Resign from the race. The best attempt counts. Answered by View."""


class Leave(Request, frozen=True, kw_only=True):
    """Give up the seat before the countdown. Answered by View."""


class Start(Request, frozen=True, kw_only=True):
    """Start the countdown with the players who are ready, as the host. The host gets ready, and all other seats are
    released. Answered by View.
    """


class Remove(Request, frozen=True, kw_only=True):
    """Remove a player before the countdown, as the host. The player cannot join the race again. Answered by View."""

    seat: SeatNumber


class Bot(Request, frozen=True, kw_only=True, omit_defaults=True):
    """Give a seat to a server bot before the countdown, as a player with a seat. Answered by View.

    It is ready at once. The host can remove it.
    """

    level: Level | None = None
    """How well it plays. Without a level, the next bot that is not in the race: regular, beginner, expert."""


class HeadStartFor(Struct, frozen=True, forbid_unknown_fields=True):
    """The head start that a player gets."""

    seat: SeatNumber
    ms: Annotated[int, Meta(ge=0, le=LONGEST_HEAD_START_MS)]
    """0 for none."""


class Again(Request, frozen=True, kw_only=True, omit_defaults=True):
    """Ask for a rematch of the race that is over, in which you had a seat. Answered by View with ``next``.

    The first player to ask can choose another game; later requests get the same race. Before the countdown, the host
    replaces the race by one with another game, other options or a head start.
    """

    game: str | None = None
    """The slug of another game."""
    options: dict[str, int | float | bool | str] = {}
    """Before the countdown, the options that change."""
    head_start: HeadStartFor | None = None
    """Before the countdown, the head start of a player in this race, which replaces any earlier one."""


class React(Request, frozen=True, kw_only=True):
    """Send a reaction from your seat, at most one per second. It is never logged. Answered by Reaction."""

    reaction: ReactionName


class Ping(Request, frozen=True, kw_only=True):
    """Check the connection. Answered by Pong."""


ToServer = Hello | Join | Watch | Ready | Nonce | Move | Resign | Leave | Start | Remove | Bot | Again | React | Ping


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag=str.lower):
    """A server's message. ``re`` is the id of the request that it answers, if any."""

    re: int | None = None


class Welcome(Reply, frozen=True, kw_only=True):
    """The client's identity on this server."""

    player: str
    """The public player id."""
    name: str
    token: str | None = None
    """A new guest's secret token, sent only once. It authenticates the guest."""
    server: str
    """The server program and its version."""


class Guidance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a game says about a table, from the cards that the racer sees. Cards in texts are in notation form."""

    instruction: str = ""
    """What the racer can do now."""
    ending: str = ""
    """How and why the attempt ended."""
    facts: tuple[str, ...] = ()
    """What else the racer knows, in words."""
    marks: dict[str, str] = {}
    """What is worth noticing about places: `home`, its cards are home and stay there; `jammed`, its last card waits for
    a card under it; `only`, nothing else can be played."""


class Board(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A racer's table as the racer sees it."""

    table: dict[str, tuple[str, ...]]
    """The piles by place, bottom to top; ``??`` is a face-down card."""
    notes: dict[str, str] = {}
    """What the racer knows besides the piles, by name."""
    outcome: str
    home: int
    """The number of cards home in this attempt."""
    attempt: int
    ply: int
    """The number of moves in all attempts, including undo and restart."""
    moves: tuple[str, ...] | None = None
    """The legal moves, if requested."""
    undo: bool = False
    """Whether undo is possible."""
    restart: bool = False
    guidance: Guidance | None = None
    """Only for clients with the feature ``guidance``."""


class Rematch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The race that follows a finished one, or replaces one before its countdown."""

    race: str
    game: str
    by: str
    """The name of the player who asked for it first."""
    stage: Stage = "open"
    """Players can join it while it is open."""
    players: tuple[str, ...] = ()
    """The names of those who have a seat in it, while it is open: later, erased players could not be forgotten here."""
    awaited: tuple[str, ...] = ()
    """The names of those for whom it waits: as in View, and the people in it who are not ready."""
    starts_at: int | None = None
    """When it starts without those who are missing or not ready, if it does (ms since 1970-01-01 UTC)."""


class Host(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The guest who opened a race, and can start it and remove players."""

    name: str
    seat: SeatNumber | None = None
    """The host's seat, if the host has one."""


class View(Reply, frozen=True, kw_only=True):
    """Everything that the recipient may see of a race. It replaces all earlier views."""

    race: str
    n: Annotated[int, Meta(ge=0)]
    """The number of the newest log entry."""
    h: Hex32
    """The digest of the log up to this entry: a receipt to compare with the replay."""
    stage: Stage
    clock_ms: int | None = None
    """During the countdown, the time until the deal; in a running race, the time left. Before the countdown, if enough
    players are ready, the time until it starts without the others; after the race, the same about an open rematch."""
    closing_ms: int | None = None
    """In a running race, the time until it ends early because all who could continue are stuck, unless one of them
    undoes or restarts."""
    host: Host | None = None
    """Before the countdown, the guest who opened the race, if it has a host."""
    awaited: tuple[str, ...] = ()
    """Before the countdown of a rematch, the names of the players of the race before whom it waits for. The same for a
    race that replaces another one."""
    standings: tuple[Standing, ...] = ()
    levels: dict[int, Level] = {}
    """How well the server bots in the standings play, by seat."""
    seat: SeatNumber | None = None
    """The recipient's seat."""
    board: Board | None = None
    """The recipient's table; none while another racer has a head start."""
    waits_ms: int | None = None
    """The time until the recipient gets a table, while another racer has a head start."""
    head_start: SeatNumber | None = None
    """The seat of the player who has a head start (see the header), if that player has one."""
    boards: dict[int, Board] | None = None
    """The other racers' tables by seat, if the recipient may see them."""
    deal: str | None = None
    """The code of the deal, if the recipient may know it."""
    header: Header | None = None
    """The header of the race, only in the reply to Join and Watch."""
    next: Rematch | None = None
    """The rematch of a finished race, if somebody has asked for one. Of a race that was ``cancelled`` before its
    countdown, the race with which the host has replaced it."""
    ghosts: tuple[Ghost, ...] = ()
    """Earlier racers on the same deal, best first, as they stood at the same time after their own deal."""
    watching: Annotated[int, Meta(ge=0)] = 0
    """The number of connections that watch a live race without a seat."""


class Changes(Reply, frozen=True, kw_only=True):
    """The recipient's table after a move, without the piles that are the same as in the last board that was sent.

    The standings, the ghosts and the number of watchers may have changed as well; Progress or View has them.
    """

    n: Annotated[int, Meta(ge=0)]
    """The number of the newest log entry."""
    h: Hex32
    """The digest of the log up to this entry: a receipt, as in View."""
    board: Board
    """The recipient's board. Its ``table`` has only the piles that have changed."""


class Progress(Reply, frozen=True, kw_only=True):
    """The standings, ghosts, watchers and early end of a race, if nothing else changed: at most four per second, each
    replacing the last.
    """

    race: str
    n: int
    standings: tuple[Standing, ...]
    ghosts: tuple[Ghost, ...] = ()
    watching: Annotated[int, Meta(ge=0)] = 0
    closing_ms: int | None = None
    """As in View."""


class Reaction(Reply, frozen=True, kw_only=True):
    """A racer's reaction. It can be lost. Sent only to clients with the feature ``reactions``."""

    race: str
    seat: SeatNumber
    """The seat of the racer who sent it."""
    reaction: ReactionName


class Problem(Reply, frozen=True, kw_only=True):
    """A refusal as a problem object (RFC 9457). The request had no effect."""

    type: str
    title: str
    status: int
    code: str
    detail: str

    @classmethod
    def of(cls, refused: Refused, re: int | None = None) -> "Problem":
        return convert({"t": "problem", "re": re, **refused.problem()}, cls)


class Pong(Reply, frozen=True, kw_only=True):
    """The reply to Ping."""


FromServer = Welcome | View | Changes | Progress | Reaction | Problem | Pong

ANSWERED_BY: Final[Mapping[type[Request], tuple[type[Reply], ...]]] = {
    Hello: (Welcome,),
    Ping: (Pong,),
    React: (Reaction,),
    Move: (View, Changes),
    **dict.fromkeys((Join, Watch, Ready, Nonce, Resign, Leave, Start, Remove, Bot, Again), (View,)),
}
"""The possible replies to each request that is not refused."""

_SEATED = ("bad-token", "not-seated", "replaced", "race-over", "untimely", "not-allowed", "store-unavailable")
_HOSTED = ("bad-token", "not-seated", "race-over", "untimely", "not-allowed", "store-unavailable")
REFUSED_WITH: Final[Mapping[type[Request], tuple[str, ...]]] = {
    Hello: ("bad-token", "name-refused", "too-many", "store-unavailable"),
    Join: (
        *("bad-token", "not-found", "not-seated", "unsupported-version", "race-over", "race-full", "untimely"),
        *("nonce-mismatch", "not-allowed", "withdrawn", "store-unavailable"),
    ),
    Watch: ("bad-token", "not-found", "unsupported-version", "withdrawn", "store-unavailable"),
    Ready: (*_SEATED, "too-many"),
    Nonce: (*_SEATED, "nonce-mismatch"),
    Move: (*_SEATED, "not-playing", "illegal-move", "stale-move"),
    Resign: (*_SEATED, "not-playing"),
    Leave: _SEATED,
    Start: (*_HOSTED, "too-many"),
    Remove: _HOSTED,
    Bot: (*_HOSTED, "not-found", "race-full", "too-many"),
    Again: (
        *("bad-token", "bad-request", "not-found", "not-seated", "not-allowed", "untimely", "unsupported-version"),
        *("too-many", "draining", "withdrawn", "store-unavailable"),
    ),
    React: ("bad-token", "not-seated", "replaced", "too-many"),
    Ping: (),
}
"""The codes with which each request can be refused, besides ANY_REFUSED_WITH."""
ANY_REFUSED_WITH: Final = ("bad-message", "malformed", "too-large")
"""The codes with which any message can be refused. After ``malformed`` the connection is closed."""
PUSHED: Final = (View, Progress, Reaction, Problem)
"""The messages that the server sends without a request; problems only after invalid messages.

Clients that do not know another type ignore it, so send a new type only to clients that name its feature in Hello.
"""
