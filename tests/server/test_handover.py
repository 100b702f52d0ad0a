"""Handing connections over to the worker that owns a race, or serving them where they are."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from samedeal_server.handover import MAX_BYTES, Handover, owner
from support.stores import until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

URLS = {worker: f"/ws/race-{race}".encode() for race in range(20) for worker in [owner(b"race-%d" % race, 2)]}
"""The URL of a race of each worker."""


class Adopted(asyncio.Protocol):
    """A connection that was handed over. Echoes what was received on it."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.data_received(self._received)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class Client:
    """A client and the server's end of its connection."""

    def __init__(self) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            self.socket = socket.create_connection(listener.getsockname())
            self.accepted, _ = listener.accept()
        self.accepted.setblocking(False)
        self.socket.setblocking(False)

    def hand_over(self, handover: Handover, received: bytes = b"head", url: bytes = URLS[2]) -> bool:
        """Hand over the connection. Closes the server's end if that succeeds."""
        sent = handover.send(url, received, self.accepted)
        if sent:
            self.accepted.close()
        return sent

    async def echo(self, more: bytes = b"") -> bytes:
        """Send more bytes and return the next bytes from the server."""
        loop = asyncio.get_running_loop()
        if more:
            await loop.sock_sendall(self.socket, more)
        return await loop.sock_recv(self.socket, 100)

    def close(self) -> None:
        self.socket.close()
        self.accepted.close()


@contextmanager
def clients(count: int) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Client())) for _ in range(count)]


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Handover, Handover]]:
    """The workers 1 and 2, of which only the second listens."""
    one, other = (Handover(tmp_path, number, 2) for number in (1, 2))
    async with asyncio.timeout(LIMIT_S):
        other.listen(Adopted)
        yield one, other
        one.close()
        other.close()


def test_every_worker_owns_races_and_the_choice_never_changes() -> None:
    races = [b"calm-otter-%d" % number for number in range(1000)]
    for workers in (1, 2, 3, 8):
        owned = [owner(race, workers) for race in races]
        assert set(owned) == set(range(1, workers + 1))
        assert max(map(owned.count, set(owned))) < 1.5 * len(races) / workers
    assert [owner(race, 3) for race in (b"calm-otter-42", b"swift-fox-7", b"a")] == [1, 2, 1]


async def test_connections_are_handed_over_with_what_was_received(pair: tuple[Handover, Handover]) -> None:
    with clients(50) as many:
        assert all(client.hand_over(pair[0], b"head %d" % number) for number, client in enumerate(many))
        assert [await client.echo() for client in many] == [b"head %d" % number for number in range(50)]
        assert [await client.echo(b"more") for client in many] == [b"more"] * 50


@pytest.mark.parametrize(
    "url", [URLS[1], b"/ws", b"/ws/", b"/wsx/race-1", b"/ws/Race", b"/ws/race-1/x", b"/ws/%72ace", b"/ws/race_1"]
)
async def test_own_races_and_other_urls_are_served_here(url: bytes, pair: tuple[Handover, Handover]) -> None:
    with clients(1) as (client,):
        assert not client.hand_over(pair[0], url=url)
        assert client.hand_over(pair[0], url=URLS[2] + b"?query")


async def test_without_a_peer_connections_are_served_here(pair: tuple[Handover, Handover], tmp_path: Path) -> None:
    one, other = pair
    with clients(5) as many:
        assert not many[0].hand_over(other, url=URLS[1])  # not started yet
        assert many[0].hand_over(one)
        assert await many[0].echo() == b"head"
        other.drain()
        assert not many[1].hand_over(one)  # ended
        restarted = Handover(tmp_path, 2, 2)
        restarted.listen(Adopted)
        assert many[1].hand_over(one)
        assert await many[1].echo() == b"head"
        restarted.drain()
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as killed:
            killed.bind(f"{tmp_path / '2.sock'}")  # stays when the process is killed
        assert not many[2].hand_over(one)
        restarted.listen(Adopted)
        assert many[2].hand_over(one)
        restarted.close()


async def test_connections_in_transit_are_served_when_a_peer_drains(pair: tuple[Handover, Handover]) -> None:
    one, other = pair
    with clients(41) as many:
        assert all(client.hand_over(one) for client in many[:40])  # the other has not run in between
        other.drain()
        assert not many[40].hand_over(one)
        assert [await client.echo() for client in many[:40]] == [b"head"] * 40


async def test_busy_peer_gets_no_more_than_it_can_queue(pair: tuple[Handover, Handover]) -> None:
    one, _ = pair
    with ExitStack() as stack:
        queued = list[Client]()
        while (client := stack.enter_context(closing(Client()))).hand_over(one, b"x" * 8192):
            queued.append(client)
        assert len(queued) > 5
        for each in queued:
            assert await each.echo() == b"x" * 100
        await until(lambda: client.hand_over(one, b"again"))
        assert await client.echo() == b"again"


async def test_connections_with_too_much_early_data_are_served_here(pair: tuple[Handover, Handover]) -> None:
    with clients(2) as many:
        assert not many[0].hand_over(pair[0], b"x" * (MAX_BYTES + 1))
        assert many[1].hand_over(pair[0], b"x" * MAX_BYTES)
        received = 0
        while received < MAX_BYTES:
            received += len(await many[1].echo())


async def test_connection_closed_in_transit_harms_nobody(pair: tuple[Handover, Handover]) -> None:
    with clients(2) as many:
        assert many[0].hand_over(pair[0])
        many[0].socket.close()
        assert many[1].hand_over(pair[0])
        assert await many[1].echo() == b"head"


async def test_folder_where_a_worker_cannot_listen_disables_the_handover(tmp_path: Path) -> None:
    handover = Handover(tmp_path / ("x" * 120), 1, 2)
    handover.listen(Adopted)
    with clients(1) as (client,):
        assert not client.hand_over(handover)
    handover.close()
