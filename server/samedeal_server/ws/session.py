"""A session: one WebSocket connection, what it asks and what it hears. It never decides anything: rooms do."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from secrets import token_hex
from typing import Any, Literal, Protocol, assert_never

from starlette.websockets import WebSocketDisconnect

from samedeal.errors import Malformed, Refused
from samedeal.names import normalised
from samedeal.race.events import AnyEvent, Entry, Joined, Left, Moved, Nonce, Readied, Resigned, Taken, Unreadied
from samedeal.race.race import Race
from samedeal.wire import codec, views
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.access.network import network
from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.http.well_known import PROGRAM
from samedeal_server.ops import metrics
from samedeal_server.ops.logging_setup import about
from samedeal_server.races.registry import Registry
from samedeal_server.races.room import Room
from samedeal_server.settings import Settings
from samedeal_server.store.guests import Guest, Guests

logger = logging.getLogger(__name__)

PROGRESS_EVERY_S = 0.25

ENTERING = (m.Hello, m.Join, m.Watch)
"""The requests that let somebody in."""

Deed = Callable[[Race, int], Iterable[AnyEvent]]
"""What a request comes to, for the race as it stands and the seat of the one who asks."""


class Closing(Exception):
    """The connection is to be closed, with a code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Socket(Protocol):
    """An open WebSocket. Whoever sends or closes when the other side has gone hears WebSocketDisconnect, or nothing."""

    def receive(self) -> Awaitable[MutableMapping[str, Any]]:
        """What comes next, as ASGI has it."""

    def send_now(self, data: bytes, *, text: bool) -> bool:
        """Sends a message if nobody has to wait for that, and says whether it has."""

    async def send(self, data: bytes, *, text: bool) -> None: ...
    async def close(self, code: int, reason: str) -> None: ...


class Session:
    """Reads requests one after another; what cannot be sent on the spot is sent by a task that waits until it can."""

    def __init__(
        self,
        socket: Socket,
        form: codec.Form,
        registry: Registry,
        guests: Guests,
        rate_limits: RateLimits,
        turns: asyncio.Semaphore,
        settings: Settings,
        *,
        address: str = "",
        bearer: str | None = None,
    ) -> None:
        """`turns` are shared by all sessions: so many at once say hello, or enter a race.

        `address` is the one that the connection comes from, `bearer` a token that came with it.
        """
        self._socket, self._form, self._registry, self._guests, self._settings = (
            socket,
            form,
            registry,
            guests,
            settings,
        )
        self._turns, self._rate_limits, self._address, self._bearer = turns, rate_limits, address, bearer
        self._name = token_hex(8)
        self._guest: Guest | None = None
        self._format = 1  # the newest race format that the client reads
        self._features = frozenset[str]()  # the optional messages that the client asked for
        self._room: Room | None = None
        self._seat: int | None = None
        self._taken = 0  # the entry by which this connection has its seat
        self._leaving = False
        self._connected_seat: int | None = None  # its seat in the room's presence, also after the seat was left
        self._legal = True
        self._answering = False  # whether an answer is under way: news wait for it, and a view takes their place
        self._away = False  # whether it is the store that keeps this guest waiting
        self._outbox = deque[bytes]()
        self._outbox_bytes = 0
        self._news: Literal["none", "progress", "view"] = "none"
        self._progress_from = 0.0
        self._progress_timer: asyncio.TimerHandle | None = None
        self._closing: Closing | None = None
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._bucket = float(settings.burst)
        self._filled_at = 0.0

    async def run(self) -> int:
        """Serves the connection until it ends; answers with the code that was given first, here or there."""
        sender = asyncio.create_task(self._send_all())
        ended: int = CloseCode.INTERNAL_ERROR
        try:
            await self._receive_all()
        except Closing as closing:
            self._close(closing)
        except WebSocketDisconnect as disconnect:
            ended = disconnect.code
            sender.cancel()
        except asyncio.CancelledError:
            sender.cancel()
            raise
        except Exception:
            logger.exception("a session failed", extra=self._about)
            self._close(Closing(CloseCode.INTERNAL_ERROR, "internal error"))
        finally:
            self._leave_room()
            if self._progress_timer:
                self._progress_timer.cancel()
            await asyncio.gather(sender, return_exceptions=True)
        return self._closing.code if self._closing else ended

    @property
    def seated(self) -> bool:
        """Whether this connection has a seat."""
        return self._seat is not None

    @property
    def _about(self) -> dict[str, object]:
        """What lines that this session logs are about."""
        return about(race=self._room.race.id if self._room else None, seat=self._seat, connection=self._name)

    def heard(self, race: Race, entries: Sequence[Entry]) -> None:
        """Tells the news of the race, or notes that there is some: which, is looked up when it can be sent."""
        if self._seat is not None and not self._mine(race):
            self._close(_replaced())
            return
        if self._seat is not None and race.seats[self._seat - 1].left and not self._leaving:
            # Released by a process that took this one for dead.
            self._close(Closing(CloseCode.TRY_AGAIN_LATER, "the seat was released; join again"))
            return
        for entry in entries:
            event = entry.event
            if not isinstance(event, Moved) or event.seat == self._seat:
                self._news = "view"
                self._tell_news()
                return
        if self._news == "none":
            self._news = "progress"
            self._tell_news()

    def _may_tell_progress(self) -> None:
        self._progress_timer = None
        self._tell_news()

    # Receiving.

    async def _receive_all(self) -> None:
        try:
            async with asyncio.timeout(self._settings.hello_timeout_ms / 1000):
                while self._guest is None:
                    await self._receive()
        except TimeoutError:
            raise (
                Closing(CloseCode.TRY_AGAIN_LATER, "the store is away")
                if self._away
                else Closing(CloseCode.MALFORMED, "no hello came")
            ) from None
        while True:
            await self._receive()

    async def _receive(self) -> None:
        packet = await self._socket.receive()
        if packet["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(packet.get("code", 1005))
        data: bytes = packet.get("bytes") or (packet.get("text") or "").encode()
        request: m.ToServer | None = None
        try:
            if (wait_s := self._over_rate_s()) > 0:
                await asyncio.sleep(wait_s)
            if len(data) > self._settings.message_bytes:
                raise Refused("too-large", f"A message has at most {self._settings.message_bytes} bytes.")
            if self._form == "msgpack" and packet.get("text") is not None:
                raise Malformed("it came as text, and JSON is spoken in the subprotocol samedeal.v1.json")
            request = codec.decode_to_server(data, self._form)
            self._answering = True
            if isinstance(request, ENTERING):
                async with self._turns:
                    await asyncio.sleep(0)  # those who play come in between, however large the crowd at the door
                    answer = await self._answer(request)
            else:
                answer = await self._answer(request)
        except Malformed as malformed:
            self._say(m.Problem.of(Refused("malformed", f"This is no message in {self._form}: {malformed}.")))
            raise Closing(CloseCode.MALFORMED, "malformed") from malformed
        except Refused as refused:
            answer = m.Problem.of(refused, request.id if request else codec.number(data, self._form))
            self._away = refused.code == "store-unavailable"
            if refused.code == "bad-token":
                self._say(answer)
                raise Closing(CloseCode.UNKNOWN_TOKEN, "the token is not known here") from refused
        finally:
            self._answering = False
        self._say(answer)
        self._tell_news()

    def _over_rate_s(self) -> float:
        """How long to wait so that the rate is kept: nothing is refused or lost, a flood only slows its sender down."""
        now, settings = self._loop.time(), self._settings
        earned = (now - self._filled_at) * settings.rate
        self._bucket, self._filled_at = min(float(settings.burst), self._bucket + earned) - 1, now
        return -self._bucket / settings.rate

    async def _answer(self, request: m.ToServer) -> m.FromServer:
        match request:
            case m.Move():  # first, because it is what most of them are
                return await self._make(request)
            case m.Hello():
                return await self._hello(request)
            case m.Ping(id=re):
                return m.Pong(re=re)
            case _ if self._guest is None:
                raise Refused("bad-token", "Say hello first.")
            case m.Join():
                return await self._join(request, self._guest)
            case m.Watch(id=re, race=race):
                await self._enter(race)
                return self._view(re, header=True)
            case m.Ready(ready=ready):
                return await self._submit(request, lambda race, seat: self._ready(race, seat, ready))
            case m.Nonce(nonce=nonce):
                return await self._submit(request, lambda race, seat: _nonce(race, seat, nonce))
            case m.Resign():
                return await self._submit(request, _resign)
            case m.Leave():
                self._leaving = True
                return await self._submit(request, _leave)
            case _:
                assert_never(request)

    async def _hello(self, hello: m.Hello) -> m.Welcome:
        if self._guest is not None:
            raise Refused("bad-message", "Hello is said once.")
        token: str | None = None
        self._away = True
        known_by = hello.token or (self._bearer if hello.name is None else None)
        if known_by is not None:
            try:
                guest = await self._guests.known(known_by)
            except Refused as refused:
                if refused.code == "bad-token":
                    self._rate_limits.wrong_tokens.take(self._address)
                raise
        elif hello.name is not None:
            normalised(hello.name)
            self._rate_limits.guests.take(self._address)
            guest, token = await self._guests.welcome(hello.name)
        else:
            raise Refused("bad-message", "Hello says a name or a token.")
        self._guest, self._format, self._features = guest, hello.format, frozenset(hello.features)
        logger.debug("%s says hello with %r", guest.player, hello.client, extra=self._about)
        return m.Welcome(re=hello.id, player=guest.player, name=guest.name, token=token, server=PROGRAM)

    async def _join(self, join: m.Join, guest: Guest) -> m.View:
        room = await self._readable(join.race)
        race = await room.submit(lambda race: _join(race, guest, join, self._name, seated=self._sits_in(race)))
        seat = race.seat_of(guest.player)
        if seat is None:
            raise Refused("not-seated")
        self._legal = join.legal
        self._sit(room, seat.number, seat.taken)
        if not self._mine(room.race):  # it was taken before this connection listened
            raise _replaced()
        return self._view(join.id, header=True)

    async def _enter(self, race: str) -> None:
        self._sit(await self._readable(race), None, 0)

    async def _readable(self, race: str) -> Room:
        """The room of a race. Raises Refused("unsupported-version") if the client cannot read the race."""
        room = await self._registry.room(race)
        if (needed := room.race.header.format) > self._format:
            text = f"This race needs race format {needed}; this client reads format {self._format}. Update the client."
            raise Refused("unsupported-version", text)
        return room

    def _sit(self, room: Room, seat: int | None, taken: int) -> None:
        self._leave_room()
        self._room, self._seat, self._taken, self._leaving = room, seat, taken, False
        room.listen(self)
        if seat is not None:
            self._connected_seat = seat
            room.connect(seat, taken)

    def _leave_room(self) -> None:
        if self._room:
            self._room.unlisten(self)
            if self._connected_seat is not None:
                self._room.disconnect(self._connected_seat, self._taken)
        self._room, self._seat, self._connected_seat, self._news = None, None, None, "none"

    async def _make(self, move: m.Move) -> m.View:
        game = self._room.race.header.game if self._room else "none"
        try:
            view = await self._submit(move, lambda race, seat: _move(race, seat, move.move, move.ply))
        except Refused as refused:
            metrics.answered(game, refused.code).inc()
            raise
        metrics.answered(game, "accepted").inc()
        return view

    async def _submit(self, request: m.Request, deed: Deed) -> m.View:
        room, number = self._room, self._seat
        if self._guest is None:
            raise Refused("bad-token", "Say hello first.")
        if room is None or number is None:
            raise Refused("not-seated", "Join a race first.")

        def proposal(race: Race) -> Iterable[AnyEvent]:
            if not self._mine(race):
                raise Refused("replaced")
            return deed(race, number)

        await room.submit(proposal)
        return self._view(request.id)

    def _ready(self, race: Race, number: int, ready: bool) -> list[AnyEvent]:
        """What a request to be ready comes to. Raises Refused("too-many") if its deal cannot be searched now."""
        events = _ready(race, number, ready)
        if ready and events and self._room:
            after, _ = race.extended(race.at, *events)
            self._room.deal.reserve(after, network(self._address))
        return events

    def _mine(self, race: Race) -> bool:
        """Whether this connection still has its seat, or has given it up itself."""
        seat = race.seats[self._seat - 1] if self._seat and self._seat <= len(race.seats) else None
        return seat is not None and seat.taken == self._taken

    def _sits_in(self, race: Race) -> bool:
        """Whether this connection has a seat in a race already, so that it need not take it from itself."""
        return self._room is not None and self._room.race.id == race.id and self._mine(race)

    # Sending.

    def _say(self, message: m.FromServer) -> None:
        """Has an answer sent. News never wait in line with answers, so none need be dropped: see _tell_news."""
        data = codec.encode(message, self._form)
        full = self._outbox_bytes + len(data) > self._settings.queue_bytes
        if self._outbox and (full or len(self._outbox) >= self._settings.queue_messages):
            raise Closing(CloseCode.TOO_SLOW, "too slow")
        if isinstance(message, m.View):
            self._news = "none"
        self._send(data)

    def _send(self, data: bytes) -> None:
        if self._outbox or not self._socket.send_now(data, text=self._form == "json"):
            self._outbox.append(data)
            self._outbox_bytes += len(data)
            self._wake.set()

    def _close(self, closing: Closing) -> None:
        self._closing = self._closing or closing
        self._wake.set()

    def _view(self, re: int | None = None, *, header: bool = False) -> m.View:
        if self._room is None:
            raise Refused("not-seated", "Join a race first.")
        race = self._room.race
        if self._seat is not None and race.seats[self._seat - 1].left:
            self._seat = None
        return views.view(race, self._seat, self._registry.clock.now(), re=re, legal=self._legal, header=header)

    async def _send_all(self) -> None:
        """Sends what had to wait until the connection is closed; without a sender there is no connection."""
        try:
            while not self._closing or self._outbox:
                await self._wake.wait()
                self._wake.clear()
                while self._outbox:
                    await self._socket.send(self._outbox[0], text=self._form == "json")
                    self._outbox_bytes -= len(self._outbox.popleft())
                self._tell_news()
            await self._socket.close(self._closing.code, self._closing.reason)
        except (WebSocketDisconnect, RuntimeError):
            return  # the peer has gone: the reader hears of it too
        except Exception:
            logger.exception("a session's sender failed", extra=self._about)
            await self._socket.close(CloseCode.INTERNAL_ERROR, "internal error")

    def _tell_news(self) -> None:
        """Tells the news, unless there are none or something is before them. Nobody else is harmed if that fails."""
        if self._news == "none" or self._answering or self._outbox or self._closing:
            return
        try:
            self._send_news()
        except Exception:
            logger.exception("a session failed to tell news", extra=self._about)
            self._close(Closing(CloseCode.INTERNAL_ERROR, "internal error"))

    def _send_news(self) -> None:
        """Sends the news: whole when it matters, progress at most every PROGRESS_EVERY_S."""
        if self._room is None:
            return
        now = self._loop.time()
        if self._news == "progress" and now < self._progress_from:
            if self._progress_timer is None:  # once, however many move until then
                self._progress_timer = self._loop.call_at(self._progress_from, self._may_tell_progress)
            return
        race, seat = self._room.race, self._seat
        whole = self._news == "view" or views.sees_boards(race, seat)
        if self._news == "progress":
            self._progress_from = now + PROGRESS_EVERY_S
        self._news = "none"

        def told() -> bytes:
            return codec.encode(self._view() if whole else views.progress(race, seat), self._form)

        alike = seat is None or not whole  # a whole view of who plays is that racer's alone
        kind = self._form, whole, seat is None
        self._send(self._room.shared_encoding(kind, told) if alike else told())


def _replaced() -> Closing:
    return Closing(CloseCode.REPLACED, "a newer connection has taken the seat")


# What requests come to, given the race as it stands. Each yields nothing if it has happened already.


def _join(race: Race, guest: Guest, join: m.Join, by: str, *, seated: bool) -> list[AnyEvent]:
    seat = race.seat_of(guest.player)
    joined = Joined(
        seat=race.seat_for(guest.player),
        player=guest.player,
        name=guest.name,
        bot=join.bot,
        commitment=join.commitment,
        by=by,
    )
    if seat is None:
        return [joined]
    if race.stage == "open" and join.commitment not in (None, seat.commitment):
        return [Left(seat=seat.number), joined]
    return [] if race.closed or seated else [Taken(seat=seat.number, by=by)]


def _leave(race: Race, number: int) -> list[AnyEvent]:
    return [] if race.seats[number - 1].left else [Left(seat=number)]


def _ready(race: Race, number: int, ready: bool) -> list[AnyEvent]:
    if race.seat(number).ready == ready:
        return []
    return [Readied(seat=number) if ready else Unreadied(seat=number)]


def _nonce(race: Race, number: int, nonce: str) -> list[AnyEvent]:
    return [] if race.seat(number).nonce == nonce else [Nonce(seat=number, nonce=nonce)]


def _move(race: Race, number: int, move: str, ply: int) -> list[AnyEvent]:
    run = race.seat(number).run
    if run and ply != len(run.moves):
        if ply < len(run.moves) and run.moves[ply] == move:
            return []
        raise Refused("stale-move", f"You have made {len(run.moves)} moves; this one was made after {ply}.")
    return [Moved(seat=number, move=move)]


def _resign(race: Race, number: int) -> list[AnyEvent]:
    run = race.seat(number).run
    return [] if run and run.resigned else [Resigned(seat=number)]
