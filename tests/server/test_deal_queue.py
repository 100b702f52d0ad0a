"""Queues of jobs: in rotation by address, bounded, and searched by one process."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from samedeal.errors import Refused
from samedeal.race.events import RACE_FORMAT
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal_server.live.deal_finder import MAX_SEARCHES_PER_ADDRESS
from samedeal_server.net.limits import Place, Turns
from support.child_processes import computing, runs
from support.gated_worker import Gate
from support.gates import gate
from support.servers import Racer, Server
from support.stores import until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

__all__ = ["gate"]
ATTACKER, OTHER = "127.0.0.2", "127.0.0.3"


class GatedServer(Server):
    """A server whose searches wait until the test releases them."""

    program = ("-m", "support.gated_server")


class RacerFrom(Racer):
    """A racer that connects from a given local address."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name)
        self._address = address

    async def begin_countdown(self, server: Server, race: str) -> m.FromServer:
        """Connect, join, and return the response to Ready."""
        (protocol,) = (Subprotocol(name) for name, encoding in decoding.SUBPROTOCOLS.items() if encoding == "msgpack")
        url = server.url.replace("http", "ws") + "/ws"
        self._socket = await connect(
            url, subprotocols=[protocol], compression=None, local_addr=(self._address, 0), ping_interval=None
        )
        await self.ask(m.Hello, name=self.name, token=None, format=RACE_FORMAT)
        await self.join(race)
        return await self.ask(m.Ready)


def opened(server: Server, address: str) -> tuple[int, dict[str, Any]]:
    """Return the response to opening a race, with a searched deal, from an address."""
    body = json.dumps({"game": "the-edge", "options": {"max_racers": 1, "start_delay_ms": 0}})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S, source_address=(address, 0))
    try:
        connection.request("POST", "/api/v1/races", body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@asynccontextmanager
async def backlog(server: Server, gate: Gate, count: int) -> AsyncIterator[list[RacerFrom]]:
    """Racers of one address who wait for their deals; the first search has started."""
    racers = [RacerFrom(f"attacker {number}", ATTACKER) for number in range(count)]
    async with AsyncExitStack() as open_sockets:
        for racer in racers:
            status, race = await asyncio.to_thread(opened, server, ATTACKER)
            assert status == 201, race
            assert isinstance(await racer.begin_countdown(server, race["race"]), m.View)
            open_sockets.push_async_callback(racer.close)
            await racer.until(lambda view: view.stage == "countdown")
            await racer.ask(m.Nonce, nonce=racer.nonce.hex())
        await until(lambda: gate.noted)
        yield racers


def begun(gate: Gate, jobs: int) -> Callable[[], bool]:
    return lambda: len(gate.noted) >= jobs


async def test_one_process_searches_and_a_full_queue_refuses_ready(redis_url: str, gate: Gate) -> None:
    with GatedServer(redis_url) as server:
        assert server.process
        open_before = (await asyncio.to_thread(opened, server, ATTACKER))[1]["race"]
        async with backlog(server, gate, MAX_SEARCHES_PER_ADDRESS) as attackers:
            status, problem = await asyncio.to_thread(opened, server, ATTACKER)
            assert (status, problem["code"]) == (429, "too-many")
            assert "try again" in problem["detail"]
            late = RacerFrom("late", ATTACKER)
            refused = await late.begin_countdown(server, open_before)
            assert isinstance(refused, m.Problem)
            assert refused.code == "too-many"
            assert late.view
            assert late.view.stage == "open"
            for number in range(1, MAX_SEARCHES_PER_ADDRESS + 1):
                await until(begun(gate, number))
                assert len(gate.noted) == number
                assert len(computing(server.process.pid, "gated_worker")) == 1
                gate.allow(number)
            for racer in attackers:
                await racer.until(lambda view: view.stage == "running")
            again = await late.ask(m.Ready)
            assert isinstance(again, m.View), again
            await late.close()


async def test_a_backlog_does_not_delay_other_addresses(redis_url: str, gate: Gate) -> None:
    with GatedServer(redis_url) as server:
        async with backlog(server, gate, MAX_SEARCHES_PER_ADDRESS) as attackers:
            status, race = await asyncio.to_thread(opened, server, OTHER)
            assert status == 201, race
            other = RacerFrom("other", OTHER)
            assert isinstance(await other.begin_countdown(server, race["race"]), m.View)
            await other.until(lambda view: view.stage == "countdown")
            await other.ask(m.Nonce, nonce=other.nonce.hex())
            gate.allow(3)  # the one in progress, one more of the backlog, and this one
            await other.until(lambda view: view.stage == "running")
            await until(lambda: len(gate.noted) == 4)
            listed = json.loads(await asyncio.to_thread(lambda: server.get("/api/v1/races?stage=running")[1]))
            assert len(listed["races"]) <= 3
            assert len(attackers) == MAX_SEARCHES_PER_ADDRESS
            await other.close()


@pytest.mark.parametrize("target", ["/api/v1/deals/gallery:gone/par/0.json", "/api/v1/replays/{race}/steps"])
async def test_a_job_ends_when_its_client_disconnects(redis_url: str, gate: Gate, target: str) -> None:
    with GatedServer(redis_url) as server:
        assert server.process
        race = await asyncio.to_thread(server.create, "gallery", seed="raced", max_racers=1, start_delay_ms=0)
        racer = await Racer("ada").connect(server)
        await racer.join(race)
        await racer.ask(m.Ready)
        await racer.until(lambda view: view.stage == "running")
        await racer.ask(m.Resign)
        await racer.until(lambda view: view.stage == "over")
        await racer.close()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET {target.format(race=race)} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        await until(lambda: gate.noted)
        ((pid, _),) = gate.noted
        writer.close()
        await until(lambda: not runs(pid))
        gate.allow(2)
        assert (await asyncio.to_thread(server.get, target.format(race=race)))[0] == 200


def turns(limit: int = 100, limit_per_address: int = 100) -> Turns:
    return Turns(limit, limit_per_address, "It is full.")


async def take(place: Place, name: str, order: list[str]) -> None:
    async with place.turn():
        order.append(name)
        await asyncio.sleep(0)


async def test_addresses_are_served_in_rotation_and_in_order() -> None:
    queue, order = turns(), list[str]()
    async with queue.place("first").turn():
        names = [f"{address}{number}" for address, count in (("a", 4), ("b", 2), ("c", 1)) for number in range(count)]
        tasks = [asyncio.create_task(take(queue.place(name[0]), name, order)) for name in names]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


async def test_only_one_place_has_the_turn() -> None:
    queue, at_once, most = turns(), 0, 0

    async def work(place: Place) -> None:
        nonlocal at_once, most
        async with place.turn():
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1

    await asyncio.gather(*(work(queue.place(f"{number % 3}")) for number in range(30)))
    assert most == 1


@pytest.mark.parametrize("at", ["waiting", "granted"])
async def test_a_cancelled_turn_goes_to_the_next_place(at: str) -> None:
    queue, order = turns(), list[str]()
    async with queue.place("a").turn():
        tasks = [asyncio.create_task(take(queue.place(name), name, order)) for name in ("b", "c")]
        await asyncio.sleep(0)
        if at == "waiting":
            tasks[0].cancel()
            await asyncio.sleep(0)
    tasks[0].cancel()  # just as it gets the turn
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["c"]
    await take(queue.place("d"), "d", order)
    assert order == ["c", "d"]


async def test_places_are_limited_per_address_and_overall() -> None:
    queue = turns(limit=5, limit_per_address=2)
    places = [queue.place("a"), queue.place("a"), queue.place("b"), queue.place("b")]
    for address in ("a", "b"):
        with pytest.raises(Refused, match="It is full") as refused:
            queue.place(address)
        assert refused.value.code == "too-many"
    places.append(queue.place("c"))
    with pytest.raises(Refused):
        queue.check("c")
    places.append(queue.place("d", always=True))
    for place in places:
        place.release()
        place.release()
    assert queue.places == 0
    queue.check("a")


async def test_addresses_without_a_place_get_one_in_a_full_queue() -> None:
    queue = turns(limit=4, limit_per_address=2)
    for address in ("a", "a", "b", "b", "c", "d", "e", "f"):
        queue.place(address)
    for address in ("a", "c", "g", ""):
        with pytest.raises(Refused):
            queue.check(address)


async def test_unknown_addresses_have_only_the_overall_limit() -> None:
    queue = turns(limit=5, limit_per_address=2)
    for _ in range(5):
        queue.place("")
    with pytest.raises(Refused):
        queue.place("")
