"""Clients that request much and read nothing use little memory, in the server and in the kernel."""

import asyncio
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from samedeal.wire import messages as m
from samedeal_server.net import connections
from samedeal_server.net.http_connection import HTTP_SENT_BYTES
from support.hostile_client import Hostile, gone, memory, said
from support.logged_server import LoggedServer, request
from support.servers import racers
from support.stores import until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(3)

REQUESTS = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 8
TABLE = Path("/proc/net/tcp")


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[LoggedServer]:
    with LoggedServer(store_url, tmp_path / "log", unread_s="1", request_s="1").start() as running:
        yield running
        assert running.failures() == []


def unsent(server: LoggedServer) -> list[int]:
    """Return how many bytes the kernel buffers for each client of the server, including closed connections."""
    rows = [row.split() for row in TABLE.read_text().splitlines()[1:]]
    queues = [int(row[4].partition(":")[0], 16) for row in rows if int(row[1].partition(":")[2], 16) == server.port]
    return [queue for queue in queues if queue]


def flooded(server: LoggedServer, stack: ExitStack) -> list[Hostile]:
    """Return clients that have requested much and read nothing; the first bytes have reached each of them."""
    clients = [stack.enter_context(Hostile(server, receives=4096)) for _ in range(40)]
    for number, client in enumerate(clients):
        client.send(REQUESTS if number % 2 else REQUESTS.replace(b"Host", b"Connection: close\r\nHost"))
    for client in clients:
        assert select.select([client.socket], [], [], 120)[0]
    return clients


@pytest.mark.skipif(not TABLE.exists(), reason="platform: needs Linux's /proc")
async def test_kernel_buffers_of_slow_readers_stay_small(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", unread_s="600").start() as server, ExitStack() as stack:
        flooded(server, stack)
        await until(lambda: len(unsent(server)) >= 20)  # a request after "Connection: close" can reset the connection
        assert max(unsent(server)) < 4 * HTTP_SENT_BYTES


@pytest.mark.skipif(not TABLE.exists(), reason="platform: needs Linux's /proc")
async def test_kernel_buffers_of_slow_readers_are_released(server: LoggedServer) -> None:
    document = len(request(server, "GET", "/openapi.json").body)
    with ExitStack() as stack:
        clients = flooded(server, stack)
        await until(lambda: not unsent(server))
        assert all(len(client.rest()) < document for client in clients)


async def test_reset_with_pipelined_requests_logs_no_error(server: LoggedServer) -> None:
    for _ in range(20):
        with Hostile(server, receives=4096) as client:
            client.send(REQUESTS)
            client.until(b"\r\n\r\n")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for _ in range(20):
        assert request(server, "GET", "/healthz").status == 200
    assert server.failures() == []


class Connection:
    """A connection with unsent data that records whether it was aborted."""

    def __init__(self, unsent: int) -> None:
        self.unsent, self.aborted = unsent, False

    def abort(self) -> None:
        self.aborted = True


def test_connections_with_the_most_unsent_data_are_reset_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_UNSENT_BYTES", 100)
    for sizes, aborted in (
        ([], []),
        ([40, 60], [False, False]),
        ([40, 61], [False, True]),
        ([30, 70, 60, 10], [False, True, False, False]),
        ([300, 5, 200], [True, False, True]),
    ):
        crowd = [Connection(size) for size in sizes]
        connections.limit_unsent(cast(Any, crowd))
        assert [connection.aborted for connection in crowd] == aborted


@pytest.mark.tier(2)
async def test_many_slow_readers_use_little_memory_while_others_play(store_url: str, tmp_path: Path) -> None:
    """They ask for the full view of a race 18 times each."""
    limits = {"connections_per_address": "0", "ping_s": "3600", "rate": "20"}
    limited = LoggedServer(store_url, tmp_path / "log", emptied=True, **limits)
    with limited.start() as server, ExitStack() as stack:
        race = server.create("gallery", seed="1", spectators="open", max_racers=1, start_delay_ms=0)
        requests = said('{"t":"hello","id":1,"name":"eve"}') + said(f'{{"t":"watch","id":2,"race":"{race}"}}') * 18

        def all_are_disconnected() -> bool:
            clients = [stack.enter_context(Hostile.shaken(server, receives=4096)) for _ in range(100)]
            for client in clients:
                client.send(requests)
            return gone(clients, LIMIT_S)

        async with racers(server, "ada") as (ada,):
            await ada.begin(race)
            before, peak, moves = memory(server), 0, 0
            crowd = asyncio.create_task(asyncio.to_thread(all_are_disconnected))
            while not crowd.done():
                async with asyncio.timeout(LIMIT_S):  # on a busy machine the response may be late; clients retry
                    while not isinstance(await ada.move((ada.board.moves or ["restart"])[0]), m.View):
                        pass
                moves, peak = moves + 1, max(peak, memory(server))
                await asyncio.sleep(0.03)
        assert await crowd
        assert peak - before < 100 * 100 + 12_000, "kB"
        assert moves > 20
        assert server.failures() == []
