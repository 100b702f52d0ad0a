"""Timeouts and small buffers: clients that send or read too slowly lose their connections."""

import asyncio
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import cast

import uvicorn

from samedeal_server.net.limits import REQUEST_S

PIECE_BYTES = 2048
"""Messages are parsed in pieces of this size, so that a flood of small ones is never parsed all at once."""
UNSENT_BYTES = 32_768
"""Senders wait while more than this is unsent on a connection."""
MAX_UNSENT_BYTES = 64 * 2**20
"""The unsent data of all connections together; beyond it, those with the most unsent data are reset."""
UNREAD_S = 5.0
"""How long to wait for a client that reads nothing."""


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

    def check_timeouts(self, now: float) -> None:
        """Close the connection if its client has read nothing for UNREAD_S. Call this regularly."""
        unsent = self.transport.get_write_buffer_size()
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
    unsent = [(connection.transport.get_write_buffer_size(), connection) for connection in connections]
    total = sum(size for size, _ in unsent)
    for size, connection in sorted(unsent, key=lambda each: each[0], reverse=True):
        if total <= MAX_UNSENT_BYTES:
            break
        connection.abort()
        total -= size
