"""Routing by race: a server with several workers hands each connection to the worker that owns its race."""

import asyncio
import os
import re
import select
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from samedeal_server.handover import owner
from server.test_metrics import value
from support.campaign import Persistent, racing, seeded_random, wait_for_more_moves, wait_for_moves
from support.hostile_client import TEXT, Hostile, frame, said
from support.logged_server import LoggedServer
from support.race_check import find_violations
from support.random_games import RESTARTABLE
from support.servers import Racer
from support.waiting import LIMIT_S, until

pytestmark = pytest.mark.tier(2)

WORKERS = 3
HELLO = '{"t":"hello","id":1,"name":"ada"}'
PING = '{"t":"ping","id":2}'
PONG = (TEXT, b'{"re":2,"t":"pong"}')


class RoutedServer(LoggedServer):
    """A server of three workers. Other servers may use its store."""

    def __init__(self, store_url: str, log: Path, **settings: str) -> None:
        settings = {"metrics": "on", "connections_per_address": "0"} | settings
        super().__init__(store_url, log, workers=f"{WORKERS}", emptied=False, **settings)

    def pid(self, worker: int) -> int:
        """Return the current process of a worker."""
        return int(re.findall(rf"worker {worker} is process (\d+)", self.log)[-1])

    def handovers(self, result: str) -> float:
        return value(self, "samedeal_handovers_total", result=result)

    async def workers_of(self, sockets: Sequence[ClientConnection]) -> list[int]:
        """Return the worker of each open connection."""
        ports, found = [int(socket.local_address[1]) for socket in sockets], dict[int, int]()
        # The kernel's list can miss connections while others come and go.
        await until(lambda: found.update(self._workers_by_port()) or found.keys() >= {*ports})
        return [found[port] for port in ports]

    def _workers_by_port(self) -> dict[int, int]:
        clients = {}
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, remote, *_, inode = line.split()[:10]
            if int(local.partition(":")[2], 16) == self.port:
                clients[f"socket:[{inode}]"] = int(remote.partition(":")[2], 16)
        found = {}
        for worker in range(1, WORKERS + 1):
            for file in Path(f"/proc/{self.pid(worker)}/fd").iterdir():
                try:
                    port = clients.get(os.readlink(file))
                except FileNotFoundError:
                    continue  # closed in between
                if port is not None:
                    found[port] = worker
        return found


def owner_of(race: str) -> int:
    return owner(race.encode(), WORKERS)


async def greeted(server: RoutedServer, race: str) -> ClientConnection:
    """Connect with the URL of a race and say hello: connections that do not are closed after 5 s."""
    socket = await connect(f"{server.url.replace('http', 'ws')}/ws/{race}", compression=None)
    await socket.send(HELLO)
    return socket


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoutedServer]:
    with RoutedServer(store_url, tmp_path_factory.mktemp("routing") / "log").start() as running:
        yield running
        assert running.failures() == []


async def test_all_connections_of_a_race_are_served_by_its_owner(server: RoutedServer) -> None:
    races = [server.create("corners") for _ in range(10)]
    at_once = asyncio.Semaphore(50)
    before = {result: server.handovers(result) for result in ("sent", "received", "failed")}

    async def opened(race: str) -> tuple[str, ClientConnection]:
        async with at_once:
            return race, await greeted(server, race)

    async with asyncio.timeout(LIMIT_S):
        sockets = await asyncio.gather(*(opened(race) for race in races for _ in range(40)))
        assert await server.workers_of([socket for _, socket in sockets]) == [owner_of(race) for race, _ in sockets]
        after = {result: server.handovers(result) - before[result] for result in before}
        assert after["sent"] == after["received"] > 0
        assert after["failed"] == 0
        for race, socket in sockets[::40]:
            await socket.recv()
            await socket.send(f'{{"t":"watch","id":2,"race":"{race}"}}')
            assert f'"race":"{race}"' in str(await socket.recv())
        await asyncio.gather(*(socket.close() for _, socket in sockets))


def read_response(client: Hostile) -> None:
    head = client.until(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    client._exactly(int(re.findall(rb"content-length: (\d+)", head)[0]))


def check_welcome(client: Hostile) -> None:
    assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 101")
    assert b'"t":"welcome"' in client.frame()[1]


def handed_over(server: RoutedServer, data: bytes, count: int = 5, pieces: int = 1) -> Iterator[Hostile]:
    """Connect, and send the same data in some pieces, until `count` connections have been handed over."""
    before, opened = server.handovers("received"), 0
    while server.handovers("received") < before + count:
        with Hostile(server) as client:
            for at in range(pieces):
                client.send(data[len(data) * at // pieces : len(data) * (at + 1) // pieces])
            yield client
            opened += 1
    assert opened >= count


def greeting(server: RoutedServer) -> bytes:
    return Hostile.greeting(server, path=f"/ws/{server.create('corners')}")


@pytest.mark.parametrize("pieces", [1, 400])
def test_early_messages_are_answered_after_a_handover(server: RoutedServer, pieces: int) -> None:
    for client in handed_over(server, greeting(server) + said(HELLO, PING), pieces=pieces):
        check_welcome(client)
        assert client.frame() == PONG


def test_more_early_data_than_a_handover_takes_is_answered(server: RoutedServer) -> None:
    pings = said(HELLO, *[PING] * 20) + frame(TEXT, b" " * 3000 + PING.encode()) * 40
    client = Hostile(server)
    with client:
        sending = threading.Thread(target=client.send, args=(greeting(server) + pings,))
        sending.start()
        check_welcome(client)
        assert [client.frame() for _ in range(60)] == [PONG] * 60
        sending.join()


def test_connection_that_had_a_request_can_be_upgraded(server: RoutedServer) -> None:
    for client in handed_over(server, b"GET /api/v1/games HTTP/1.1\r\nHost: a\r\n\r\n"):
        read_response(client)
        client.send(greeting(server) + said(HELLO))
        check_welcome(client)


def test_upgrade_with_a_body_is_answered(server: RoutedServer) -> None:
    with Hostile(server) as client:
        client.send(greeting(server).replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\nhello", 1) + said(HELLO))
        assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/ws/", "/ws/Calm-Otter", "/ws/a/b", "/ws/%20", "/ws/" + "a" * 65, "/ws/a_b"])
async def test_malformed_race_in_the_url_is_refused(server: RoutedServer, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(server.url.replace("http", "ws") + path)
    assert refused.value.response.status_code == 400
    assert refused.value.response.headers["content-type"] == "application/problem+json"
    assert b'"code":"bad-request"' in bytes(refused.value.response.body or b"")


async def test_connection_can_join_another_race_than_that_of_its_url(server: RoutedServer) -> None:
    races = [server.create("corners", seed="1", max_racers=1, start_delay_ms=0) for _ in range(6)]
    player = Racer("ada")
    player.path = f"/ws/{races[0]}"
    async with asyncio.timeout(LIMIT_S):
        await player.connect(server)
        for race in races:
            view = await player.begin(race)
            assert view.race == race
            assert view.board
        await player.close()


async def test_limit_per_address_counts_connections_that_were_handed_over(store_url: str, tmp_path: Path) -> None:
    with RoutedServer(store_url, tmp_path / "log", connections_per_address="5").start() as server:
        race = server.create("corners")
        async with asyncio.timeout(LIMIT_S):
            sockets = [await greeted(server, race) for _ in range(5)]
            for _ in range(5):
                with pytest.raises(InvalidStatus) as refused:
                    await greeted(server, race)
                assert b'"code":"too-many"' in bytes(refused.value.response.body or b"")
            await sockets.pop().close()
            await until(lambda: value(server, "samedeal_connections") == 4)
            sockets.append(await greeted(server, race))
            await asyncio.gather(*(socket.close() for socket in sockets))


async def worker_of_new_connection(server: RoutedServer, race: str) -> int:
    """Return the worker that serves a new connection for a race, or 0 if a draining worker refuses it."""
    try:
        async with connect(f"{server.url.replace('http', 'ws')}/ws/{race}") as socket:
            (worker,) = await server.workers_of([socket])
            return worker
    except InvalidStatus as refused:
        if b'"code":"draining"' in bytes(refused.response.body or b""):
            return 0
        raise


def fields(server: RoutedServer, chance: Random, count: int, **options: Any) -> list[list[Persistent]]:
    """Return racers of one new race for each worker that owns one."""
    found = dict[int, list[Persistent]]()
    while len(found) < WORKERS:
        race = server.create(chance.choice(RESTARTABLE), start_delay_ms=200, max_racers=count, **options)
        players = [Persistent(f"racer {number}", race, [server], Random(chance.random())) for number in range(count)]
        found.setdefault(owner_of(race), players)
    return [found[worker] for worker in sorted(found)]


@pytest.mark.tier(3)
async def test_race_continues_in_other_workers_when_its_owner_is_killed(store_url: str, tmp_path: Path) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        with RoutedServer(store_url, tmp_path / "log", log_level="debug", log_format="json") as server:
            owned, *others = fields(server, chance, 4)
            killed = server.pid(1)
            async with racing(owned, *others):
                await wait_for_moves(owned, chance.randrange(1, 80))
                os.kill(killed, signal.SIGKILL)
                await until(lambda: all(player.losses for player in owned))
                await wait_for_more_moves(owned)
                assert not any(player.losses for players in others for player in players)
                await until(lambda: server.pid(1) != killed)
                while await worker_of_new_connection(server, owned[0].race) != 1:
                    pass  # being restarted
            for players in (owned, *others):
                replay = await server.replay(players[0].race)
                assert find_violations(replay, [player.history for player in players]) == []


async def test_draining_worker_hands_over_and_gets_no_connections(store_url: str, tmp_path: Path) -> None:
    settings = {"drain_seconds": "3600"}
    with RoutedServer(store_url, tmp_path / "log", **settings).start() as server:
        races = {owner_of(race): race for race in (server.create("corners") for _ in range(20))}
        workers = [server.pid(worker) for worker in range(1, WORKERS + 1)]
        os.kill(workers[0], signal.SIGTERM)
        counts = {worker: Counter[int]() for worker in races}
        try:
            async with asyncio.timeout(LIMIT_S):
                while not counts[1].keys() >= {0, 2, 3} or counts[2][2] < 10:
                    for worker, race in races.items():
                        counts[worker][await worker_of_new_connection(server, race)] += 1
            assert [set(counts[2]), set(counts[3])] == [{2}, {3}]
        finally:
            server.kill()
            for pid in workers:  # they would drain for an hour
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.tier(3)
def test_connections_for_a_worker_that_hangs_are_served_by_others(store_url: str, tmp_path: Path) -> None:
    padding = b"".join(b"X-Pad: %s\r\n" % (b"x" * 7500) for _ in range(2))
    with RoutedServer(store_url, tmp_path / "log").start() as server, ExitStack() as stack:
        race = server.create("corners")
        hanging, clients = server.pid(owner_of(race)), list[Hostile]()
        os.kill(hanging, signal.SIGSTOP)
        try:
            while not select.select([client.socket for client in clients], [], [], 0.02)[0]:
                clients.append(stack.enter_context(Hostile(server)))
                clients[-1].send(Hostile.greeting(server, path=f"/ws/{race}")[:-2] + padding + b"\r\n")
        finally:
            os.kill(hanging, signal.SIGCONT)
        for client in clients:
            assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 101")
        assert server.handovers("failed") > 0
