"""Reading pauses between small pieces of a body, so that a client that sends byte by byte costs little."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from samedeal_server.net.connections import LimitedConfig
from samedeal_server.net.http_connection import MAX_SMALL, LimitedHttpConnection
from samedeal_server.settings import Settings
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


class Paused(asyncio.Transport):
    """A transport that records when reading is paused and resumed."""

    def __init__(self) -> None:
        super().__init__()
        self.record = list[str]()

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        self.record.append("pause")

    def resume_reading(self) -> None:
        self.record.append("resume")


async def test_reading_pauses_after_small_pieces_of_a_body() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] == "http.request":
            pass

    limited = LimitedConfig(app, Settings())
    limited.load()
    connection, transport = LimitedHttpConnection(limited, ServerState(), {}), Paused()
    connection.connection_made(transport)
    connection.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
    for _ in range(MAX_SMALL):
        connection.data_received(b"x")
    assert transport.record == []
    connection.data_received(b"x")
    async with asyncio.timeout(LIMIT_S):
        while transport.record != ["pause", "resume"]:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    connection.connection_lost(None)
