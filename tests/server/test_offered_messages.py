"""Messages that are offered to the application as they arrive, however the bytes are split."""

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from samedeal_server.net.connections import LimitedConfig
from samedeal_server.net.websocket_connection import CONNECTION, LimitedWebSocketConnection, short_message
from samedeal_server.settings import Settings
from support.hostile_client import HANDSHAKE


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
