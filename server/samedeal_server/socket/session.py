"""Session: the loop of one WebSocket connection. It reads requests and responds; rooms make all decisions."""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, NamedTuple, assert_never

from msgspec.structs import replace
from starlette.websockets import WebSocketDisconnect

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.race.events import AnyEvent
from samedeal.race.race import Race
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.requests import join_events
from samedeal_server.addresses import network
from samedeal_server.live.broadcast import Update
from samedeal_server.live.commands import Outcome
from samedeal_server.live.heats import join_exclusively
from samedeal_server.live.hosting import submit_as_host, submit_join, unseat
from samedeal_server.live.lobby_changes import Change, check_not_replaced
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematches import Rematches
from samedeal_server.live.room import Room
from samedeal_server.live.server_bots import add_bot, bring_bots
from samedeal_server.net import metrics
from samedeal_server.net.limits import BURST_S, MESSAGE_BYTES, REQUEST_S, Bucket, RateLimits, count_refusal
from samedeal_server.net.logs import about, about_request
from samedeal_server.settings import Settings
from samedeal_server.socket.login import Login
from samedeal_server.socket.outbox import REPLACED, REVOKED, Closing, Outbox, OutboxFull, Socket, removed
from samedeal_server.socket.participant import Participant
from samedeal_server.store.guest_tokens import Guest, Guests

logger = logging.getLogger(__name__)


class SessionServices(NamedTuple):
    """What the sessions of a process share."""

    registry: Registry
    rematches: Rematches
    guests: Guests
    rate_limits: RateLimits
    settings: Settings
    entry_slots: Mapping[type, asyncio.Semaphore]
    """They limit how many hellos, joins and watches are in progress."""


class Session:
    """Handles one request after another, for the race that the client plays or watches."""

    __slots__ = (
        "_about_client", "_closing", "_form", "_is_handling", "_is_moving", "_login", "_moved", "_name", "_network",
        "_outbox", "_participant", "_rate", "_revoked", "_services", "_socket",
    )  # fmt: skip

    def __init__(
        self,
        socket: Socket,
        form: codec.Form,
        services: SessionServices,
        *,
        address: str = "",
        request_id: str = "",
        bearer: str | None = None,
    ) -> None:
        """`address` is the client's. `request_id` is the handshake's, and `bearer` the token of its Authorization
        header.
        """
        settings = services.settings
        self._socket, self._form, self._services = socket, form, services
        self._network, self._name = network(address), token_hex(8)
        self._about_client = about_request(request_id, address)
        self._login = Login(services.guests, services.rate_limits, self._name, address, bearer)
        self._revoked = False
        self._participant: Participant | None = None
        self._is_handling = False  # whether the task has received a request and not handled it yet
        self._is_moving = False  # whether a move is in progress
        self._moved: asyncio.Future[None] | None = None  # while the task waits for that move
        self._rate = Bucket(settings.rate, BURST_S * settings.rate, asyncio.get_running_loop().time)
        self._outbox = Outbox(socket, text=form == "json", encode_update=self._encode_update, fail=self._fail)

    async def run(self) -> int:
        """Serve the connection until it ends. Return the first close code, from either side."""
        code: int = CloseCode.INTERNAL_ERROR
        try:
            await self._receive_all()
        except Closing as closing:
            self._outbox.close(closing.code, closing.reason)
        except WebSocketDisconnect as disconnect:
            code = disconnect.code
        except Exception:
            self._fail("a session failed")
        finally:
            if self._participant:
                self._participant.leave()
            await self._outbox.finish()
        return self._outbox.close_code or code

    @property
    def is_watching(self) -> bool:
        return self._participant is None or self._participant.is_watching

    def revoke(self, token_digests: Collection[str]) -> None:
        """Close the connection if its token is among the revoked ones."""
        if self._login.uses(token_digests):
            self._revoked = True  # the client may send more requests until it sees that the connection is closed
            self._outbox.close(*REVOKED)

    def expel(self, why: Refused, subject: str, *, resigns: bool) -> None:
        """Close the connection if a subject means its client, see ``subject_of``; `resigns` as in ``unseat``."""
        if self._login.is_meant_by(subject):
            if self._participant and self._login.guest:
                unseat(self._participant.room, self._login.guest.player, resigns=resigns)
                self._participant.leaving = True
            self._revoked = True
            self._outbox.close(*removed(why))

    def _close_released(self, code: int, reason: str) -> None:
        async def close() -> None:
            with suppress(Refused):
                await self._services.guests.bans.read()  # if the seat was released for one, it closes the connection
            self._outbox.close(code, reason)

        self._closing = asyncio.get_running_loop().create_task(close())

    def _fail(self, what: str) -> None:
        """Log the exception being handled, and close the connection."""
        race, seat = (None, None) if (at := self._participant) is None else (at.room.race.id, at.seat)
        logger.exception("%s", what, extra=about(race=race, seat=seat, connection=self._name) | self._about_client)
        self._outbox.close(CloseCode.INTERNAL_ERROR, "internal error")

    # Receiving.

    async def _receive_all(self) -> None:
        try:
            async with asyncio.timeout(REQUEST_S):
                while self._login.guest is None:
                    await self._receive()
        except TimeoutError:
            if self._login.waits_for_store:
                raise Closing(CloseCode.TRY_AGAIN_LATER, "the store is unavailable") from None
            raise Closing(CloseCode.MALFORMED, "hello timed out") from None
        if self._form == "msgpack":
            self._socket.offer_to(self._take_move)
        while True:
            await self._receive()

    def _take_move(self, data: bytes) -> bool:
        """Start a move in MessagePack as it arrives, and return True. No task waits for it, which saves about 9 µs.

        Return False, without effects, for anything else, and for a move that has to wait for other requests.
        """
        if self._is_handling or self._is_moving or self._outbox.close_code is not None:
            return False
        try:
            request = decoding.decode_to_server(data, "msgpack")
        except (Malformed, Refused):
            return False
        if not isinstance(request, m.Move) or not self._rate.take():
            return False
        self._start_move(request)
        return True

    async def _receive(self) -> None:
        packet = await self._socket.receive()
        self._is_handling = True
        try:
            if self._is_moving:
                self._moved = asyncio.get_running_loop().create_future()
                await self._moved
            await self._handle(packet)
        finally:
            self._is_handling = False

    async def _handle(self, packet: MutableMapping[str, Any]) -> None:
        if packet["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(packet.get("code", 1005))
        data: bytes = packet.get("bytes") or (packet.get("text") or "").encode()
        request: m.ToServer | None = None
        try:
            if (delay_s := self._rate.borrow()) > 0:
                metrics.MESSAGES_DELAYED.inc()
                await asyncio.sleep(delay_s)
            if len(data) > MESSAGE_BYTES:
                count_refusal("message_bytes", self._network)
                raise Refused("too-large", f"A message has at most {MESSAGE_BYTES} bytes.")
            if self._form == "msgpack" and packet.get("text") is not None:
                raise Malformed("it is text; for JSON use the subprotocol samedeal.v1.json")
            request = decoding.decode_to_server(data, self._form)
            self._outbox.holds_updates = True
            if self._revoked:
                raise Closing(*REVOKED)
            if isinstance(request, m.Move) and self._login.guest:
                self._start_move(request)
                return
            if isinstance(request, m.Join | m.Watch) and self._login.guest:
                await self._services.registry.enter(request.race, self._network)  # without a slot: this can take long
            if slots := self._services.entry_slots.get(type(request)):
                async with slots:
                    await asyncio.sleep(0)  # serve moves in between, however many clients arrive
                    response = await self._respond(request)
            else:
                response = await self._respond(request)
        except Malformed as malformed:
            self._send(m.Problem.of(Refused("malformed", f"This is not a valid {self._form} message: {malformed}.")))
            raise Closing(CloseCode.MALFORMED, "malformed") from malformed
        except Refused as refused:
            response = m.Problem.of(refused, request.id if request else decoding.number(data, self._form))
            if refused.code == "bad-token":
                self._send(response)
                raise Closing(CloseCode.UNKNOWN_TOKEN, "unknown token") from refused
        finally:
            self._outbox.holds_updates = self._is_moving
        self._send(response)
        self._outbox.flush_update()

    async def _respond(self, request: m.ToServer) -> m.FromServer:
        guest, at = self._login.guest, self._participant
        services, registry = self._services, self._services.registry
        match request:
            case m.Hello():
                return await self._login.hello(request)
            case m.Ping(id=re):
                return m.Pong(re=re)
            case _ if guest is None:
                raise Refused("bad-token", "Send hello first.")
            case m.Join():
                return await self._join(request, guest)
            case m.Watch(id=re, race=race_id):
                room = await registry.room(race_id)
                self._login.check_reads(room.race.header.format)
                return self._enter(room, request).view(re, header=True)
            case _ if at is None:
                raise Refused("not-seated", "Join a race first.")
            case m.Move() | m.Ready() | m.Nonce() | m.Resign():
                await at.room.submit(at.proposal(request, self._network))
            case m.Leave():
                at.leaving = True
                await at.room.submit(at.proposal(request, self._network))
            case m.Start() | m.Remove():
                await submit_as_host(at.room, guest, request, registry.live, self._network)
            case m.Bot(level=level):
                services.rate_limits.races.take(self._network)
                await add_bot(at.room, guest, registry, level)
            case m.Again(game=game, options=options, head_start=head_start):
                await services.rematches.ask_in(at.room, guest, self._network, Change(game, options, head_start))
            case m.React():
                registry.react(at.room, reaction := at.reaction(request))
                return replace(reaction, re=request.id)
            case _:
                assert_never(request)
        return at.view(request.id)

    def _join_events(self, request: m.Join, guest: Guest, race: Race) -> Iterable[AnyEvent]:
        at = self._participant
        seated = at is not None and at.room.race.id == race.id and at.owns_seat(race)
        return join_events(race, request, player=guest.player, name=guest.name, connection=self._name, has_seat=seated)

    async def _join(self, request: m.Join, guest: Guest) -> m.View:
        registry = self._services.registry
        room = await registry.room(request.race)
        self._login.check_reads(room.race.header.format)
        with room.pinned():
            await check_not_replaced(room, registry)
            await self._login.keep()
            if self._participant and self._participant.room is not room and room.race.header.heat:
                self._participant.leaving = True  # the player may leave another lobby on the same deal for this one
            join = partial(submit_join, room, guest, partial(self._join_events, request, guest), registry.live)
            race = await join_exclusively(room, guest.player, registry, join)
            await bring_bots(room, registry)
            if (seat := race.seat_of(guest.player)) is None:
                raise Refused("not-seated")
            at = self._enter(room, request, seat.number, seat.taken)
        if not at.owns_seat(room.race):  # another connection took it before this one subscribed
            raise Closing(*REPLACED)
        return at.view(request.id, header=True)

    def _enter(self, room: Room, request: m.Join | m.Watch, seat: int | None = None, taken: int = 0) -> Participant:
        if self._participant:
            self._participant.leave()
        self._participant = Participant(
            room, request, self._login, self._outbox, self._form, released=self._close_released, seat=seat, taken=taken
        )
        return self._participant

    def _entered(self) -> Participant:
        if self._participant is None:
            raise Refused("not-seated", "Join a race first.")
        return self._participant

    def _start_move(self, move: m.Move) -> None:
        """Submit a move. The room calls back when the log has it."""
        self._is_moving = self._outbox.holds_updates = True
        try:
            at = self._entered()
            at.room.propose(at.proposal(move, self._network), partial(self._finish_move, move))
        except Refused as refused:
            self._finish_move(move, refused)

    def _finish_move(self, move: m.Move, outcome: Outcome) -> None:
        """Respond to a move. Must not raise."""
        self._is_moving = self._outbox.holds_updates = False
        at = self._participant
        response: m.FromServer
        try:
            try:
                if isinstance(outcome, Exception):
                    raise outcome
                response, result = self._entered().answer(move.id), "accepted"
            except Refused as refused:
                response, result = m.Problem.of(refused, move.id), refused.code
            metrics.answered(at.room.race.header.game if at else "none", result).inc()
            self._send(response)
            self._outbox.flush_update()
        except Closing as closing:
            self._outbox.close(closing.code, closing.reason)
        except Exception:
            self._fail("a move failed")
        if self._moved and not self._moved.done():
            self._moved.set_result(None)

    def _send(self, message: m.FromServer) -> None:
        try:
            self._outbox.respond(codec.encode(message, self._form))
        except OutboxFull:
            raise Closing(CloseCode.TOO_SLOW, "too slow") from None
        if isinstance(message, (m.View, m.Changes)):
            self._outbox.discard_update(keeps_progress=isinstance(message, m.Changes))

    def _encode_update(self, update: Update) -> bytes:
        return self._entered().encode_update(update)
