"""Messages to clients that read slowly, or not at all."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from uvicorn.server import ServerState

from samedeal.wire.close_codes import CloseCode
from samedeal_server.net.connections import UNSENT_BYTES, LimitedConfig
from samedeal_server.net.websocket_connection import CONNECTION, LimitedWebSocketConnection
from samedeal_server.settings import Settings
from samedeal_server.socket.outbox import QUEUE_BYTES, QUEUE_MESSAGES, Outbox, OutboxFull
from support.hostile_client import HANDSHAKE
from support.session_here import DeafSocket
from support.waiting import until


@asynccontextmanager
async def full_connection() -> AsyncIterator[tuple[LimitedWebSocketConnection, socket.socket]]:
    """Yield a connection that is not writable, because its client has read nothing, and the client's socket."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[LimitedWebSocketConnection] = loop.create_future()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        opened.set_result(scope["extensions"][CONNECTION])
        while (await receive())["type"] != "websocket.disconnect":
            pass

    config = LimitedConfig(application, Settings())
    config.load()
    server = await loop.create_server(lambda: LimitedWebSocketConnection(config, ServerState(), {}), "127.0.0.1", 0)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        await loop.sock_sendall(client, HANDSHAKE)
        connection = await opened
        while connection.is_writable:
            connection.write(bytes(5_000), text=False)
        yield connection, client
        connection.abort()
    server.close()


async def read_some(connection: LimitedWebSocketConnection, client: socket.socket) -> None:
    """Read until the server can send more."""
    before = connection.unsent

    def has_sent() -> bool:
        with suppress(BlockingIOError):
            client.recv(4096)
        return connection.unsent < before

    await until(has_sent)


async def test_client_that_reads_more_slowly_than_it_is_answered_stays_connected() -> None:
    async with full_connection() as (connection, client):
        now = asyncio.get_running_loop().time()
        for second in range(20):
            connection.check_timeouts(now + second)
            before = connection.unsent
            await read_some(connection, client)
            connection.write(bytes(before - connection.unsent), text=False)
            assert connection.unsent > before
            assert not connection.disconnected


async def test_answers_do_not_keep_a_client_connected_that_reads_nothing() -> None:
    async with full_connection() as (connection, _):
        now = asyncio.get_running_loop().time()
        for second in range(10):
            connection.write(b"answer", text=False)
            connection.check_timeouts(now + second)
        assert connection.disconnected


class FullSocket(DeafSocket):
    """A connection that is not writable."""

    is_writable = False

    def __init__(self) -> None:
        super().__init__()
        self.unsent = UNSENT_BYTES

    def write(self, data: bytes, *, text: bool) -> None:
        self.unsent += len(data)

    def outbox(self) -> Outbox:
        return Outbox(self, text=True, encode_update=lambda update: b"", fail=pytest.fail)


@pytest.mark.parametrize(("count", "size"), [(QUEUE_MESSAGES, 1), (2, QUEUE_BYTES // 2)])
async def test_answers_that_wait_are_limited(count: int, size: int) -> None:
    socket = FullSocket()
    outbox = socket.outbox()
    for _ in range(count):
        outbox.respond(bytes(size))
    with pytest.raises(OutboxFull):
        outbox.respond(b"x")


async def test_client_that_reads_as_fast_as_it_is_answered_gets_any_number_of_answers() -> None:
    """Even if it never catches up, so that the connection does not become writable."""
    socket = FullSocket()
    outbox = socket.outbox()
    for size in (10, 1_000, 100):
        for _ in range(10 * QUEUE_MESSAGES):
            outbox.respond(bytes(size))
            socket.unsent -= size


@pytest.mark.parametrize(("error", "logged"), [(OSError, 0), (RuntimeError, 0), (ValueError, 1)])
async def test_unexpected_errors_of_closing_are_logged(error: type[Exception], logged: int) -> None:
    class Failing(DeafSocket):
        async def close(self, code: int, reason: str) -> None:
            raise error

    failures = list[str]()
    outbox = Outbox(Failing(), text=True, encode_update=lambda update: b"", fail=failures.append)
    outbox.close(CloseCode.MALFORMED, "malformed")
    await outbox.finish()
    assert len(failures) == logged
