"""HTTP connections with limits on headers, slow requests and slow readers."""

import asyncio
import sys
from collections.abc import Callable
from random import uniform
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from samedeal import codec
from samedeal.errors import Refused
from samedeal_server.addresses import network
from samedeal_server.net.connections import UNREAD_S, Limited, LimitedConfig
from samedeal_server.net.limits import REFUSAL_DELAY_S, REQUEST_S, Limit, count_refusal, too_many

HTTP_SENT_BYTES = 16_384
"""The kernel's send buffer: enough for several hundred kilobytes per second over intercontinental distances."""
MAX_URL_BYTES, MAX_PARAMETERS, MAX_ELEMENTS, MAX_HOST_BYTES = 4096, 64, 100, 300
HEADER_BYTES, MAX_HEADERS = 16_384, 100
SMALL_BYTES, MAX_SMALL, PAUSE_S = 1024, 10, 0.05
"""Beyond MAX_SMALL pieces of a body below SMALL_BYTES, reading pauses after each, so that the next arrive together
and clients that send bytes one by one cost little."""
LISTS = frozenset(
    {b"accept", b"connection", b"forwarded", b"if-none-match", b"upgrade", b"x-forwarded-for"}
    | {b"sec-websocket-extensions", b"sec-websocket-protocol"}
)
"""The headers that are parsed as lists. Their elements and parameters count towards MAX_ELEMENTS."""
HEAD_TOO_LARGE = f"A request may have at most {MAX_HEADERS} headers, which take at most {HEADER_BYTES} bytes."
SLOW_TO_PARSE = (
    f"A URL may have at most {MAX_URL_BYTES} bytes and {MAX_PARAMETERS} parameters, lists in headers at most"
    f" {MAX_ELEMENTS} elements in total, and a host at most {MAX_HOST_BYTES} bytes."
)


class LimitedHttpConnection(Limited, HttpToolsProtocol):
    """An HTTP connection, until it becomes a WebSocket."""

    config: LimitedConfig
    flow: "_FlowControl"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.flow = _FlowControl(self.transport)
        self.limit_buffers(sent=HTTP_SENT_BYTES, unacknowledged_s=UNREAD_S)
        self._idle_since = self.loop.time()
        self._received = b""  # the data being parsed
        self._unparsed = 0  # bytes received since the last headers or piece of a body
        self._is_refused = False
        host = self.client[0] if self.client else ""
        # Admission checks the limits of each client behind a proxy.
        self._network: str | None = None if self.config.settings.trusted_proxies.trusts(host) else network(host)
        self._remove: Callable[[], None] | None = None  # from the counted connections
        try:
            if len(self.connections) > self.config.max_connections:
                raise too_many("connections", "The server has reached its maximum number of connections.", host)
            if self._network is not None:
                self._remove = self.config.http_connections.add(host)
        except Refused as refused:
            self._respond_with(refused)

    def connection_lost(self, exc: Exception | None) -> None:
        self._uncount()
        super().connection_lost(exc)

    def check_timeouts(self, now: float) -> None:
        """Close the connection if its client takes too long to send a request or to read a response."""
        super().check_timeouts(now)
        if not (self._is_serving or self._is_refused) and now - self._idle_since > REQUEST_S:
            self.transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # uvloop raises errors for writes to a closed transport
        super().abort()

    def data_received(self, data: bytes) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        self._received = data
        self._unparsed += len(data)
        super().data_received(data)
        self._received = b""
        if self._unparsed > HEADER_BYTES:
            self._refuse_limit("header_bytes", HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        if self._is_serving:
            self._refuse_limit("pipelined_requests", "Wait for a response before sending the next request.")
            raise HttpParserError("pipelined request")
        self._head_bytes = self._small_pieces = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if len(self.headers) >= MAX_HEADERS or self._head_bytes > HEADER_BYTES:
            self._refuse_limit("header_bytes", HEAD_TOO_LARGE)
            raise HttpParserError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        if not self._is_quick_to_parse():
            self._refuse_limit("header_bytes", SLOW_TO_PARSE)
            raise HttpParserError("too much to parse")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)
        self._small_pieces += len(body) < SMALL_BYTES
        if self._small_pieces > MAX_SMALL:
            self.flow.pause_for(PAUSE_S, self.loop)

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Refused("bad-request", "Invalid HTTP request."))

    @property
    def _is_serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _is_quick_to_parse(self) -> bool:
        """Return whether the URL and the headers are short enough to be parsed in well under a millisecond."""
        lists = (value for name, value in self.headers if name in LISTS)
        return (
            len(self.url) <= MAX_URL_BYTES
            and self.url.count(b"&") < MAX_PARAMETERS
            and sum(value.count(b",") + value.count(b";") for value in lists) < MAX_ELEMENTS
            and all(len(value) <= MAX_HOST_BYTES for name, value in self.headers if name == b"host")
        )

    def _refuse_limit(self, limit: Limit, text: str) -> None:
        if not self._is_refused:
            count_refusal(limit, self._network)
            self._refuse(Refused("too-large", text))

    def _refuse(self, refused: Refused) -> None:
        """Close the connection with an error response after a while, or after the response that is being sent.

        The delay limits how often that can happen: no client pays tokens for a request that is refused here.
        """
        if self._is_refused:
            return
        self._is_refused = True
        self.flow.hold()
        if not self._is_serving:
            self.loop.call_later(uniform(*REFUSAL_DELAY_S), self._respond_with, refused)  # noqa: S311 - not a secret
        elif self.cycle.more_body:
            self.abort()
        else:
            self.cycle.keep_alive = False

    def _respond_with(self, refused: Refused) -> None:
        if not self.transport.is_closing():
            body = codec.encode(refused.problem(), "json")
            head = b"content-type: application/problem+json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
            self.transport.write(STATUS_LINE[refused.status] + head % len(body) + body)
            self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """Continue as a WebSocket, here or in another process."""
        early = self._received[cast(HttpParserUpgrade, sys.exception()).args[0] :]
        if not self.url.isascii():
            self._refuse(Refused("bad-request", "The URL contains non-ASCII characters."))
        elif any(name in (b"content-length", b"transfer-encoding") and value != b"0" for name, value in self.headers):
            self._refuse(Refused("bad-request", "A WebSocket handshake has no body."))
        elif self._hand_over(early):
            self.transport.abort()  # the other process has the connection open
        else:
            self._uncount()
            super().handle_websocket_upgrade()
            del self.parser  # ends a cycle of references, which would take memory until the next garbage collection
            if early:
                cast(asyncio.Protocol, self.transport.get_protocol()).data_received(early)

    def _hand_over(self, early: bytes) -> bool:
        """Return whether another process has the connection now, with the head of the request and what followed it."""
        if self.config.hand_over is None or self.transport.get_write_buffer_size():
            return False
        lines = [b"%s %s HTTP/1.1" % (self.scope["method"].encode(), self.url)]
        lines += [b"%s: %s" % header for header in self.headers]
        received = b"\r\n".join([*lines, b"", early])
        return self.config.hand_over(self.url, received, self.transport.get_extra_info("socket"))

    def _uncount(self) -> None:
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()


class _FlowControl(FlowControl):
    """uvicorn's flow control, without resuming a transport that is closing: uvloop raises an error for that."""

    _is_held = False  # whether reading remains paused

    def hold(self) -> None:
        """Stop reading for good."""
        self._is_held = True
        self.pause_reading()

    def pause_for(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_held:
            self.hold()
            loop.call_later(seconds, self._release)

    def _release(self) -> None:
        self._is_held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self._is_held and not self._transport.is_closing():
            super().resume_reading()
