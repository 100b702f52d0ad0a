"""Timeouts: connections that wait too long for their clients are closed."""

import asyncio
from collections.abc import Iterable

import uvicorn

from samedeal_server.net.connection_config import LimitedConfig
from samedeal_server.net.http_connection import LimitedHttpConnection
from samedeal_server.net.limits import REQUEST_S
from samedeal_server.net.transports import UNREAD_S
from samedeal_server.net.websocket_connection import LimitedWebSocketConnection

MAX_UNSENT_BYTES = 64 * 2**20
"""The unsent data of all HTTP connections together; beyond it, those with the most unsent data are reset."""


async def enforce_timeouts(server: uvicorn.Server, config: LimitedConfig) -> None:
    """Close slow connections until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(1.0, REQUEST_S / 5, UNREAD_S / 5))
        now = loop.time()
        for connection in tuple(server.server_state.connections):
            if isinstance(connection, LimitedHttpConnection | LimitedWebSocketConnection):
                connection.check_timeouts(now)
        limit_unsent([each for each in server.server_state.connections if isinstance(each, LimitedHttpConnection)])


def limit_unsent(connections: Iterable[LimitedHttpConnection]) -> None:
    """Reset the connections with the most unsent data until the others are within MAX_UNSENT_BYTES."""
    unsent = [(connection.transport.get_write_buffer_size(), connection) for connection in connections]
    total = sum(size for size, _ in unsent)
    for size, connection in sorted(unsent, key=lambda each: each[0], reverse=True):
        if total <= MAX_UNSENT_BYTES:
            break
        connection.abort()
        total -= size
