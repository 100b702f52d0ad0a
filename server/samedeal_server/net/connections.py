"""Connections: the configuration of uvicorn, small buffers, and time limits for slow clients."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp

from samedeal_server.net.limits import REQUEST_S, Count
from samedeal_server.settings import Settings

MAX_FRAME_BYTES = 65_536
"""Larger messages close the connection with 1009 before they are read; the session refuses smaller ones over its own
limit."""
PING_S: Final = 20.0
"""The interval between pings, and how long a client has to answer one."""
RESERVED_FILES = 200
"""Open files that are not available to clients: connections to the store, logs and so on."""
PIECE_BYTES = 2048
"""Messages are parsed in pieces of this size, so that a flood of small ones is never parsed all at once."""
UNSENT_BYTES = 32_768
"""HTTP responses and updates of races wait while more than this is unsent on a connection."""
MAX_UNSENT_BYTES = 64 * 2**20
"""The unsent data of all connections together; beyond it, those with the most unsent data are reset."""
UNREAD_S = 5.0
"""How long to wait for a client that reads nothing."""


class LimitedConfig(uvicorn.Config):
    """The uvicorn configuration for these settings."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(
            app,
            host=settings.host,
            port=settings.port,
            http="samedeal_server.net.http_connection:LimitedHttpConnection",
            ws="samedeal_server.net.websocket_connection:LimitedWebSocketConnection",
            ws_max_size=MAX_FRAME_BYTES,
            ws_per_message_deflate=False,
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            timeout_graceful_shutdown=10,
            server_header=False,
            proxy_headers=False,
            access_log=False,
            lifespan="on",
            log_config=None,
        )
        self.settings = settings
        self.max_connections = min(settings.connections, _max_open_files())
        self.http_connections = Count(
            "http_connections_per_address",
            settings.http_connections_per_address,
            "Too many connections from this address.",
        )
        """The connections from each network, without WebSockets."""
        self.hand_over: Callable[[bytes, bytes, socket.socket], bool] | None = None
        """Passes a WebSocket connection on to another process, given its URL and what was received on it, if possible.
        Returns whether it did."""


class Limited:
    """A connection of uvicorn whose client must not be too slow."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop

    def limit_buffers(self, *, sent: int, received: int | None = None, unacknowledged_s: float = 0) -> None:
        """Limit how many bytes uvicorn and the kernel buffer. Linux doubles kernel buffers for its own overhead.

        `unacknowledged_s` is how long sent data may stay unacknowledged, or a window closed, even after the connection
        is closed (Linux only); 0 is the system's default.
        """
        self._unsent, self._read_at = 0, self.loop.time()
        self.transport.set_write_buffer_limits(high=UNSENT_BYTES, low=UNSENT_BYTES // 4)
        self._set_option(socket.SOL_SOCKET, socket.SO_SNDBUF, sent)
        if received is not None:
            self._set_option(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
        if (user_timeout := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
            self._set_option(socket.IPPROTO_TCP, user_timeout, int(1000 * unacknowledged_s))

    @property
    def unsent(self) -> int:
        """How many bytes wait until the client reads, besides those in the kernel."""
        return self.transport.get_write_buffer_size()

    def check_timeouts(self, now: float) -> None:
        """Close the connection if its client has read nothing for UNREAD_S. Call this regularly."""
        unsent = self.unsent
        if unsent == 0 or unsent < self._unsent:
            self._read_at = now
        self._unsent = unsent
        if now - self._read_at > UNREAD_S:
            self.abort()

    def abort(self) -> None:
        """Close the connection at once and discard everything unsent, in the kernel too."""
        self._set_option(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _set_option(self, level: int, option: int, value: int | bytes) -> None:
        if sock := self.transport.get_extra_info("socket"):
            with suppress(OSError):
                sock.setsockopt(level, option, value)


async def enforce_timeouts(server: uvicorn.Server) -> None:
    """Close slow connections until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(1.0, REQUEST_S / 5, UNREAD_S / 5))
        connections = [cast(Limited, connection) for connection in server.server_state.connections]
        for connection in connections:
            connection.check_timeouts(loop.time())
        limit_unsent(connections)


def limit_unsent(connections: Iterable[Limited]) -> None:
    """Reset the connections with the most unsent data until the others are within MAX_UNSENT_BYTES."""
    unsent = [(connection.unsent, connection) for connection in connections]
    total = sum(size for size, _ in unsent)
    for size, connection in sorted(unsent, key=lambda each: each[0], reverse=True):
        if total <= MAX_UNSENT_BYTES:
            break
        connection.abort()
        total -= size


def _max_open_files() -> int:
    """Raise the process's limit of open files as far as permitted and return how many clients may use."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 2**31
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES)
