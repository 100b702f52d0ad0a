"""Handover: workers hand WebSocket connections over to the worker that owns the race.

With all connections of a race in one worker, each move is folded once. Ownership is only a hint: every worker can serve
every race, and serves the connections that it cannot hand over.
"""

import asyncio
import logging
import re
import socket
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from samedeal_server.live.registry import RACE_ID
from samedeal_server.net import metrics
from samedeal_server.net.http_connection import LimitedHttpConnection

logger = logging.getLogger(__name__)

RACE_URL: Final = re.compile(rb"[^?]*/ws/(%s)(?:\?.*)?" % RACE_ID.pattern.encode())
MAX_BYTES: Final = 65_536
"""How much a client may have sent for its connection to be handed over."""
MAX_AT_ONCE: Final = 16
"""How many connections are accepted from a peer before moves are served in between."""


def owner(race_id: bytes, workers: int) -> int:
    """Return the number, from 1, of the worker that owns a race."""
    return crc32(race_id) % workers + 1


class Handover:
    """The sockets between one worker and its peers. A peer may end and be restarted at any time."""

    def __init__(self, folder: Path, number: int, workers: int) -> None:
        """`folder` is private and the same for all workers; `number` is that of this worker, from 1."""
        self._folder, self._number, self._workers = folder, number, workers
        self._senders: dict[int, socket.socket] = {}
        self._listener: socket.socket | None = None
        self._receivers = set[socket.socket]()
        self._adopting = set[asyncio.Task[None]]()

    def send(self, url: bytes, received: bytes, connection: socket.socket) -> bool:
        """Hand over a connection and what was received on it to the owner of the race that the URL names.

        Return False if the connection has to be served here: this worker is the owner, or the owner cannot take it.
        After True, close this process's copy of the connection.
        """
        match = RACE_URL.fullmatch(url)
        if match is None or (peer := owner(match[1], self._workers)) == self._number:
            return False
        sent = len(received) <= MAX_BYTES and self._send(peer, received, connection.fileno())
        metrics.HANDOVERS.labels("sent" if sent else "failed").inc()
        return sent

    @property
    def is_first(self) -> bool:
        """Whether this is the first of the workers."""
        return self._number == 1

    def listen(self, connection: Callable[[bytes], asyncio.Protocol]) -> None:
        """Accept connections from peers. `connection` returns the protocol for one, given what was received on it."""
        self._connection = connection
        path = self._path(self._number)
        try:
            self._listener = _listening(path)
        except OSError as error:
            logger.warning("cannot listen at %s, so connections are not handed over: %s", path, error)
        else:
            asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)

    def drain(self) -> None:
        """Stop accepting connections, apart from those that were already handed over. Peers serve new ones."""
        if self._listener:
            self._accept(self._listener)
            asyncio.get_running_loop().remove_reader(self._listener)
            self._path(self._number).unlink(missing_ok=True)
            self._listener.close()
            self._listener = None
        for receiver in self._receivers:
            with suppress(OSError):
                receiver.shutdown(socket.SHUT_RD)  # what is queued can still be received

    def close(self) -> None:
        """Drain, and close all sockets."""
        self.drain()
        for receiver in self._receivers:
            asyncio.get_running_loop().remove_reader(receiver)
        for each in (*self._receivers, *self._senders.values()):
            each.close()
        self._receivers.clear()
        self._senders.clear()

    def _path(self, worker: int) -> Path:
        return self._folder / f"{worker}.sock"

    def _send(self, peer: int, received: bytes, file: int) -> bool:
        for _ in range(2):  # again with a new socket if the peer was restarted
            try:
                sender = self._senders.get(peer) or self._connect(peer)
                sender.sendmsg([received], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [file]))])
            except BlockingIOError:
                return False  # the peer is busy
            except OSError:
                if stale := self._senders.pop(peer, None):
                    stale.close()
            else:
                return True
        return False

    def _connect(self, peer: int) -> socket.socket:
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            sender.setblocking(False)
            sender.connect(f"{self._path(peer)}")
        except OSError:
            sender.close()
            raise
        self._senders[peer] = sender
        return sender

    def _accept(self, listener: socket.socket) -> None:
        with suppress(BlockingIOError):
            while True:
                receiver, _ = listener.accept()
                receiver.setblocking(False)
                self._receivers.add(receiver)
                asyncio.get_running_loop().add_reader(receiver, self._receive, receiver)

    def _receive(self, receiver: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            for _ in range(MAX_AT_ONCE):
                received, files, _, _ = socket.recv_fds(receiver, MAX_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
                if not received:
                    break
                for file in files:  # none if this process has too many open files
                    metrics.HANDOVERS.labels("received").inc()
                    task = loop.create_task(self._adopt(received, socket.socket(fileno=file)))
                    self._adopting.add(task)
                    task.add_done_callback(self._adopting.discard)
            else:
                return
        except BlockingIOError:
            return
        except OSError as error:
            logger.warning("lost the connection to another worker: %s", error)
        loop.remove_reader(receiver)
        self._receivers.discard(receiver)
        receiver.close()

    async def _adopt(self, received: bytes, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(partial(self._connection, received), connection)
        except OSError:
            connection.close()


def _listening(path: Path) -> socket.socket:
    """Return a listening socket. Raises OSError, on macOS always."""
    path.unlink(missing_ok=True)  # from a process that was killed
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(f"{path}")
        listener.listen()
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


class HandedOverConnection(LimitedHttpConnection):
    """A connection from another worker. It stays here."""

    def __init__(self, received: bytes, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._handed_over = received

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.data_received(self._handed_over)

    def _hand_over(self, early: bytes) -> bool:
        return False
