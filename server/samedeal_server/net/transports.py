"""Transport limits: socket options, write buffers and slow readers."""

import asyncio
import socket
import struct
from contextlib import suppress

PIECE_BYTES = 2048
"""Input is parsed in pieces of this size, so that a flood of small messages is never parsed all at once."""
UNSENT_BYTES = 32_768
"""Senders wait while more than this is unsent on a connection."""
UNREAD_S = 5.0
"""How long to wait for a client that reads nothing."""


class UnreadTimer:
    """Measures how long a client has not read what was sent to it."""

    def __init__(self, now: float) -> None:
        self._unsent, self._since = 0, now

    def seconds(self, transport: asyncio.Transport, now: float) -> float:
        """Return for how long the unsent data has not become less. Call this regularly."""
        unsent = transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._since = now
        self._unsent = unsent
        return now - self._since


def limit_buffers(transport: asyncio.Transport, *, sent: int, received: int | None = None) -> None:
    """Limit how many bytes uvicorn and the kernel buffer. Linux doubles kernel buffers for its own overhead."""
    transport.set_write_buffer_limits(high=UNSENT_BYTES, low=UNSENT_BYTES // 4)
    _set_option(transport, socket.SOL_SOCKET, socket.SO_SNDBUF, sent)
    if received is not None:
        _set_option(transport, socket.SOL_SOCKET, socket.SO_RCVBUF, received)


def set_user_timeout(transport: asyncio.Transport, seconds: float) -> None:
    """Limit how long sent data may stay unacknowledged, or a window closed (Linux only); 0 is the system's default."""
    if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
        _set_option(transport, socket.IPPROTO_TCP, option, int(1000 * seconds))


def reset(transport: asyncio.Transport) -> None:
    """Close a connection at once and discard everything unsent, in the kernel too."""
    _set_option(transport, socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _set_option(transport: asyncio.Transport, level: int, option: int, value: int | bytes) -> None:
    if sock := transport.get_extra_info("socket"):
        with suppress(OSError):
            sock.setsockopt(level, option, value)
