"""The guard: uvicorn's connections, so bounded that no client, whatever it sends or leaves unread, harms the server.

By itself uvicorn takes in fragments, control frames and pipelined requests without end, and waits for ever for a client
that does not read or does not finish its request. What is held back here touches parts of uvicorn that it promises to
nobody: it is tested with one version, UVICORN.
"""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, cast

import uvicorn
from httptools import HttpParserError
from starlette.types import ASGIApp
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from samedeal.errors import Refused
from samedeal.wire import codec
from samedeal.wire.close_codes import CloseCode
from samedeal_server.access.network import network
from samedeal_server.settings import Settings

UVICORN: Final = "0.54.0"
"""The version that the guard was tested with (tests/server/test_uvicorn_limits.py)."""
MAX_FRAME_BYTES = 65_536
"""Longer messages end the connection with 1009 before they are read; shorter ones that are too long are answered."""
PIECE_BYTES = 2048
"""So much is looked at at a time: what has come is made into messages or requests no faster than these are wanted."""
TAKEN_BYTES, SENT_BYTES = 32_768, 8_192
"""What the kernel may hold of a WebSocket's data that comes, and of data that goes. It takes twice as much where it
counts its own needs in. Whoever does not read is found out when it takes no more, so it is to be little."""
HTTP_SENT_BYTES = 16_384
"""The same for an HTTP response: enough for several hundred kilobytes per second to the other end of the world."""
UNSENT_BYTES = 32_768
"""What may be unsent of a connection's data before whoever sends more has to wait."""
MAX_UNSENT_BYTES = 64 * 2**20
"""What may be unsent over all HTTP connections together; beyond it, those with the most to send are ended."""
MAX_PIPELINED = 8
CHUNK_OVERHEAD = 9
"""Bytes that one byte of a body may take on the wire: in the smallest chunks it takes six."""
CONTROL_WINDOW_S = 10.0
SENT_NOW: Final = "samedeal.sent_now"
"""The extension of ASGI's by which a WebSocket is sent something without a wait."""
POLICY, TOO_BIG = CloseCode.POLICY_VIOLATION, CloseCode.TOO_BIG


class LimitedConfig(uvicorn.Config):
    """What uvicorn is to know of this server, with the guard in place."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(
            app,
            host=settings.host,
            port=settings.port,
            http=LimitedHttpConnection,
            ws=LimitedWebSocketConnection,
            ws_max_size=MAX_FRAME_BYTES,
            ws_per_message_deflate=False,
            ws_ping_interval=settings.ping_seconds,
            ws_ping_timeout=settings.ping_seconds,
            timeout_graceful_shutdown=10,
            server_header=False,
            proxy_headers=False,
            access_log=False,
            lifespan="on",
            log_config=None,
        )
        self.settings = settings
        self.request_s = settings.hello_timeout_ms / 1000
        self.most_connections = min(settings.connections, _most_files())
        self.most_per_address = settings.http_connections_per_address
        self.requesting = Counter[str]()
        """How many connections that are no WebSockets there are from each network."""


async def watch(server: uvicorn.Server, config: LimitedConfig) -> None:
    """Ends connections that keep the server waiting, for as long as it runs."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(1.0, config.request_s / 5, config.settings.unread_seconds / 5))
        now = loop.time()
        for connection in tuple(server.server_state.connections):
            if isinstance(connection, LimitedHttpConnection | LimitedWebSocketConnection):
                connection.look(now)
        _bound_unsent([found for found in server.server_state.connections if isinstance(found, LimitedHttpConnection)])


def _bound_unsent(connections: Iterable["LimitedHttpConnection"]) -> None:
    """Ends the HTTP connections with the most unsent data until the others are within MAX_UNSENT_BYTES."""
    unsent = sorted(
        ((found.transport.get_write_buffer_size(), id(found), found) for found in connections), reverse=True
    )
    total = sum(size for size, _, _ in unsent)
    for size, _, connection in unsent:
        if total <= MAX_UNSENT_BYTES:
            break
        connection.abort()
        total -= size


class Unread:
    """How long a client has been leaving unread what was sent to it."""

    def __init__(self, now: float) -> None:
        self._unsent, self._since = 0, now

    def for_s(self, transport: asyncio.Transport, now: float) -> float:
        """Asked at intervals: for how many seconds nothing could be sent although there was something."""
        unsent = transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._since = now
        self._unsent = unsent
        return now - self._since


class Flow(FlowControl):
    """uvicorn's, which would go on reading where a connection is being ended; uvloop then raises an error."""

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            super().resume_reading()


class LimitedHttpConnection(HttpToolsProtocol):
    """A connection over which HTTP is spoken, until it becomes a WebSocket."""

    config: LimitedConfig

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.flow = Flow(self.transport)
        self.transport.set_write_buffer_limits(high=UNSENT_BYTES, low=UNSENT_BYTES // 4)
        _set_buffer(self.transport, socket.SO_SNDBUF, HTTP_SENT_BYTES)
        # The kernel drops what it still holds for a client that reads nothing, also after the connection is closed.
        _set_user_timeout(self.transport, self.config.settings.unread_seconds)
        now = self.loop.time()
        self._unread, self._waiting_since = Unread(now), now
        self._overhead = 0
        self._fault: Refused | None = None
        self._upgraded = False
        self._answered: RequestResponseCycle | None = None  # what is being answered, or was last
        requesting, most = self.config.requesting, self.config.most_per_address
        host = self.client[0] if self.client else ""
        # A proxy's connections are its clients': what each of them may do is checked on admission.
        self._counted_as: str | None = None if self.config.settings.trusted_proxies.trusts(host) else network(host)
        if self._counted_as is not None:
            requesting[self._counted_as] += 1
        if len(self.connections) > self.config.most_connections:
            self._turn_away(Refused("too-many", "The server has as many connections as it takes."))
        elif self._counted_as is not None and most and requesting[self._counted_as] > most:
            self._turn_away(Refused("too-many", "Too many connections from this address."))

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        if self._answered is not None:
            self._answered.disconnected = True  # of several pipelined requests, uvicorn marks only the last
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._upgraded = True
        if self.url.isascii():
            self._leave()
            super().handle_websocket_upgrade()
        else:
            self._turn_away(Refused("bad-request", "An address is written in ASCII."))

    def look(self, now: float) -> None:
        """Ends the connection if it has been waiting for its client for too long."""
        if self._unread.for_s(self.transport, now) > self.config.settings.unread_seconds:
            self.abort()
        elif not self._working and now - self._waiting_since > self.config.request_s:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if self._upgraded or self.transport.is_closing():
                return
            piece = data[start : start + PIECE_BYTES]
            self._overhead += len(piece)
            super().data_received(piece)
            if self._overhead > self.config.settings.header_bytes + PIECE_BYTES:
                self._turn_away(self._too_long())

    def on_message_begin(self) -> None:
        self._overhead = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= self.config.settings.headers:
            self._fault = self._too_long()
            raise HttpParserError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            self._fault = Refused("too-many", "Too many requests at once over one connection.")
            raise HttpParserError("too many requests")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead = max(0, self._overhead - CHUNK_OVERHEAD * len(body))
        super().on_body(body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._turn_away(self._fault or Refused("bad-request", "This is no request in HTTP."))

    @property
    def _working(self) -> bool:
        return self._answered is not None and not self._answered.response_complete

    def _too_long(self) -> Refused:
        settings = self.config.settings
        return Refused(
            "too-large", f"A request has at most {settings.headers} headers in {settings.header_bytes} bytes."
        )

    def _turn_away(self, refused: Refused) -> None:
        """Ends the connection, and says why unless the answer to another request would be cut in two."""
        if self._working:
            self.abort()
        elif not self.transport.is_closing():
            body = codec.encode(refused.problem(), "json")
            head = b"content-type: application/problem+json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(
                body
            )
            self.transport.write(STATUS_LINE[refused.status] + head + body)
            self.transport.close()

    def abort(self) -> None:
        """Ends the connection on the spot."""
        if self._answered is not None:
            self._answered.disconnected = True  # at once: uvloop has errors for those who write to what is closed
        self.pipeline.clear()
        _reset(self.transport)

    def _leave(self) -> None:
        counted_as, self._counted_as = self._counted_as, None
        if counted_as is not None:
            self.config.requesting[counted_as] -= 1
            if not self.config.requesting[counted_as]:
                del self.config.requesting[counted_as]


class Frames(ServerProtocol):
    """The library's, which takes it as a fault when a connection is closed within a message that came in part."""

    def recv_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self.current_size = None
        super().recv_frame(frame)


class Mailbox:
    """What has come for one reader. A Queue of asyncio is for many: it takes more time, and kilobytes while empty."""

    __slots__ = ("_arrived", "_items", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: list[Any] = []
        self._arrived: asyncio.Future[None] | None = None

    def put_nowait(self, item: Any) -> None:
        self._items.append(item)
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def get_nowait(self) -> Any:
        """The oldest. Raises IndexError where there is none."""
        return self._items.pop(0)  # there are few: whoever sends is not read from until they are taken

    async def get(self) -> Any:
        while not self._items:
            self._arrived = self._loop.create_future()
            await self._arrived
        return self._items.pop(0)

    def empty(self) -> bool:
        return not self._items


class LimitedWebSocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket."""

    config: LimitedConfig

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.conn = Frames(max_size=self.config.ws_max_size, logger=self.logger)
        self.queue = cast(Any, Mailbox(self.loop))
        self._held = b""  # what has come and was not looked at yet
        self._fragments = 0
        self._controls, self._controls_from = 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._made_at = self.loop.time()
        self._unread = Unread(self._made_at)
        self.transport.set_write_buffer_limits(high=UNSENT_BYTES, low=UNSENT_BYTES // 4)
        _set_buffer(self.transport, socket.SO_SNDBUF, SENT_BYTES)
        _set_buffer(self.transport, socket.SO_RCVBUF, TAKEN_BYTES)
        _set_user_timeout(self.transport, 0)  # pings find out a client that is gone

    def look(self, now: float) -> None:
        """Ends the connection if it has been waiting for its client for too long."""
        unread = self._unread.for_s(self.transport, now) > self.config.settings.unread_seconds
        if unread or (not self.handshake_complete and now - self._made_at > self.config.request_s):
            self.disconnected = True
            _reset(self.transport)

    def data_received(self, data: bytes) -> None:
        if self._held or self.read_paused or len(data) > PIECE_BYTES or self.transport.is_closing():
            self._held += data
            self._take_in()
        else:
            super().data_received(data)

    async def receive(self) -> Any:
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._take_in()
            if not self.read_paused and not self.transport.is_closing():
                self.transport.resume_reading()
        return message

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.handshake_complete:
            cast(Any, self.scope)["extensions"][SENT_NOW] = self._send_now

    def _send_now(self, data: bytes, *, text: bool) -> bool:
        """Sends a message if nobody has to wait for that, and says whether it has."""
        open_ = self.handshake_complete and not self.close_sent and self.conn.state is State.OPEN
        if not open_ or not self.writable.is_set() or self.disconnected or self.transport.is_closing():
            return False
        self.transport.write(framed(Opcode.TEXT if text else Opcode.BINARY, data))
        return True

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self._held:
            self._take_in()  # after a close, reading goes on

    def shutdown(self) -> None:
        self._held = b""
        while not self.queue.empty():  # it is sent again when the server is back, and a flood would keep it from ending
            self.queue.get_nowait()
        super().shutdown()

    def handle_text(self, event: Frame) -> None:
        self._fragments = 1
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        self._fragments = 1
        super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        self._fragments += 1
        if self._fragments > self.config.settings.fragments_per_message:
            self.frames = []
            self._turn_away(TOO_BIG, "too many fragments")
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        if self._one_more_control():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        answers = self.pending_ping_payload is not None and bytes(event.data) == self.pending_ping_payload
        if answers or self._one_more_control():
            super().handle_pong(event)

    def _take_in(self) -> None:
        while self._held and not self.read_paused:
            if self.transport.is_closing():
                self._held = b""
                return
            piece, self._held = self._held[:PIECE_BYTES], self._held[PIECE_BYTES:]
            super().data_received(piece)

    def _one_more_control(self) -> bool:
        """Whether one more ping or pong is in order."""
        now = self.loop.time()
        if now - self._controls_from > CONTROL_WINDOW_S:
            self._controls, self._controls_from = 0, now
        self._controls += 1
        if self._controls > self.config.settings.control_frames:
            self._turn_away(POLICY, "too many control frames")
        return not self.close_sent

    def _turn_away(self, code: int, reason: str) -> None:
        self.conn.data_to_send()  # pongs that wait: nobody is to have them
        if not self.close_sent and self.conn.state is State.OPEN:
            self.conn.send_close(code, reason)
            self.handle_parser_exception()


def framed(opcode: Opcode, data: bytes) -> bytes:
    """A message in one frame as a server sends it; the library takes four times as long."""
    first, length = 0x80 | opcode, len(data)
    if length < 126:
        return bytes((first, length)) + data
    return struct.pack("!BBH" if length < 2**16 else "!BBQ", first, 126 if length < 2**16 else 127, length) + data


def _set_buffer(transport: asyncio.Transport, which: int, size_bytes: int) -> None:
    if bare := transport.get_extra_info("socket"):
        with suppress(OSError):
            bare.setsockopt(socket.SOL_SOCKET, which, size_bytes)


def _set_user_timeout(transport: asyncio.Transport, seconds: float) -> None:
    """How long sent data may stay unacknowledged, or a closed window closed (Linux only); 0 is the system's default."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    bare = transport.get_extra_info("socket")
    if bare and option is not None:
        with suppress(OSError):
            bare.setsockopt(socket.IPPROTO_TCP, option, int(1000 * seconds))


def _reset(transport: asyncio.Transport) -> None:
    """Ends a connection on the spot: neither we nor the kernel keep what the client has not read."""
    if bare := transport.get_extra_info("socket"):
        with suppress(OSError):
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _most_files() -> int:
    """How many connections the process can have, of the files that it may have open; some are for the store."""
    try:
        import resource
    except ImportError:  # Windows has no such bound
        return 2**31
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
