"""The connection of a client to one race. It survives disconnects and resends requests without a response."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final, NamedTuple, Self, TypeVar

from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed

from samedeal.commitments import nonce_commitment
from samedeal.errors import CODES, Refused
from samedeal.proof.receipts import DigestReceipt, NonceReceipt, Receipts
from samedeal.race.events import RACE_FORMAT, Header
from samedeal.wire import messages as m
from samedeal_cli.addresses import canonical_address
from samedeal_cli.failure import Declined, Failure, NameRefused, Unreachable
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.live_view import LiveView
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.net.receipts import ReceiptBook
from samedeal_cli.net.transport import PROGRAM, TRANSIENT_CODES, TemporarilyRefused, Transport, UnknownToken, refusal
from samedeal_cli.sanitise import safe

BACKOFF_S, LONGEST_BACKOFF_S = 0.25, 10.0
MAX_RECONNECT_S = 300.0
"""How long to try to reconnect."""
GREETING_S: Final = 15.0
"""Maximum wait for the server's welcome and the first view."""
NONCE_AGAIN_S = 0.3
"""Delay before a nonce is sent again after a temporary refusal."""
_QUEUE_SIZE: Final = 1024
Answer = TypeVar("Answer", bound=m.Reply)


class Lost(NamedTuple):
    """The connection was lost and is being reopened. The race's clock keeps running.

    The seat is reserved, but before the countdown only for a short time.
    """

    why: str


class Restored(NamedTuple):
    """The connection is back. `view` is the current view."""

    view: m.View


@dataclass
class _Pending:
    """A request without an answer yet. It outlives the socket on which it was sent."""

    request: m.Request
    answer: asyncio.Future[m.FromServer]
    resent: bool = False


News = m.View | m.Progress | m.Reaction | Lost | Restored


class Connection(LiveView):
    """A player's or, with ``watch=True``, a spectator's connection; an asynchronous context manager.

    ``view`` is the newest view. Iterate over the connection to receive news. Methods such as ``move`` return the view
    that answers the request, or raise Refused. Both raise Failure when the connection cannot continue.
    """

    def __init__(
        self,
        server: str,
        race_id: str,
        *,
        name: str | None = None,
        token: str | None = None,
        watch: bool = False,
        bot: bool = False,
        features: tuple[str, ...] = (),
        nonces: Nonces | None = None,
        keep_in: Path | None = None,
        on_welcome: Callable[[m.Welcome], None] | None = None,
        on_message: Callable[[m.FromServer], None] | None = None,
    ) -> None:
        """A valid `token` identifies a known player. Otherwise, `name` is the name of a new guest.

        `nonces` must be the same after a restart, so that the program can reveal a nonce it has committed to. Receipts
        are stored in the state directory `keep_in`; by default, in memory only. `features` are those named in Hello.
        """
        super().__init__()
        self.server = server
        self.race_id = race_id
        self.name = name
        self.token = token
        self.welcome: m.Welcome
        self.header: Header
        self._watch, self._bot = watch, bot
        self._features, self._keep_in = features, keep_in
        self._book: ReceiptBook | None = None  # once the header is known
        self._nonces = nonces or Nonces(token_bytes(32))
        self._nonce = b""  # once it is revealed
        self._nonce_id: int | None = None  # the id of the request that revealed it on this socket
        self._seen_open = False  # whether a view before the countdown was received
        self._on_welcome, self._on_message = on_welcome, on_message
        self._ids = count(1)
        self._pending: dict[int | None, _Pending] = {}
        self._news: asyncio.Queue[News | Exception | None] = asyncio.Queue(_QUEUE_SIZE)
        self._transport: Transport
        self._is_open = False
        self._moving = asyncio.Lock()
        self._failure: Failure | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Connect and take the seat, without retrying; as a new guest if the server does not know the token.

        Raises Unreachable or Declined.
        """
        try:
            await self._join()
        except UnknownToken:
            if not self.name:
                raise
            self.token = None
            await self._join()
        except Declined as refused:
            find = Api(self.server).successor
            if refused.code != "untimely" or not (successor := await asyncio.to_thread(find, self.race_id)):
                raise
            self.race_id = successor
            await self._join()
        self._tasks.append(asyncio.create_task(self._run()))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._transport.close()

    async def __aiter__(self) -> AsyncIterator[News]:
        """Yield unsolicited messages and disconnects until the server closes the connection after the race."""
        while (news := await self._news.get()) is not None:
            if isinstance(news, Exception):
                raise news
            yield news

    # Requests.

    async def ready(self, ready: bool = True) -> m.View:
        return await self.request(m.Ready(id=0, ready=ready))

    async def move(self, move: str) -> m.View:
        """Make a move on the current table. A move that is lost with the connection is sent again."""
        async with self._moving:
            ply = self.view.board.ply if self.view.board else 0
            return await self.ask(m.Move(id=next(self._ids), move=move, ply=ply), m.View)

    async def resign(self) -> m.View:
        return await self.request(m.Resign(id=0))

    async def request(self, request: m.Request) -> m.View:
        """Send a request that a view answers. Its id is replaced."""
        return await self.ask(replace(request, id=next(self._ids)), m.View)

    async def react(self, reaction: m.ReactionName) -> m.Reaction:
        return await self.ask(m.React(id=next(self._ids), reaction=reaction), m.Reaction)

    async def ask(self, request: m.Request, kind: type[Answer]) -> Answer:
        """Return the answer to a request. While the connection is lost, this waits for a new one.

        Raises Refused, or Declined for a code that this version lacks.
        """
        if self._failure:
            raise self._failure
        pending = self._pending[request.id] = _Pending(request, asyncio.get_running_loop().create_future())
        try:
            await self._send(request)
            answer = await pending.answer
        finally:
            del self._pending[request.id]
        if not isinstance(answer, kind):
            raise Unreachable(self.server, "the server sent the wrong kind of answer")
        return answer

    # State.

    @property
    def receipts(self) -> Receipts:
        """What the server has said about the race so far, to check against the replay."""
        if self._book is None:
            raise Failure("no race has been joined")
        return self._book.receipts

    # Connecting.

    async def _join(self) -> None:
        """Open a socket and take the seat."""
        transport = await Transport.open(self.server, self.race_id)
        try:
            async with asyncio.timeout(GREETING_S):
                self.welcome = await self._greet(transport)
                self.token = self.welcome.token or self.token
                if self._on_welcome:
                    self._on_welcome(self.welcome)
                request = self._join_request()
                await transport.send(request)
                await self._wait_for_view(transport, request.id)
        except TimeoutError as error:
            await transport.close()
            raise Unreachable(self.server, "the server did not respond in time") from error
        except ConnectionClosed as error:
            raise transport.failure from error
        except BaseException:
            await transport.close()
            raise
        self._transport, self._is_open, self._nonce_id = transport, True, None
        if self.view.stage == "open":
            self._nonce, self._seen_open = b"", True

    async def _greet(self, transport: Transport) -> m.Welcome:
        hello = m.Hello(id=next(self._ids), client=PROGRAM, format=RACE_FORMAT, features=self._features)
        hello = replace(hello, token=self.token) if self.token else replace(hello, name=self.name or "guest")
        await transport.send(hello)
        message = await self._receive(transport)
        if isinstance(message, m.Welcome):
            return message
        if isinstance(message, m.Problem):
            raise NameRefused(f"{hello.name}", message.detail) if message.code == "name-refused" else refusal(message)
        raise Unreachable(self.server, "not a Same Deal server")

    def _join_request(self) -> m.Join | m.Watch:
        if self._watch:
            return m.Watch(id=next(self._ids), race=self.race_id)
        commitment = nonce_commitment(self.race_id, self._nonces.nonce(self._nonce_key, opened=False))
        return m.Join(id=next(self._ids), race=self.race_id, commitment=commitment, bot=self._bot)

    async def _wait_for_view(self, transport: Transport, request_id: int) -> None:
        while True:
            match message := await self._receive(transport):
                case m.Problem(re=re, code=code, detail=detail) if re == request_id:
                    where = f" on {self.server}" if code == "not-found" else ""
                    raise refusal(replace(message, detail=detail.rstrip(".") + where))
                case m.View():
                    self._apply_view(message)
                    if message.re == request_id:
                        break
        if self._book is None:
            raise Unreachable(self.server, "the server did not send the race header")

    async def _reconnect(self) -> None:
        """Take the seat again, with exponential backoff and jitter."""
        deadline, longest = time.monotonic() + MAX_RECONNECT_S, BACKOFF_S
        while True:
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 (no secret)
            try:
                return await self._join()  # an unknown token ends the race here: the device has logged out
            except (Unreachable, TemporarilyRefused):
                if time.monotonic() > deadline:
                    raise
            longest = min(LONGEST_BACKOFF_S, 2 * longest)

    # The background task.

    async def _run(self) -> None:
        """Receive messages and reconnect until the race is over."""
        try:
            while True:
                await self._reveal_nonce()
                for pending in tuple(self._pending.values()):
                    pending.resent = True
                    await self._send(pending.request)
                await self._listen()
                if self.over:
                    self._publish(None)
                    return
                if failure := self._transport.fatal_failure:
                    raise failure
                self._publish(Lost(self._transport.close_reason))
                await self._reconnect()
                self._publish(Restored(self.view))
        except Failure as failure:
            self._failure = failure
            self._publish(failure)
        except Exception as error:  # from on_message
            self._publish(error)
        finally:
            self._is_open = False
            self._failure = self._failure or Failure("the connection is closed")
            for pending in self._pending.values():
                if not pending.answer.done():
                    pending.answer.set_exception(self._failure)

    async def _listen(self) -> None:
        """Handle messages until the socket closes."""
        with suppress(ConnectionClosed):
            while True:
                self._handle(await self._receive(self._transport))
                await self._reveal_nonce()
        self._is_open = False

    async def _receive(self, transport: Transport) -> m.FromServer:
        received, header = await transport.receive()
        if isinstance(received, m.View) and received.header:
            self._check_header(received.header, header)  # unsanitised, because receipts must match the replay
        message = safe(received)
        if self._on_message:
            self._on_message(message)
        return message

    def _handle(self, message: m.FromServer) -> None:
        match message:
            case m.View():
                self._apply_view(message)
                if not self._resolve(message):
                    self._publish(message)
            case m.Progress():
                self.apply_standings(message)
                self._publish(message)
            case m.Reaction(re=None):
                self._publish(message)
            case m.Problem(re=re, code=code):
                if re is not None and re == self._nonce_id and code in TRANSIENT_CODES:
                    self._tasks.append(asyncio.create_task(self._reveal_nonce_again()))
                self._refuse(message)
            case _:
                self._resolve(message)

    def _resolve(self, message: m.FromServer) -> bool:
        """Return whether a message answers a pending request."""
        pending = self._pending.get(message.re)
        if pending and not pending.answer.done():
            pending.answer.set_result(message)
        return pending is not None

    def _refuse(self, problem: m.Problem) -> None:
        """Let a pending request fail, unless it was executed when it was first sent, and only its response was lost."""
        pending = self._pending.get(problem.re)
        if not pending or pending.answer.done():
            return
        if pending.resent and problem.code in ("untimely", "not-playing") and not isinstance(pending.request, m.Move):
            pending.answer.set_result(self.view)
        else:
            error = Refused if problem.code in CODES else Declined
            pending.answer.set_exception(error(problem.code, problem.detail))

    def _apply_view(self, view: m.View) -> None:
        self.apply_view(view)
        if self._book:
            self._book.note(DigestReceipt(view.n, view.h))

    def _check_header(self, header: Header, sent: dict[str, Any]) -> None:
        """Raises Failure if the header is not of this race, or has changed since the client joined."""
        if header.race != self.race_id:
            raise Unreachable(self.server, f"the server sent race {header.race} instead of {self.race_id}")
        if self._book is None:
            self.header, self._book = safe(header), ReceiptBook(header, self._keep_in, sent=sent)
        if header != self._book.header:
            raise Failure(f"{self.race_id} is no longer the race you joined: the server has opened it again")

    async def _reveal_nonce(self) -> None:
        """During the countdown of a sealed deal, reveal the nonce, once per socket in case it was lost."""
        counting_down = self.header.sealed and self.view.stage == "countdown"
        if counting_down and self.view.seat is not None and self._nonce_id is None:
            self._nonce_id = next(self._ids)
            if not self._nonce:
                self._nonce = self._nonces.nonce(self._nonce_key, opened=not self._seen_open)
                self._nonces.note(self._nonce_key)
            if self._book:
                self._book.note(NonceReceipt(self.view.seat, self._nonce.hex()))
            await self._send(m.Nonce(id=self._nonce_id, nonce=self._nonce.hex()))

    async def _reveal_nonce_again(self) -> None:
        """Retry after a pause. A player whose nonce is missing at the deal gets no cards."""
        await asyncio.sleep(NONCE_AGAIN_S)
        self._nonce_id = None
        await self._reveal_nonce()

    @property
    def _nonce_key(self) -> str:
        """Identifies the server, race and player of the nonce."""
        return f"{canonical_address(self.server)}|{self.race_id}|{self.welcome.player}"

    async def _send(self, request: m.Request) -> None:
        """Send a request if the socket is open. Otherwise, it is resent later."""
        if self._is_open:
            with suppress(ConnectionClosed):
                await self._transport.send(request)

    def _publish(self, news: News | Exception | None) -> None:
        if self._news.full():
            self._news.get_nowait()
        self._news.put_nowait(news)
