"""Floods, slow readers, and connections that are refused."""

import asyncio
import http.client
import inspect
import socket
import subprocess
from contextlib import AsyncExitStack
from typing import Any

import pytest
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.websockets import websockets_sansio_impl
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from samedeal.wire import codec
from samedeal.wire import messages as m
from samedeal_server.__main__ import CLIENT_ERRORS
from support.logged_server import Line, LoggedServer
from support.servers import Racer
from support.sessions import alone, boarded, server, strict, viewed

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


async def test_a_client_that_does_not_read_affects_nobody_and_can_rejoin(server: LoggedServer) -> None:
    race = server.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    slow, quick = await Racer("slow").connect(server), await Racer("quick").connect(server)
    await asyncio.gather(slow.join(race), quick.join(race))
    await asyncio.gather(slow.ask(m.Ready), quick.ask(m.Ready))
    await quick.until(lambda view: view.stage == "running")
    narrow = socket.socket()
    for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        narrow.setsockopt(socket.SOL_SOCKET, buffer, 4096)
    narrow.connect(("127.0.0.1", server.port))
    before, loop, sent, sent_at = memory(server), asyncio.get_running_loop(), 0, 0.0
    async with await Line.open(server, "msgpack", sock=narrow, max_queue=1) as deaf:
        await deaf.ask("hello", token=slow.token)

        async def talk() -> None:
            nonlocal sent, sent_at
            while True:
                sent, sent_at = sent + 1, loop.time()
                await deaf.send(deaf.written({"t": "join", "id": sent, "race": race}))
                await deaf.send(deaf.written({"t": "ping", "id": sent, "x": "x" * 4_000}))

        talking = asyncio.create_task(talk())
        while sent < 2 or loop.time() - sent_at < 0.5:  # until the server stops reading from the slow client
            assert sent < 20_000
            moves = quick.board.moves
            async with asyncio.timeout(50):
                assert isinstance(await quick.move(moves[0] if moves else "restart"), m.View)
            await asyncio.sleep(0.005)
        talking.cancel()
        await asyncio.gather(talking, return_exceptions=True)
        assert memory(server) - before < 16_000, "kB more for one connection that does not read"
        deaf.socket.transport.abort()  # an orderly close would take too long
    async with await Line.open(server, "msgpack") as again:
        await again.ask("hello", token=slow.token)
        view = viewed(await again.ask("join", race=race))
        assert quick.view
        assert view.n > quick.view.n
        assert boarded(await again.ask("move", move="draw", ply=0)).ply == 1
    await asyncio.gather(quick.close(), slow.close())


def memory(server: LoggedServer) -> int:
    """Return the resident memory of the server's process (kB)."""
    assert server.process
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(server.process.pid)]))


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


async def test_pages_of_other_origins_are_refused(server: LoggedServer) -> None:
    own = server.url
    for origin in (None, own):
        async with await Line.open(server, "json", "ada", origin=origin) as line:
            assert isinstance(await line.ask("ping"), m.Pong)
    foreign = ["https://evil.example", "null", own + ".evil.example", own.replace("127.0.0.1", "localhost"), own + "0"]
    for origin in [*foreign, "http://127.0.0.1", "http://[", "", "file://", f"http://a@127.0.0.1:{server.port}"]:
        status, problem = await refused_at_the_door(server, additional_headers={"Origin": origin})
        assert (status, problem["code"]) == (403, "foreign-page"), origin


async def test_pages_of_the_public_url_are_accepted(strict: LoggedServer) -> None:
    async with await Line.open(strict, "json", "ada", origin="https://race.example") as line:
        assert isinstance(await line.ask("ping"), m.Pong)
    for origin in ("http://race.example", "https://race.example:81", "https://race.example.evil.example"):
        assert (await refused_at_the_door(strict, additional_headers={"Origin": origin}))[0] == 403


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


async def test_connections_per_address_are_limited(strict: LoggedServer) -> None:
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(await Line.open(strict, "json", "ada")) for _ in range(3)]
        assert (await refused_at_the_door(strict))[0] == 429
        assert strict.get("/healthz")[0] == 200
        await lines[0].socket.close()
        async with asyncio.timeout(50):
            while True:
                try:
                    lines.append(await stack.enter_async_context(await Line.open(strict, "json", "ada")))
                    break
                except InvalidStatus:
                    await asyncio.sleep(0.01)
        for line in lines[1:]:
            assert isinstance(await line.ask("ping"), m.Pong)


def test_an_http_request_to_the_websocket_path_is_refused(server: LoggedServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=50)
    try:
        connection.request("GET", "/ws")
        response = connection.getresponse()
        response.read()
        assert response.status in (400, 404, 426)
    finally:
        connection.close()


def test_filtered_log_messages_exist_in_uvicorn() -> None:
    """A message that uvicorn no longer logs needs no filter."""
    source = inspect.getsource(websockets_sansio_impl) + inspect.getsource(httptools_impl)
    for text in (error.encode("unicode_escape").decode() for error in CLIENT_ERRORS):
        assert f'("{text}")' in source or f'msg = "{text}"' in source
