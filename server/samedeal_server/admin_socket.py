"""The admin socket: a Unix socket in the data directory, on which the user that runs the server administers it."""

import asyncio
import logging
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from samedeal_server.net.supervised import supervised

logger = logging.getLogger(__name__)

NAME: Final = "admin.sock"

_CHECK_S: Final = 1.0
"""How often a server checks whether the one with the socket has ended (s)."""


class AdminSocket:
    """Serves an application over HTTP on a socket with mode 0600.

    If several servers have the same data directory, the last one that started has the socket. When that one ends,
    another takes over.
    """

    def __init__(self, app: ASGIApp, data_dir: Path) -> None:
        self._path, self._app = data_dir.expanduser() / NAME, app
        self._server: asyncio.Server | None = None
        self._inode = 0
        self._check: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        """Create the folder if necessary, and start to serve.

        If that is not possible, log why: everything else works without the socket.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            await self._bind()
        except (OSError, AttributeError) as error:  # Windows has no such sockets
            logger.warning("cannot listen at %s, so samedeal admin needs SAMEDEAL_ADMIN_KEY: %s", self._path, error)
        else:
            self._check = asyncio.ensure_future(supervised("keeping the admin socket", self._take_over, _CHECK_S))

    def close(self) -> None:
        """Stop serving, and remove the socket unless another server has replaced it."""
        if self._check:
            self._check.cancel()
        if self._server is None:
            return
        self._server.close()
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    async def _take_over(self) -> None:
        """Serve again if the server that replaced the socket has ended."""
        if _is_abandoned(self._path):
            with suppress(OSError):  # such as a data directory that is gone
                await self._bind()

    async def _bind(self) -> None:
        config = uvicorn.Config(
            self._app,
            http="httptools",
            ws="none",
            interface="asgi3",
            lifespan="off",
            proxy_headers=False,
            access_log=False,
            server_header=False,
            log_config=None,
        )
        config.load()
        state = ServerState()  # its connections do not count towards the limit of the server's
        listener = _bound(self._path)
        if self._server:
            self._server.close()
        self._inode = self._path.stat().st_ino
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: HttpToolsProtocol(config, state, {}), sock=listener
        )


def _is_abandoned(path: Path) -> bool:
    """Return whether no server listens at a path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(f"{path}")
        except (FileNotFoundError, ConnectionRefusedError):
            return True
        except OSError:  # such as a full queue of connections
            return False
    return False


def _bound(path: Path) -> socket.socket:
    """Return a socket bound to a path, replacing any other. Raises OSError."""
    draft = path.with_name(f".{secrets.token_hex(4)}.sock")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(f"{draft}")
        draft.chmod(0o600)  # nobody can connect before, because the socket is not listening yet
        listener.listen()  # before the rename, so that no other server finds the socket abandoned
        draft.rename(path)
    except OSError:
        listener.close()
        draft.unlink(missing_ok=True)
        raise
    listener.setblocking(False)
    return listener
