"""Slow HTTP readers: clients that ask for much and read nothing cost little memory, in the server and in the kernel."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from hostile import Hostile
from noted import NotedServer, request
from samedeal_server import guard
from samedeal_server.guard import GuardedRequests
from stores import until

MUCH = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 8
TABLE = Path("/proc/net/tcp")


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[NotedServer]:
    with NotedServer(store_url, tmp_path / "log", unread_seconds="1", hello_timeout_ms="1000").start() as running:
        yield running
        assert running.failures() == []


def unsent(server: NotedServer) -> list[int]:
    """How many bytes the kernel holds for each client of the server, closed connections included."""
    rows = [row.split() for row in TABLE.read_text().splitlines()[1:]]
    queues = [int(row[4].partition(":")[0], 16) for row in rows if int(row[1].partition(":")[2], 16) == server.port]
    return [queue for queue in queues if queue]


@pytest.mark.skipif(not TABLE.exists(), reason="platform: only Linux shows what its kernel holds")
async def test_the_kernel_holds_little_for_a_client_that_does_not_read_and_not_for_long(server: NotedServer) -> None:
    most = 0

    def all_dropped() -> bool:
        nonlocal most
        found = unsent(server)
        most = max(most, *found, 0)
        return most > 0 and not found

    with ExitStack() as stack:
        for number in range(40):
            client = stack.enter_context(Hostile(server, receives=4096))
            client.send(MUCH if number % 2 else MUCH.replace(b"Host", b"Connection: close\r\nHost"))
        await until(all_dropped, 60)
    assert most < 4 * guard.HTTP_SENT_BYTES


async def test_a_client_that_resets_a_connection_with_several_requests_leaves_no_error(server: NotedServer) -> None:
    for _ in range(20):
        with Hostile(server, receives=4096) as client:
            client.send(MUCH)
            client.until(b"\r\n\r\n")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for _ in range(20):
        assert request(server, "GET", "/healthz").status == 200
    assert server.failures() == []


class Transport:
    """A transport that has something left to send."""

    def __init__(self, size: int) -> None:
        self.size = size

    def get_write_buffer_size(self) -> int:
        return self.size


class Connection:
    """A connection that notes when it is ended."""

    def __init__(self, size: int) -> None:
        self.transport, self.aborted = Transport(size), False

    def abort(self) -> None:
        self.aborted = True


def test_the_connections_with_the_most_unsent_data_are_ended_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_UNSENT_BYTES", 100)
    for sizes, ended in (
        ([], []),
        ([40, 60], [False, False]),
        ([40, 61], [False, True]),
        ([30, 70, 60, 10], [False, True, False, False]),
        ([300, 5, 200], [True, False, True]),
    ):
        connections = [Connection(size) for size in sizes]
        guard._bound_unsent(cast("list[GuardedRequests]", cast(Any, connections)))
        assert [connection.aborted for connection in connections] == ended
