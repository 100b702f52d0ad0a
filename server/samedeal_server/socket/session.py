"""Session: the loop of one WebSocket connection. It reads requests and responds; rooms make all decisions."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from functools import partial
from secrets import token_hex
from typing import Any, assert_never

from msgspec.structs import replace
from starlette.websockets import WebSocketDisconnect

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.race.events import AnyEvent, Entry, Joined, Moved
from samedeal.race.race import Race
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.requests import SeatRequest, join_events, seat_events
from samedeal_server.addresses import network
from samedeal_server.live.broadcast import Update
from samedeal_server.live.commands import Outcome, Proposal
from samedeal_server.live.hosting import reserve_deal, submit_as_host, submit_join, unseat
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematches import Rematches
from samedeal_server.live.room import Room
from samedeal_server.live.server_bots import add_bot, bring_bots
from samedeal_server.net import metrics
from samedeal_server.net.limits import BURST_S, MESSAGE_BYTES, REQUEST_S, Bucket, RateLimits, count_refusal
from samedeal_server.net.logs import about, about_request
from samedeal_server.settings import Settings
from samedeal_server.socket.connection_views import ConnectionViews
from samedeal_server.socket.login import Login
from samedeal_server.socket.moves import Moves
from samedeal_server.socket.outbox import REPLACED, REVOKED, Closing, Outbox, OutboxFull, Socket, removed
from samedeal_server.store.guest_tokens import Guest, Guests

logger = logging.getLogger(__name__)


class Session:
    """Handles one request after another, and listens to the race that the client plays or watches."""

    __slots__ = (
        "_about_client", "_connected_seat", "_entry_slots", "_form", "_is_handling", "_leaving", "_login", "_moves",
        "_name", "_network", "_outbox", "_rate", "_rate_limits", "_registry", "_rematches", "_revoked", "_room",
        "_seat", "_socket", "_taken", "_views",
    )  # fmt: skip

    def __init__(
        self,
        socket: Socket,
        form: codec.Form,
        registry: Registry,
        rematches: Rematches,
        guests: Guests,
        rate_limits: RateLimits,
        entry_slots: Mapping[type, asyncio.Semaphore],
        settings: Settings,
        *,
        address: str = "",
        request_id: str = "",
        bearer: str | None = None,
    ) -> None:
        """`entry_slots` limit how many hellos, joins and watches are in progress; all sessions share them.

        `address` is the client's. `request_id` is the handshake's, and `bearer` the token of its Authorization header.
        """
        self._socket, self._form, self._entry_slots = socket, form, entry_slots
        self._registry, self._rematches, self._rate_limits = registry, rematches, rate_limits
        self._network, self._name = network(address), token_hex(8)
        self._about_client = about_request(request_id, address)
        self._login = Login(guests, rate_limits, self._name, address, bearer)
        self._revoked = self._leaving = False
        self._room: Room | None = None
        self._seat: int | None = None
        self._taken = 0  # the number of the entry with which this connection took its seat
        self._connected_seat: int | None = None  # the seat that the room counts as connected, even after leaving it
        self._views = ConnectionViews()
        self._is_handling = False  # whether the task has received a request and not handled it yet
        self._rate = Bucket(settings.rate, BURST_S * settings.rate, asyncio.get_running_loop().time)
        self._moves = Moves(self._propose_move, self._finish_move, self._rate)
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
            self._outbox.cancel()
        except asyncio.CancelledError:
            self._outbox.cancel()
            raise
        except Exception:
            self._fail("a session failed")
        finally:
            self._leave_room()
            await self._outbox.finish()
        return self._outbox.close_code or code

    @property
    def is_watching(self) -> bool:
        return self._seat is None

    def revoke(self, token_digests: Collection[str]) -> None:
        """Close the connection if its token is among the revoked ones."""
        if self._login.uses(token_digests):
            self._revoked = True  # the client may send more requests until it sees that the connection is closed
            self._outbox.close(*REVOKED)

    def expel(self, why: Refused, subject: str, *, resigns: bool) -> None:
        """Close the connection if a subject means its client, see ``subject_of``; `resigns` as in ``unseat``."""
        if self._login.is_meant_by(subject):
            if self._room and self._login.guest:
                unseat(self._room, self._login.guest.player, resigns=resigns)
            self._revoked = self._leaving = True
            self._outbox.close(*removed(why))

    def on_entries(self, race: Race, entries: Sequence[Entry]) -> None:
        """Send an update of the race, encoded when it can be sent. Close if the seat was lost."""
        if not entries:
            self._outbox.update("view")
            return
        if self._seat is not None and not self._owns_seat(race) and not self._took_again(race, entries):
            self._outbox.close(*REPLACED)
            return
        if self._seat is not None and race.seats[self._seat - 1].left and not self._leaving:
            # Another process released it, assuming that this one had died.
            self._outbox.close(CloseCode.TRY_AGAIN_LATER, "the seat was released; join again")
            return
        for entry in entries:
            if not isinstance(event := entry.event, Moved) or event.seat == self._seat:
                self._outbox.update("view")
                return
        self._outbox.update("progress")

    def on_progress(self, race: Race) -> None:
        """Send an update of the standings, ghosts and number of watchers."""
        self._outbox.update("progress")

    def on_dropped(self) -> None:
        """Close, because this process cannot continue the race."""
        self._outbox.close(CloseCode.TRY_AGAIN_LATER, "the race cannot continue here; join again")

    def _on_reaction(self, reaction: m.Reaction) -> None:
        if reaction.seat != self._seat:  # the racer who sent it gets it as the response
            self._outbox.offer(codec.encode(reaction, self._form))

    def _fail(self, what: str) -> None:
        """Log the exception being handled, and close the connection."""
        extra = about(race=self._room.race.id if self._room else None, seat=self._seat, connection=self._name)
        logger.exception("%s", what, extra=extra | self._about_client)
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
        """Start a move unless other requests are ahead of it. Return whether it was started."""
        return not self._is_handling and self._outbox.close_code is None and self._moves.take(data)

    async def _receive(self) -> None:
        packet = await self._socket.receive()
        self._is_handling = True
        try:
            await self._moves.wait()
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
                self._moves.start(request)
                return
            if isinstance(request, m.Join | m.Watch) and self._login.guest:
                await self._registry.enter(request.race, self._network)  # without a slot: this can take long
            if slots := self._entry_slots.get(type(request)):
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
            self._outbox.holds_updates = self._moves.in_progress
        self._send(response)
        self._outbox.flush_update()

    async def _respond(self, request: m.ToServer) -> m.FromServer:
        guest = self._login.guest
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
                room = await self._registry.room(race_id)
                self._login.check_reads(room.race.header.format)
                self._enter(room, request)
                return self._view(re, header=True)
            case _ if self._room is None:
                raise Refused("not-seated", "Join a race first.")
            case m.Move() | m.Ready() | m.Nonce() | m.Resign():
                return await self._submit(request)
            case m.Leave():
                self._leaving = True
                return await self._submit(request)
            case m.Start() | m.Remove():
                await submit_as_host(self._room, guest, request, self._registry.live, self._network)
            case m.Bot(level=level):
                self._rate_limits.races.take(self._network)
                await add_bot(self._room, guest, self._registry, level)
            case m.Again(game=game):
                await self._rematches.ask_in(self._room, guest, self._network, game=game)
            case m.React():
                return self._react(request, self._room)
            case _:
                assert_never(request)
        return self._view(request.id)

    def _join_events(self, request: m.Join, guest: Guest, race: Race) -> Iterable[AnyEvent]:
        seated = self._room is not None and self._room.race.id == race.id and self._owns_seat(race)
        return join_events(race, request, player=guest.player, name=guest.name, connection=self._name, has_seat=seated)

    async def _join(self, request: m.Join, guest: Guest) -> m.View:
        room = await self._registry.room(request.race)
        self._login.check_reads(room.race.header.format)
        with room.pinned():
            await self._login.keep()
            race = await submit_join(room, guest, partial(self._join_events, request, guest), self._registry.live)
            await bring_bots(room, self._registry)
            if (seat := race.seat_of(guest.player)) is None:
                raise Refused("not-seated")
            self._enter(room, request, seat.number, seat.taken)
        if not self._owns_seat(room.race):  # another connection took it before this one subscribed
            raise Closing(*REPLACED)
        return self._view(request.id, header=True)

    def _propose_move(self, move: m.Move, on_done: Callable[[Outcome], None]) -> None:
        self._outbox.holds_updates = True
        room, proposal = self._proposal(move)
        room.propose(proposal, on_done)

    def _finish_move(self, move: m.Move, outcome: Outcome) -> None:
        self._outbox.holds_updates = False
        game = self._room.race.header.game if self._room else "none"
        response: m.FromServer
        try:
            try:
                if isinstance(outcome, Exception):
                    raise outcome
                changes = self._views.changes(self._room, self._seat, move.id)
                response, result = changes or self._view(move.id), "accepted"
            except Refused as refused:
                response, result = m.Problem.of(refused, move.id), refused.code
            metrics.answered(game, result).inc()
            self._send(response)
            self._outbox.flush_update()
        except Closing as closing:
            self._outbox.close(closing.code, closing.reason)
        except Exception:
            self._fail("a move failed")

    async def _submit(self, request: SeatRequest) -> m.View:
        room, proposal = self._proposal(request)
        await room.submit(proposal)
        return self._view(request.id)

    def _proposal(self, request: SeatRequest) -> tuple[Room, Proposal]:
        """Return the room, and the proposal for a request from this connection's seat. Raises Refused."""
        room, number = self._room, self._seat
        if room is None or number is None:
            raise Refused("not-seated", "Join a race first.")

        def proposal(race: Race) -> Iterable[AnyEvent]:
            if not self._owns_seat(race):
                raise Refused("replaced")
            events = seat_events(race, number, request)
            if isinstance(request, m.Ready) and request.ready and events:
                reserve_deal(room, race, events, self._network)
            return events

        return room, proposal

    def _react(self, request: m.React, room: Room) -> m.Reaction:
        number = self._seat
        if number is None or room.race.seats[number - 1].left:
            raise Refused("not-seated", "Only racers with a seat can send reactions.")
        if not self._owns_seat(room.race):
            raise Refused("replaced")
        self._registry.react(room, reaction := m.Reaction(race=room.race.id, seat=number, reaction=request.reaction))
        return replace(reaction, re=request.id)

    # The room.

    def _enter(self, room: Room, request: m.Join | m.Watch, seat: int | None = None, taken: int = 0) -> None:
        self._leave_room()
        self._views = ConnectionViews(request, guidance=m.GUIDANCE in self._login.features)
        self._room, self._seat, self._taken, self._leaving = room, seat, taken, False
        room.broadcast.add(self, self._login.guest.player if self._login.guest else None)
        if m.REACTIONS in self._login.features:
            room.reactions.add(self._on_reaction)
        if seat is not None:
            self._connected_seat = seat
            room.connect(seat, taken)

    def _leave_room(self) -> None:
        if self._room:
            self._room.broadcast.remove(self)
            self._room.reactions.remove(self._on_reaction)
            if self._connected_seat is not None:
                self._room.disconnect(self._connected_seat, self._taken)
        self._room, self._seat, self._connected_seat = None, None, None
        self._outbox.discard_update()

    def _owns_seat(self, race: Race) -> bool:
        """Return whether no other connection has taken this connection's seat; it may have left the seat itself."""
        seat = race.seats[self._seat - 1] if self._seat and self._seat <= len(race.seats) else None
        return seat is not None and seat.taken == self._taken

    def _took_again(self, race: Race, entries: Sequence[Entry]) -> bool:
        """Return whether this connection itself has taken its seat again, by joining with another commitment."""
        room, seat = self._room, next(iter(race.seats[(self._seat or 1) - 1 :]), None)  # the log can lose seats
        event = next((entry.event for entry in entries if seat and entry.n == seat.taken), None)
        if room is None or seat is None or not isinstance(event, Joined) or event.by != self._name:
            return False
        room.disconnect(seat.number, self._taken)
        self._taken = seat.taken
        room.connect(seat.number, seat.taken)
        return True

    # Sending.

    def _send(self, message: m.FromServer) -> None:
        try:
            self._outbox.respond(codec.encode(message, self._form))
        except OutboxFull:
            raise Closing(CloseCode.TOO_SLOW, "too slow") from None
        if isinstance(message, (m.View, m.Changes)):
            self._outbox.discard_update(keeps_progress=isinstance(message, m.Changes))

    def _view(self, re: int | None = None, *, header: bool = False) -> m.View:
        if self._room is None:
            raise Refused("not-seated", "Join a race first.")
        race = self._room.race
        if self._seat is not None and race.seats[self._seat - 1].left:
            self._seat = None
        return self._views.view(self._room, self._seat, re, header=header)

    def _encode_update(self, update: Update) -> bytes:
        if self._room is None:
            raise Refused("not-seated")
        return self._views.encode_update(update, self._room, self._seat, self._form, self._view)
