"""A hostile client: arbitrary bytes and frames over a plain socket, without reading replies."""

import base64
import os
import select
import socket
import struct
import subprocess
import time
from collections.abc import Iterable
from typing import Self

from support.servers import Server
from support.waiting import LIMIT_S

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def frame(opcode: int, data: bytes = b"", *, fin: bool = True, rsv: int = 0) -> bytes:
    """Return a client frame with an all-zero mask."""
    head = bytes([fin << 7 | rsv << 4 | opcode])
    if len(data) < 126:
        head += bytes([0x80 | len(data)])
    elif len(data) < 65_536:
        head += b"\xfe" + struct.pack("!H", len(data))
    else:
        head += b"\xff" + struct.pack("!Q", len(data))
    return head + bytes(4) + data


def said(*texts: str) -> bytes:
    """Return protocol messages as JSON."""
    return b"".join(frame(TEXT, text.encode()) for text in texts)


class Hostile:
    """A connection."""

    def __init__(self, server: Server, *, receives: int | None = None) -> None:
        """`receives` is the size of the receive buffer in bytes."""
        self.socket = socket.socket()
        if receives is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(("127.0.0.1", server.port))
        self._got = b""

    @classmethod
    def shaken(cls, server: Server, *, receives: int | None = None, extensions: str = "", path: str = "/ws") -> Self:
        """Connect and upgrade to WebSocket. The response is in `handshake`."""
        client = cls(server, receives=receives)
        client.send(client.greeting(server, extensions, path))
        client.handshake = client.until(b"\r\n\r\n")
        assert client.handshake.startswith(b"HTTP/1.1 101"), client.handshake
        return client

    handshake = b""

    @staticmethod
    def greeting(server: Server, extensions: str = "", path: str = "/ws") -> bytes:
        """Return a WebSocket upgrade request."""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: samedeal.v1.json",
            *([f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def flood(self, data: bytes, times: int) -> int:
        """Send data repeatedly without reading. Return how often, until the server blocks or disconnects."""
        for count in range(times):
            try:
                self.socket.sendall(data)
            except OSError:
                return count
        return times

    def until(self, end: bytes) -> bytes:
        """Receive up to and including these bytes, or until the end."""
        while end not in self._got and (more := self._receive()):
            self._got += more
        before, separator, self._got = self._got.partition(end)
        return before + separator

    def rest(self) -> bytes:
        """Receive until the server closes the connection."""
        while more := self._receive():
            self._got += more
        got, self._got = self._got, b""
        return got

    def frame(self) -> tuple[int, bytes]:
        """Receive a frame. Return its opcode and payload."""
        head = self._exactly(2)
        length = head[1]
        if length == 126:
            (length,) = struct.unpack("!H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._exactly(8))
        return head[0] & 15, self._exactly(length)

    def close_code(self) -> int:
        """Skip to the close frame and return its code."""
        while True:
            opcode, data = self.frame()
            if opcode == CLOSE:
                (code,) = struct.unpack("!H", data[:2])
                return int(code)

    def _exactly(self, length: int) -> bytes:
        while len(self._got) < length:
            more = self._receive()
            if not more:
                raise EOFError
            self._got += more
        data, self._got = self._got[:length], self._got[length:]
        return data

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(65_536)
        except ConnectionError:
            return b""


def gone(clients: Iterable[Hostile], within_s: float) -> bool:
    """Return whether the server closes all connections in time, without reading from them."""
    poll, waiting = select.poll(), {client.socket.fileno() for client in clients}
    for number in waiting:
        poll.register(number, select.POLLRDHUP)
    deadline = time.monotonic() + within_s
    while waiting and time.monotonic() < deadline:
        for number, _ in poll.poll(max(1, min(200, int(1000 * within_s)))):
            poll.unregister(number)
            waiting.discard(number)
    return not waiting


def memory(server: Server) -> int:
    """Return the resident memory of the server process (kB)."""
    assert server.process
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(server.process.pid)]))
