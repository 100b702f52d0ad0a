"""The connection: a client's line to one race. It survives losses, and resends what was not answered."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import count
from pathlib import Path
from secrets import token_bytes
from types import TracebackType
from typing import Any, Final, Self

from msgspec.structs import replace
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from samedeal.errors import CODES, Malformed, Refused
from samedeal.proof.commitments import nonce_commitment
from samedeal.proof.receipts import DigestKept, NonceKept, Receipts
from samedeal.race.events import Header
from samedeal.race.race import Standing
from samedeal.wire.codec import SUBPROTOCOLS, Form, UnknownMessage, decode_from_server, encode, header_sent
from samedeal.wire.messages import (
    FromServer,
    Hello,
    Join,
    Leave,
    Move,
    Nonce,
    Problem,
    Progress,
    Ready,
    Request,
    Resign,
    View,
    Watch,
    Welcome,
)
from samedeal_cli.failure import Declined, Failure, Unreachable
from samedeal_cli.net.addresses import is_local, may_redirect, settled
from samedeal_cli.net.http_api import plain
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.net.receipts import ReceiptBook
from samedeal_cli.net.sanitise import safe, safe_text

BACKOFF_S, LONGEST_BACKOFF_S = 0.25, 10.0
PATIENCE_S = 300.0
"""How long a lost connection is tried again before it is given up."""
ANSWER_S = 15.0
"""How long the server may take to greet."""
CLOSE_S = 1.0
"""How long the server may take to say goodbye."""
NONCE_AGAIN_S = 0.3
"""How long to wait before a nonce that the server could not take just now is sent again."""
_NEWS = 1024

PASSING: Final = ("store-unavailable", "too-many")
"""The codes of refusals that have nothing to do with what was asked: later it may be granted."""

# The close codes after which nobody need try again, with what they mean.
FINAL: Final = {
    1008: Failure("the server closed the connection: this program sends too many pings"),
    1009: Failure("the server closed the connection: a message was too large"),
    4001: Failure("the server closed the connection: it could not read a message"),
    4009: Declined("replaced", "you joined again from somewhere else; to play as another player, use --as NAME"),
}


PROGRAM: Final = f"samedeal-cli/{metadata.version('samedeal')}"
READER: Final = f"this client (samedeal {metadata.version('samedeal')})"


@dataclass(frozen=True)
class Lost:
    """The connection is gone; it is being tried again. The race's clock runs.

    The seat is reserved, except before the countdown: then the server holds it for a short time only.
    """

    why: str


@dataclass(frozen=True)
class Restored:
    """The connection is back, and `view` is how things stand."""

    view: View


News = View | Progress | Lost | Restored


class _TokenUnknown(Declined):
    """The server does not know, or no longer knows, who had this token."""


class _NotNow(Declined):
    """The server could not take one in at the moment."""


@dataclass
class _Unanswered:
    request: Request
    answer: asyncio.Future[View]
    resent: bool = False


class Connection:
    """A seat in a race, or with ``watch=True`` a place to look on; an asynchronous context manager.

    ``view`` is always the newest one. Iterating gives what the server says unasked. Requests such as ``move`` answer
    with a view, or raise Refused with the server's reason. What cannot be mended raises Failure, in both.
    """

    def __init__(
        self,
        server: str,
        race: str,
        *,
        name: str | None = None,
        token: str | None = None,
        watch: bool = False,
        bot: bool = False,
        legal: bool = True,
        form: Form = "msgpack",
        nonces: Nonces | None = None,
        keep_in: Path | None = None,
        on_welcome: Callable[[Welcome], None] | None = None,
        on_message: Callable[[FromServer], None] | None = None,
    ) -> None:
        """With a token one comes back as who one was; with a name, or if the token is no longer known, as a new guest.

        The same ``nonces`` give the same nonce for the same seat until it is opened, so that a program that was started
        again can still open its commitment. The receipts are kept in the state directory `keep_in`; without one they
        last as long as the connection.
        """
        self.server = server
        self.race = race
        self.name = name
        self.token = token
        self.welcome: Welcome
        self.view: View
        self.header: Header
        self.standings: tuple[Standing, ...] = ()
        self._watch, self._bot, self._legal, self._form = watch, bot, legal, form
        self._nonces = nonces or Nonces(token_bytes(32))
        self._keep_in = keep_in
        self._book: ReceiptBook | None = None  # when it is known what race this is
        self._nonce = b""  # when it has been opened
        self._sent: dict[str, Any] = {}  # the newest header as the server sent it
        self._late = True  # whether the seat was never seen before the countdown
        self._on_welcome, self._on_message = on_welcome, on_message
        self._ids = count(1)
        self._unanswered: dict[int, _Unanswered] = {}
        self._news: asyncio.Queue[News | Exception | None] = asyncio.Queue(_NEWS)
        self._socket: ClientConnection
        self._up = False
        self._nonce_id: int | None = None  # of the request in which it was sent over this socket
        self._opening: asyncio.Task[None] | None = None
        self._viewed_at = 0.0
        self._standings_n = -1
        self._moving = asyncio.Lock()
        self._failure: Failure | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Connect once, greet, and take the seat. Raises Unreachable, or Declined with the server's reason."""
        await self._attach()
        self._task = asyncio.create_task(self._stay())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in filter(None, (self._task, self._opening)):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._socket.close()

    async def __aiter__(self) -> AsyncIterator[News]:
        """What the server says unasked, and losses; ends when the server hangs up after the race."""
        while (news := await self._news.get()) is not None:
            if isinstance(news, Exception):
                raise news
            yield news

    # What can be asked.

    async def ready(self, ready: bool = True) -> View:
        return await self.ask(Ready(id=next(self._ids), ready=ready))

    async def move(self, move: str) -> View:
        """Make a move from where the own table stands. One that was lost on the way is sent again by itself."""
        async with self._moving:
            ply = self.view.board.ply if self.view.board else 0
            return await self.ask(Move(id=next(self._ids), move=move, ply=ply))

    async def resign(self) -> View:
        return await self.ask(Resign(id=next(self._ids)))

    async def leave(self) -> View:
        return await self.ask(Leave(id=next(self._ids)))

    async def ask(self, request: Request) -> View:
        """The view that answers a request. While the connection is lost this waits for its return."""
        if self._failure:
            raise self._failure
        waiting = _Unanswered(request, asyncio.get_running_loop().create_future())
        self._unanswered[request.id] = waiting
        try:
            await self._send(request)
            return await waiting.answer
        finally:
            del self._unanswered[request.id]

    @property
    def receipts(self) -> Receipts:
        """What the server has said of the race so far, to be held against the replay."""
        if self._book is None:
            raise Failure("no race has been joined")
        return self._book.receipts

    @property
    def seat(self) -> int | None:
        return self.view.seat

    @property
    def standing(self) -> Standing | None:
        """The own standing."""
        return next((standing for standing in self.standings if standing.seat == self.view.seat), None)

    @property
    def left_ms(self) -> int | None:
        """How long the countdown or the race still lasts, by the newest view and the time since."""
        if self.view.clock_ms is None:
            return None
        return max(0, self.view.clock_ms - round((time.monotonic() - self._viewed_at) * 1000))

    @property
    def over(self) -> bool:
        return self.view.stage in ("over", "cancelled")

    # The way in.

    async def _attach(self) -> None:
        """Open a socket, greet, and take the seat or look on; as a new guest if the token is known no more."""
        try:
            await self._enter()
        except _TokenUnknown:
            if not self.name:
                raise
            self.token = None
            await self._enter()

    async def _enter(self) -> None:
        socket = await self._opened()
        try:
            async with asyncio.timeout(ANSWER_S):
                self.welcome = await self._greeted(socket)
                self.token = self.welcome.token or self.token
                if self._on_welcome:
                    self._on_welcome(self.welcome)
                request = self._entrance()
                await socket.send(encode(request, self._form))
                await self._until_seated(socket, request.id)
        except TimeoutError as error:
            await socket.close()
            raise Unreachable(self.server, "the server did not respond in time") from error
        except ConnectionClosed as error:
            raise self._closed(socket) from error
        except BaseException:
            await socket.close()
            raise
        self._socket, self._up, self._nonce_id = socket, True, None
        if self.view.stage == "open":
            self._nonce, self._late = b"", False

    async def _opened(self) -> ClientConnection:
        protocol = next(name for name, form in SUBPROTOCOLS.items() if form == self._form)
        try:
            return await _Connect(
                f"ws{self.server.removeprefix('http')}/ws",
                subprotocols=[Subprotocol(protocol)],
                compression=None,
                close_timeout=CLOSE_S,
                proxy=None if is_local(self.server) else True,
                user_agent_header=PROGRAM,
            )
        except OSError as error:
            raise Unreachable(self.server, plain(error)) from error
        except (InvalidHandshake, InvalidURI) as error:
            raise Unreachable(self.server, f"cannot open a WebSocket connection: {plain(error)}") from error

    async def _greeted(self, socket: ClientConnection) -> Welcome:
        hello = Hello(id=next(self._ids), client=PROGRAM)
        hello = replace(hello, token=self.token) if self.token else replace(hello, name=self.name or "guest")
        await socket.send(encode(hello, self._form))
        message = await self._heard(socket)
        if isinstance(message, Welcome):
            return message
        if isinstance(message, Problem):
            raise _refusal(message)
        raise Unreachable(self.server, "not a Same Deal server")

    def _entrance(self) -> Join | Watch:
        if self._watch:
            return Watch(id=next(self._ids), race=self.race)
        commitment = nonce_commitment(self.race, self._nonces.nonce(self._place, opened=False))
        return Join(id=next(self._ids), race=self.race, commitment=commitment, bot=self._bot, legal=self._legal)

    async def _until_seated(self, socket: ClientConnection, re: int) -> None:
        while True:
            match message := await self._heard(socket):
                case Problem(re=answered) if answered == re:
                    raise _refusal(message)
                case View():
                    self._take(message)
                    if message.re == re:
                        break
                case _:
                    pass
        if self._book is None:
            raise Unreachable(self.server, "the server did not send the race header")

    async def _heard(self, socket: ClientConnection) -> FromServer:
        while True:
            with suppress(UnknownMessage):  # a newer server says more than this version knows
                return self._decoded(await socket.recv())

    # While it lasts.

    async def _stay(self) -> None:
        """Hear the server out, over as many sockets as it takes."""
        try:
            while True:
                await self._open_nonce()
                await self._resend()
                await self._listen()
                if self.over:
                    self._tell(None)
                    return
                self._check_final()
                self._tell(Lost(_why(self._socket)))
                await self._return()
                self._tell(Restored(self.view))
        except Failure as failure:
            self._failure = failure
            self._tell(failure)
        except Exception as error:  # of whoever wanted to hear every message
            self._tell(error)
        finally:
            self._up = False
            if not self._failure:
                self._failure = Failure("the connection is closed")
            self._refuse_unanswered(self._failure)

    async def _listen(self) -> None:
        """Take what comes in until the socket closes."""
        with suppress(ConnectionClosed):
            while True:
                self._receive(await self._heard(self._socket))
                await self._open_nonce()
        self._up = False

    def _receive(self, message: FromServer) -> None:
        match message:
            case View():
                self._take(message)
                if not self._answered(message.re, message):
                    self._tell(message)
            case Progress():
                self._rank(message.n, message.standings)
                self._tell(message)
            case Problem():
                self._declined(message)
            case _:
                pass

    def _take(self, view: View) -> None:
        self.view = view
        self._viewed_at = time.monotonic()
        self._rank(view.n, view.standings)
        if self._book:
            self._book.note(DigestKept(view.n, view.h))

    def _check(self, header: Header) -> None:
        """See to it that this is the race that was asked for, and still the same when it is entered again."""
        if header.race != self.race:
            raise Unreachable(self.server, f"the server sent race {header.race} instead of {self.race}")
        if self._book is None:
            self.header, self._book = safe(header), ReceiptBook(header, self._keep_in, sent=self._sent)
        if header != self._book.header:
            raise Failure(
                f"{self.race} is no longer the race you joined: the server has opened a new race with the same id"
            )

    def _rank(self, n: int, standings: tuple[Standing, ...]) -> None:
        if n >= self._standings_n:
            self._standings_n, self.standings = n, standings

    def _answered(self, re: int | None, view: View) -> bool:
        """Whether somebody waited for this view; one that answers a nonce is news like any other."""
        waiting = self._unanswered.get(re) if re is not None else None
        if waiting and not waiting.answer.done():
            waiting.answer.set_result(view)
        return waiting is not None

    def _declined(self, problem: Problem) -> None:
        if problem.re is not None and problem.re == self._nonce_id and problem.code in PASSING:
            self._opening = asyncio.create_task(self._open_again())
        waiting = self._unanswered.get(problem.re) if problem.re is not None else None
        if not waiting or waiting.answer.done():
            return
        if waiting.resent and problem.code in ("untimely", "not-playing") and not isinstance(waiting.request, Move):
            # It had been done before the answer was lost.
            waiting.answer.set_result(self.view)
        elif problem.code in CODES:
            waiting.answer.set_exception(Refused(problem.code, problem.detail))
        else:
            waiting.answer.set_exception(Declined(problem.code, problem.detail))

    async def _open_nonce(self) -> None:
        """Open the commitment once the countdown has begun; once for each socket, in case it was lost on the way.

        Only for a sealed deal: others follow from no nonce.
        """
        counting = self.header.sealed and self.view.stage == "countdown"
        if counting and self.view.seat is not None and self._nonce_id is None:
            self._nonce_id = next(self._ids)
            if not self._nonce:
                self._nonce = self._nonces.nonce(self._place, opened=self._late)
                self._nonces.note(self._place)
            if self._book:
                self._book.note(NonceKept(self.view.seat, self._nonce.hex()))
            await self._send(Nonce(id=self._nonce_id, nonce=self._nonce.hex()))

    async def _open_again(self) -> None:
        """Open it once more after a pause: who has not opened it when the cards are dealt is not dealt to."""
        await asyncio.sleep(NONCE_AGAIN_S)
        self._nonce_id = None
        await self._open_nonce()

    async def _send(self, request: Request) -> None:
        """Send if there is a socket; what is not answered is sent again when there is one."""
        if self._up:
            with suppress(ConnectionClosed):
                await self._socket.send(encode(request, self._form))

    async def _resend(self) -> None:
        for waiting in tuple(self._unanswered.values()):
            waiting.resent = True
            await self._send(waiting.request)

    async def _return(self) -> None:
        """Take up the seat again, with growing pauses of random length, so that not all come back at once."""
        until = time.monotonic() + PATIENCE_S
        for attempt in count():
            longest = min(LONGEST_BACKOFF_S, BACKOFF_S * 2 ** min(attempt, 10))
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 (no secret)
            try:
                return await self._attach()
            except (Unreachable, _NotNow):
                if time.monotonic() > until:
                    raise
        raise AssertionError

    # The end.

    def _check_final(self) -> None:
        if self._socket.close_code in FINAL:
            raise FINAL[self._socket.close_code]

    def _closed(self, socket: ClientConnection) -> Failure:
        code = socket.close_code or 1006
        if code == 4003:
            return _TokenUnknown("bad-token", "the server does not know this token")
        if code in FINAL:
            return FINAL[code]
        return Unreachable(self.server, _why(socket))

    def _refuse_unanswered(self, failure: Failure) -> None:
        for waiting in self._unanswered.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(failure)

    def _tell(self, news: News | Exception | None) -> None:
        if self._news.full():
            self._news.get_nowait()
        self._news.put_nowait(news)

    def _decoded(self, packet: str | bytes) -> FromServer:
        data = packet.encode() if isinstance(packet, str) else packet
        try:
            sent = decode_from_server(data, self._form)
        except UnknownMessage:
            raise
        except (Malformed, Refused) as error:
            self._check_readable(data)
            raise Unreachable(self.server, f"not a valid Same Deal message: {plain(error)}") from error
        if isinstance(sent, View) and sent.header:
            self._sent = header_sent(data, self._form)
            self._check(sent.header)  # as it was sent, since the receipt has to match the replay
        message = safe(sent)
        if self._on_message:
            self._on_message(message)
        return message

    def _check_readable(self, data: bytes) -> None:
        """Raises Declined if the message has a header of this race, which is then from a newer version."""
        with suppress(Malformed, Refused):
            sent = header_sent(data, self._form)
            if sent.get("race") == self.race:
                text = (
                    f"{self.race} uses {safe_text(str(sent.get('rules')))}, which {READER} cannot read; update samedeal"
                )
                raise Declined("unsupported-version", text)

    @property
    def _place(self) -> str:
        """What the nonce belongs to."""
        return f"{settled(self.server)}|{self.race}|{self.welcome.player}"


class _Connect(connect):
    """Follows a redirect only where it leads to the same server: the token is sent to nobody else."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        uri, target = self.uri, super().process_redirect(exc)
        return target if isinstance(target, Exception) or may_redirect(uri, target) else exc


def _refusal(problem: Problem) -> Declined:
    """Why one was not let in."""
    kind = _TokenUnknown if problem.code == "bad-token" else _NotNow if problem.code in PASSING else Declined
    return kind(problem.code, problem.detail)


def _why(socket: ClientConnection) -> str:
    code, reason = socket.close_code, socket.close_reason
    known = {
        1001: "the server is shutting down",
        1011: "the server had an internal error",
        1012: "the server is restarting",
    }
    known |= {1013: "the server is busy", 4008: "this program read too slowly"}
    return safe_text(reason or "") or known.get(code or 0, "the connection was lost")
