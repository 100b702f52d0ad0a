"""The uvicorn configuration of the server, with limited connections."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from samedeal_server.net.limits import Count
from samedeal_server.settings import Settings

MAX_FRAME_BYTES = 65_536
"""Larger messages close the connection with 1009 before they are read; the session refuses smaller ones over its own
limit."""
PING_S: Final = 20.0
"""The interval between pings, and how long a client has to answer one."""
RESERVED_FILES = 200
"""Open files that are not available to clients: connections to the store, logs and so on."""


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
