"""The API for administrators of a server: over its admin socket, or over HTTP with its admin key."""

import os
import socket
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, ProxyHandler, Request, build_opener

from samedeal_cli.addresses import is_local
from samedeal_cli.failure import Misused, Unreachable
from samedeal_cli.net.http_api import AnyStatus, Api, Query

KEY_VARIABLE: Final = "SAMEDEAL_ADMIN_KEY"
TIMEOUT_S: Final = 120.0
"""Some commands read all guests or replays of a server."""


class AdminApi(Api):
    """A client for the admin endpoints of a server. Its methods block and raise as those of ``Api``."""

    def __init__(self, server: str, key: str | None = None, path: Path | None = None) -> None:
        """Use the key over HTTP, or the admin socket at a path. Raises Misused if the key could be read on the way."""
        super().__init__(server, timeout=TIMEOUT_S)
        self._key, self._path = key, path
        if path:
            self._opener = build_opener(ProxyHandler({}), _SocketHandler(path), AnyStatus)
        elif not is_local(server) and urlsplit(server).scheme != "https":
            raise Misused(f"the admin key is not sent to {server}, because the connection is not encrypted")

    def get(self, path: str, query: Query = None) -> bytes:
        """Return a JSON document, sanitised."""
        return self._ask(path, query=query)

    def post(self, path: str, **body: object) -> bytes:
        """Make a change and return the JSON document that describes it, sanitised. Fields of None are left out."""
        return self._ask(path, body={name: value for name, value in body.items() if value is not None})

    def _ask(self, path: str, **request: Any) -> bytes:
        try:
            return self.fetch(f"/admin/{path}", token=self._key, **request)
        except Unreachable as unreachable:
            if self._path is None:
                raise
            raise _unreachable(self._path, unreachable) from unreachable


def default_socket() -> Path:
    """Return the admin socket of a server with the data directory in the environment, or the default one."""
    import platformdirs

    data_dir = os.environ.get("SAMEDEAL_DATA_DIR") or platformdirs.user_data_dir("samedeal", appauthor=False)
    return Path(data_dir).expanduser() / "admin.sock"


def _unreachable(path: Path, why: Unreachable) -> Unreachable:
    reason = why.format_message().rpartition(": ")[2]
    question = "Is the server running, and is this its data directory (--socket, SAMEDEAL_DATA_DIR)?"
    return Unreachable(f"{path}", f"{reason}. {question} Over HTTP, use --server and {KEY_VARIABLE}")


class _SocketConnection(HTTPConnection):
    def __init__(self, path: Path, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(f"{self._path}")


class _SocketHandler(HTTPHandler):
    """Opens all http URLs on a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(partial(_SocketConnection, self._path), request)
