"""Floods, slow readers, and connections that are refused."""

import asyncio
import inspect
from typing import Any, cast

import pytest
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.websockets import websockets_sansio_impl
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from samedeal import codec
from samedeal_server.__main__ import CLIENT_ERRORS
from samedeal_server.net.websocket_connection import CONNECTION
from samedeal_server.socket.websocket_endpoint import WebSocketEndpoint
from support.logged_server import Line, LoggedServer
from support.sessions import alone, server, strict, viewed

pytestmark = pytest.mark.tier(2)

__all__ = ["server", "strict"]


async def test_a_flood_is_slowed_down_without_losing_messages(strict: LoggedServer) -> None:
    loop = asyncio.get_running_loop()
    async with await Line.open(strict, "json", "ada") as line, await Line.open(strict, "json", "bo") as other:
        view = await alone(other, strict)
        began = loop.time()
        for number in range(100, 220):
            await line.send(line.written({"t": "ping", "id": number}))
        flood = asyncio.ensure_future(answers(line, 120))
        moved = await other.ask("move", move="draw", ply=0)
        assert not flood.done(), "one connection's flood slows another one down"
        assert viewed(moved).n == view.n + 1
        assert await flood == list(range(100, 220))
        assert loop.time() - began > 0.8, "120 messages at a burst of 20 and 100 a second"


async def answers(line: Line, count: int) -> list[int | None]:
    """Return the ids of the requests that the next messages answer."""
    return [(await line.hear()).re for _ in range(count)]


async def refused_at_the_door(server: LoggedServer, **options: Any) -> tuple[int, dict[str, Any]]:
    """Return the status and the problem of a refused handshake."""
    with pytest.raises(InvalidStatus) as caught:
        async with connect(server.url.replace("http", "ws") + "/ws", **options):
            pass
    response = caught.value.response
    assert response.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = codec.decode(bytes(response.body or b""), "json", dict)
    assert problem["status"] == response.status_code
    return response.status_code, problem


async def test_individual_connections_are_not_logged(server: LoggedServer) -> None:
    before = server.log
    async with await Line.open(server, "json", "ada") as line:
        await line.ask("ping")
    await refused_at_the_door(server, subprotocols=[Subprotocol("chat")])
    assert server.get("/healthz")[0] == 200
    assert server.log == before


async def test_unknown_subprotocols_are_refused(server: LoggedServer) -> None:
    for names in (["samedeal.v2.json"], ["chat"], ["SAMEDEAL.V1.JSON", "mqtt"]):
        status, problem = await refused_at_the_door(server, subprotocols=[Subprotocol(name) for name in names])
        assert (status, problem["code"]) == (426, "unsupported-version")
        assert "samedeal.v1.json" in problem["detail"]
    url = server.url.replace("http", "ws") + "/ws"
    async with connect(url, subprotocols=[Subprotocol("chat"), Subprotocol("samedeal.v1.json")]) as socket:
        assert socket.subprotocol == "samedeal.v1.json"
    async with connect(url) as socket:
        await socket.send('{"t":"ping","id":1}')
        assert await socket.recv() == '{"re":1,"t":"pong"}'


async def test_another_asgi_server_fails_at_the_handshake() -> None:
    async def no_message(*_: object) -> Any:
        pytest.fail("the handshake has begun")

    endpoint = WebSocketEndpoint(*[cast(Any, None)] * 6)
    with pytest.raises(KeyError, match=CONNECTION):
        await endpoint({"type": "websocket", "path": "/ws", "headers": [], "extensions": {}}, no_message, no_message)


def test_filtered_log_messages_exist_in_uvicorn() -> None:
    """A message that uvicorn no longer logs needs no filter."""
    source = inspect.getsource(websockets_sansio_impl) + inspect.getsource(httptools_impl)
    for text in (error.encode("unicode_escape").decode() for error in CLIENT_ERRORS):
        assert f'("{text}")' in source or f'msg = "{text}"' in source
