"""WebSocket connections with limits on fragments, control frames, buffered input and slow readers."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any, Final, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.speedups import apply_mask

from samedeal.wire.close_codes import CloseCode
from samedeal_server.net.connections import PIECE_BYTES, Limited, LimitedConfig
from samedeal_server.net.limits import REQUEST_S, Limit, count_refusal
from samedeal_server.net.waiting import Flag, MessageQueue


def server_frame(opcode: Opcode, data: bytes) -> bytes:
    """Return a whole message as one unmasked frame (RFC 6455, section 5.2)."""
    first, length = 0x80 | opcode, len(data)
    if length < 126:
        return bytes((first, length)) + data
    return struct.pack("!BBH" if length < 2**16 else "!BBQ", first, 126 if length < 2**16 else 127, length) + data


def short_message(data: bytes) -> bytes | None:
    """Return the payload if the data is one masked frame with a whole binary message of at most 125 bytes."""
    if len(data) > 6 and data[0] == 0x80 | Opcode.BINARY and data[1] == 0x80 | len(data) - 6 < 0x80 | 126:
        return apply_mask(data[6:], data[2:6])
    return None


RECEIVED_BYTES, SENT_BYTES = 32_768, 8_192
"""The kernel's buffers: small, because a client that does not read is noticed only when the send buffer is full."""
MAX_FRAGMENTS = 128
MAX_CONTROL_FRAMES, CONTROL_WINDOW_S = 20, 10.0
CONNECTION: Final = "samedeal.connection"
"""The key of an ASGI extension: the ``LimitedWebSocketConnection``, for messages that bypass ASGI."""


class LimitedWebSocketConnection(Limited, WebSocketsSansIOProtocol):
    """A WebSocket connection."""

    config: LimitedConfig
    conn: "_ServerProtocol"
    on_writable: Callable[[], None] = staticmethod(lambda: None)
    """Called when ``is_writable`` becomes true again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.conn.parser  # ends a cycle of references, which would take memory until the next garbage collection
        self.conn = _ServerProtocol(max_size=self.config.ws_max_size, logger=self.logger)
        self.queue, self.writable = cast(Any, MessageQueue()), cast(Any, Flag(is_set=True))
        self._buffer = b""  # received but not parsed yet
        self._controls, self._controls_since = 0, 0.0
        self._take: Callable[[bytes], bool] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connected_at = self.loop.time()
        self.limit_buffers(sent=SENT_BYTES, received=RECEIVED_BYTES)  # pings detect a client that is gone

    def check_timeouts(self, now: float) -> None:
        """Reset the connection if its client takes too long to read or to complete the handshake."""
        super().check_timeouts(now)
        if not self.handshake_complete and now - self._connected_at > REQUEST_S:
            self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self.disconnected = True
        super().abort()

    def data_received(self, data: bytes) -> None:
        if self._buffer or self.read_paused or not self._is_taken(data):
            self._buffer += data
            self._parse()

    def _parse(self) -> None:
        """Parse what was received until a message is complete."""
        while self._buffer and not self.read_paused and not self.transport.is_closing():
            piece, self._buffer = self._buffer[:PIECE_BYTES], self._buffer[PIECE_BYTES:]
            super().data_received(piece)

    async def receive(self) -> Any:
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._parse()
            if not self.read_paused and not self.transport.is_closing():
                self.transport.resume_reading()
        return message

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.handshake_complete:
            cast(Any, self.scope)["extensions"][CONNECTION] = self

    @property
    def is_writable(self) -> bool:
        """Whether the client reads what it is sent; if not, more would only be buffered."""
        return self.writable.is_set()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.on_writable()

    def write(self, data: bytes, *, text: bool) -> None:
        """Send or buffer a message, unless the connection is closed."""
        is_open = self.handshake_complete and not self.close_sent and self.conn.state is State.OPEN
        if is_open and not self.disconnected and not self.transport.is_closing():
            frame = server_frame(Opcode.TEXT if text else Opcode.BINARY, data)
            self._unsent += len(frame)  # a client that reads more slowly than it is answered makes progress, too
            self.transport.write(frame)

    async def close(self, code: int, reason: str) -> None:
        """Close the connection after everything that was written. May raise OSError if the client has gone."""
        await self.send({"type": "websocket.close", "code": code, "reason": reason})

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        """Offer short binary messages to `take` as they arrive; those for which it returns False are received."""
        self._take = take

    def _is_taken(self, data: bytes) -> bool:
        """Return whether the data is a message that the application has taken."""
        if self._take is None or not self.conn.is_between_messages or self.close_sent or not self.queue.empty():
            return False
        message = short_message(data)
        return message is not None and self._take(message)

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.handshake_complete and self.request:
            self.request.headers.clear()  # the library's parser keeps the request, whose headers take 2 KiB of memory
            self.request = self.response = cast(Any, None)
        self._parse()  # uvicorn resumes reading after a close

    def shutdown(self) -> None:
        self._buffer = b""
        while not self.queue.empty():  # clients send again after a restart; a flood would delay the shutdown
            self.queue.get_nowait()
        super().shutdown()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= MAX_FRAGMENTS:
            self.frames = []
            self._fail(CloseCode.TOO_BIG, "too many fragments", "fragments_per_message")
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        try:
            if self.curr_msg_data_type == "text":
                b"".join(self.frames).decode()
        except UnicodeDecodeError:
            self.frames = []
            self._fail(CloseCode.INVALID_DATA, "invalid UTF-8")  # uvicorn's own check fails if the client has closed
        else:
            super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        if self._allow_control_frame():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        solicited = self.pending_ping_payload is not None and bytes(event.data) == self.pending_ping_payload
        if solicited or self._allow_control_frame():
            super().handle_pong(event)

    def _allow_control_frame(self) -> bool:
        """Count a ping or pong, and return whether to handle it."""
        now = self.loop.time()
        if now - self._controls_since > CONTROL_WINDOW_S:
            self._controls, self._controls_since = 0, now
        self._controls += 1
        if self._controls > MAX_CONTROL_FRAMES:
            self._fail(CloseCode.POLICY_VIOLATION, "too many control frames", "control_frames")
        return not self.close_sent

    def _fail(self, code: int, reason: str, limit: Limit | None = None) -> None:
        self.conn.data_to_send()  # discards pending pongs
        if not self.close_sent and self.conn.state is State.OPEN:
            self.conn.send_close(code, reason)
            if limit is not None:
                client = self.scope["client"]  # also behind a proxy, because admission has replaced it
                count_refusal(limit, client[0] if client else None)
            self.handle_parser_exception()


class _ServerProtocol(ServerProtocol):
    """The library's protocol, which otherwise fails if a close frame follows an incomplete message."""

    is_between_messages = False
    """Whether nothing but whole messages has been received."""

    def receive_data(self, data: bytes | bytearray) -> None:
        self.is_between_messages = False
        super().receive_data(data)

    def recv_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self.current_size = None
        super().recv_frame(frame)
        self.is_between_messages = self.state is State.OPEN and self.current_size is None and not self.reader.buffer
