"""What waits for slow readers: frames, bounded queues, and messages that are offered to them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from samedeal.wire.close_codes import CloseCode
from samedeal_server.net.connections import UNSENT_BYTES, LimitedConfig
from samedeal_server.net.websocket_connection import CONNECTION, LimitedWebSocketConnection, server_frame, short_message
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


class OpenTransport(asyncio.Transport):
    """A transport that discards what is written."""

    def is_closing(self) -> bool:
        return False

    def write(self, data: Any) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0


class Messages:
    """An ASGI application that takes the messages offered to it if `takes`, and receives the others."""

    def __init__(self, *, takes: bool) -> None:
        self.takes = takes
        self.all: list[bytes | str] = []
        self.taken: list[bytes] = []
        self.connected = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        scope["extensions"][CONNECTION].offer_to(self._take)
        self.connected.set()
        while (packet := await receive())["type"] == "websocket.receive":
            self.all.append(packet["text"] if packet.get("text") is not None else packet["bytes"])

    def _take(self, message: bytes) -> bool:
        if self.takes:
            self.taken.append(message)
            self.all.append(message)
        return self.takes


async def connection(messages: Messages) -> LimitedWebSocketConnection:
    settings = Settings()
    config = LimitedConfig(messages, settings)
    config.load()
    opened = LimitedWebSocketConnection(config, ServerState(), {})
    opened.connection_made(OpenTransport())
    opened.data_received(HANDSHAKE)
    await messages.connected.wait()
    return opened


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def masked(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


def message_frames(kind: str, length: int) -> list[bytes]:
    data = b"x" * length
    match kind:
        case "fragmented":
            return [masked(Opcode.BINARY, data, fin=False), masked(Opcode.PING, b"p"), masked(Opcode.CONT, data)]
        case "ping":
            return [masked(Opcode.PING, b"p")]
        case "text":
            return [masked(Opcode.TEXT, data)]
        case _:
            return [masked(Opcode.BINARY, data)]


async def test_message_in_one_piece_is_taken_at_once() -> None:
    messages = Messages(takes=True)
    opened = await connection(messages)
    opened.data_received(masked(Opcode.BINARY, b"first"))  # the library parses it: nothing was known before it
    await settled()
    opened.data_received(masked(Opcode.BINARY, b"second"))
    assert messages.taken == [b"second"]
    assert messages.all == [b"first", b"second"]


async def test_refused_message_is_received() -> None:
    messages = Messages(takes=False)
    opened = await connection(messages)
    for text in (b"first", b"second"):
        opened.data_received(masked(Opcode.BINARY, text))
        await settled()
    assert messages.all == [b"first", b"second"]


async def test_message_behind_a_waiting_one_is_not_taken() -> None:
    messages = Messages(takes=True)
    opened = await connection(messages)
    opened.data_received(masked(Opcode.BINARY, b"first"))
    opened.data_received(masked(Opcode.BINARY, b"second"))  # the application has not received the first yet
    await settled()
    assert messages.taken == []
    assert messages.all == [b"first", b"second"]


async def test_message_after_a_part_of_another_is_not_taken() -> None:
    messages = Messages(takes=True)
    opened = await connection(messages)
    opened.data_received(masked(Opcode.BINARY, b"first"))
    await settled()
    inner = masked(Opcode.BINARY, b"inner")
    opened.data_received(b"\x82" + bytes([0x80 | len(inner)]) + b"\0\0\0\0")
    opened.data_received(inner)  # the payload of the frame looks like a frame of its own
    await settled()
    assert messages.taken == []
    assert messages.all == [b"first", inner]


KINDS = st.tuples(st.sampled_from(["binary", "text", "ping", "fragmented"]), st.sampled_from([1, 8, 125, 126, 300]))


@given(kinds=st.lists(KINDS, max_size=8), data=st.data())
def test_splits_do_not_change_the_messages(kinds: list[tuple[str, int]], data: st.DataObject) -> None:
    stream = b"".join(part for kind, length in kinds for part in message_frames(kind, length))
    ends = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)) | {len(stream)})
    expected = [
        "x" * length if kind == "text" else b"x" * (2 * length if kind == "fragmented" else length)
        for kind, length in kinds
        if kind != "ping"
    ]

    async def run() -> list[bytes | str]:
        messages = Messages(takes=True)
        opened = await connection(messages)
        start = 0
        for end in ends:
            opened.data_received(stream[start:end])
            await settled()
            start = end
        return messages.all

    assert asyncio.run(run()) == expected


@given(st.binary(max_size=140))
def test_only_whole_binary_frames_are_short_messages(data: bytes) -> None:
    whole = masked(Opcode.BINARY, data)
    assert short_message(whole) == (data if 0 < len(data) <= 125 else None)
    assert short_message(whole[:-1]) is None
    assert short_message(whole + b"\x82") is None
    assert short_message(masked(Opcode.TEXT, data)) is None
    assert short_message(masked(Opcode.BINARY, data, fin=False)) is None
    assert short_message(data) is None or data[:1] == b"\x82"


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 2**16 - 1, 2**16, 2**16 + 1])
@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.BINARY])
def test_frames_equal_those_of_the_library(opcode: Opcode, length: int) -> None:
    data = b"x" * length
    assert server_frame(opcode, data) == Frame(opcode, data).serialize(mask=False)
