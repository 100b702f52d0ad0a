"""A server with a recorded log, and low-level WebSocket and HTTP clients."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
from redis import Redis
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from samedeal import codec
from samedeal.race.events import RACE_FORMAT
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.servers import Server
from support.waiting import LIMIT_S


class LoggedServer(Server):
    """A server process that logs to a file."""

    def __init__(self, store_url: str, log: Path, *, emptied: bool = True, **settings: str) -> None:
        """Create a server. Clears the store."""
        super().__init__(store_url, None, **settings)
        self._log, self._read = log, 0
        if emptied:
            with Redis.from_url(store_url) as redis:
                redis.flushall()

    def start(self, port: int = 0) -> Self:
        with _stderr_to(self._log):
            return super().start(port)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def failures(self) -> list[str]:
        """Return the internal errors logged since the last call.

        Client errors are not included, nor are races lost by the store: other tests empty the shared store.
        """
        news, self._read = self.log[self._read :], len(self.log)
        errors = re.findall(r".*(?: ERROR | CRITICAL |\"(?:error|critical)\"|Traceback|Error: |Warning: ).*", news)
        return [line for line in errors if "the store lost the entries after" not in line]


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    """Headers by lower-case name."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(server: Server, method: str, target: str, body: bytes | None = None, **headers: str) -> Answer:
    """Send a request with exactly this target. ``_`` in header names stands for ``-``."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    try:
        connection.putrequest(method, target, skip_host="Host" in headers, skip_accept_encoding=True)
        if body is not None and headers.keys().isdisjoint({"Content_Length", "Transfer_Encoding"}):
            connection.putheader("Content-Length", str(len(body)))
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


class Undelayed(LoggedServer):
    """A server without delays that limits cause."""

    program = ("-m", "support.undelayed_server")


class Line:
    """A connection that sends arbitrary data."""

    def __init__(self, socket: ClientConnection, form: codec.Form) -> None:
        self.socket, self.form = socket, form
        self.packets: list[bytes] = []
        """All received data."""
        self._id = 0

    @classmethod
    async def open(
        cls,
        server: Server,
        form: codec.Form = "json",
        name: str | None = None,
        origin: str | None = None,
        **options: Any,
    ) -> Self:
        """Connect, and say hello if there is a name."""
        protocol = next(
            Subprotocol(protocol) for protocol, encoding in decoding.SUBPROTOCOLS.items() if encoding == form
        )
        url = server.url.replace("http", "ws") + "/ws"
        origin_header = Origin(origin) if origin is not None else None
        options = {"ping_timeout": LIMIT_S, "origin": origin_header, "compression": None} | options
        line = cls(await connect(url, subprotocols=[protocol], **options), form)
        if name is not None:
            assert isinstance(await line.ask("hello", name=name, format=RACE_FORMAT), m.Welcome)
        return line

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.socket.close()

    async def send(self, packet: bytes) -> None:
        """Send bytes in a text or binary frame, depending on the format."""
        await self.socket.send(packet if self.form == "msgpack" else packet.decode())

    async def ask(self, t: str, **fields: Any) -> m.FromServer:
        """Send a request and return the response."""
        self._id += 1
        await self.send(self.written({"t": t, "id": self._id, **fields}))
        return await self.answer(self._id)

    async def answer(self, re: int | None) -> m.FromServer:
        """Return the response to a request. Skips other messages."""
        while True:
            message = await self.hear()
            if message.re == re and not (re is None and isinstance(message, m.View | m.Progress)):
                return message

    async def hear(self) -> m.FromServer:
        packet = await self.socket.recv()
        self.packets.append(packet.encode() if isinstance(packet, str) else packet)
        return decoding.decode_from_server(self.packets[-1], self.form)

    async def close_code(self) -> int:
        """Skip to the end of the connection and return the close code."""
        with suppress(ConnectionClosed):
            while True:
                await self.hear()
        code = self.socket.close_code
        assert code is not None
        return code

    def written(self, content: object) -> bytes:
        """Encode any content in this connection's format."""
        return written(content, self.form)


def written(content: object, form: codec.Form) -> bytes:
    return msgspec.json.encode(content) if form == "json" else msgspec.msgpack.encode(content)


@contextmanager
def _stderr_to(file: Path) -> Iterator[None]:
    """Make processes that start while the block runs write stderr to a file."""
    saved, target = os.dup(2), os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(target)
