"""Faults of two servers and a store during a race. Each ends by itself."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any

from support.campaign import Persistent, start_server
from support.faulty_proxy import Proxy
from support.faulty_store import Valkey
from support.servers import Server

APPEND = b"}:log"
"""Occurs in every request that appends to a log or reads one."""


@dataclass
class Service:
    """Servers with the proxies in front of and behind them, a store, and the racers."""

    store: Valkey
    servers: list[Server]
    lines: list[Proxy]
    """Proxies between each server and the store."""
    doors: list[Proxy]
    """Proxies between the racers and each server."""
    players: list[Persistent]
    spare: Valkey | None = None
    """A replica of the store, which replicates through `copying`."""
    copying: Proxy | None = None


Fault = Callable[[Service, Random], Coroutine[Any, Any, None]]
FAULTS: dict[str, Fault] = {}
"""By name. The word before the first hyphen is the target. Concurrent faults must have different targets."""


def fault(inject: Fault) -> Fault:
    """Register a fault under its name."""
    FAULTS[inject.__name__.replace("_", "-")] = inject
    return inject


async def outage(chance: Random) -> None:
    """Sleep for the length of an outage: usually shorter than the server's timeouts, sometimes longer."""
    await asyncio.sleep(chance.uniform(1.5, 3.5) if chance.random() < 0.25 else chance.uniform(0.02, 0.8))


async def occurs_soon(event: Awaitable[None]) -> None:
    """Wait up to 3 s for something that the next move triggers."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event, 3)


# The servers.


def processes(server: Server) -> list[int]:
    """Return the process ids of a server and its workers."""
    assert server.process
    first = server.process.pid
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    return [first, *(pid for pid, parent in pairs if parent == first)]


def send(server: Server, how: signal.Signals) -> None:
    """Send a signal to all processes of a server."""
    for pid in processes(server):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)


async def restart(server: Server) -> None:
    """Restart a server on its port, retrying while it cannot reach the store."""
    while True:
        with contextlib.suppress(AssertionError):
            await start_server(server, server.port)
            return
        await asyncio.sleep(0.1)


@fault
async def server_killed(service: Service, chance: Random) -> None:
    """Kill a server with all its workers, or a single worker that the server replaces."""
    server = chance.choice(service.servers)
    _, *workers = processes(server)
    if workers and chance.random() < 0.5:
        os.kill(chance.choice(workers), signal.SIGKILL)
        return
    send(server, signal.SIGKILL)
    server.kill()
    await outage(chance)
    await restart(server)


@fault
async def server_ended(service: Service, chance: Random) -> None:
    """Stop a server as for an upgrade, and restart it."""
    server = chance.choice(service.servers)
    await asyncio.to_thread(server.kill, signal.SIGTERM)
    await restart(server)


@fault
async def server_frozen(service: Service, chance: Random) -> None:
    """Freeze a server. Its racers may move to the other server before it continues."""
    server = chance.choice(service.servers)
    send(server, signal.SIGSTOP)
    try:
        await asyncio.sleep(chance.choice((0.1, 0.5, 1.5, 4.0)))
    finally:
        send(server, signal.SIGCONT)


# The store.


@fault
async def store_killed(service: Service, chance: Random) -> None:
    await service.store.kill()
    await outage(chance)
    await service.store.start()


@fault
async def store_killed_with_a_slow_disk(service: Service, chance: Random) -> None:
    service.store.turn(flush_ms=chance.choice((20, 200, 900)))
    await outage(chance)
    await service.store.kill()
    service.store.turn()
    await service.store.start()


@fault
async def store_killed_with_a_stalled_disk(service: Service, chance: Random) -> None:
    """Kill the store during a flush that does not finish."""
    service.store.turn(flush_ms=600_000)
    await occurs_soon(service.store.hung())
    await outage(chance)
    await service.store.kill()
    service.store.turn()
    await service.store.start()


@fault
async def store_killed_while_it_rewrites_its_log(service: Service, chance: Random) -> None:
    await service.store.ask("BGREWRITEAOF")
    await asyncio.sleep(chance.uniform(0, 0.02))
    await service.store.kill()
    await service.store.start()


@fault
async def store_frozen(service: Service, chance: Random) -> None:
    service.store.send(signal.SIGSTOP)
    try:
        await outage(chance)
    finally:
        service.store.send(signal.SIGCONT)


@fault
async def store_asleep(service: Service, chance: Random) -> None:
    """Block the store. It executes all requests later, even if their clients have given up."""
    await service.store.ask("DEBUG", "SLEEP", chance.choice((0.1, 0.5, 1.2, 2.5)))


@fault
async def store_with_a_slow_disk(service: Service, chance: Random) -> None:
    service.store.turn(flush_ms=chance.choice((5, 50, 300, 1200)))
    await outage(chance)
    service.store.turn()


def refusing(begin: tuple[str | int, ...], end: tuple[str | int, ...]) -> Fault:
    """Return a fault that begins and ends with a command to the store."""

    async def refusing(service: Service, chance: Random) -> None:
        await service.store.ask(*begin)
        await outage(chance)
        await service.store.ask(*end)

    return refusing


FAULTS["store-full"] = refusing(("CONFIG", "SET", "maxmemory", 1), ("CONFIG", "SET", "maxmemory", 0))
FAULTS["store-read-only"] = refusing(("REPLICAOF", "127.0.0.1", 1), ("REPLICAOF", "NO", "ONE"))
REPLICAS = "CONFIG", "SET", "min-replicas-to-write"
FAULTS["store-without-replicas"] = refusing((*REPLICAS, 3), (*REPLICAS, 0))


@fault
async def store_without_scripts(service: Service, chance: Random) -> None:
    await service.store.ask("SCRIPT", "FLUSH")


@fault
async def store_with_a_wrong_clock(service: Service, chance: Random) -> None:
    """Change the store's clock. Servers measure it at least every 5 s."""
    service.store.turn(ahead_ms=chance.choice((-60_000, -5_000, -300, 300, 5_000, 60_000)))
    await asyncio.sleep(chance.choice((0.1, 6.0)))
    service.store.turn()


# Connections between servers and the store.


def slow(line: Proxy, chance: Random) -> None:
    line.delay_s, line.bytes_per_s = chance.choice((0.01, 0.1, 0.4)), chance.choice((0, 20_000))


def mended(lines: Callable[[Service], list[Proxy]], begin: Callable[[Proxy, Random], None]) -> Fault:
    """Return a fault of one of the proxies, which is mended after an outage."""

    async def mended(service: Service, chance: Random) -> None:
        line = chance.choice(lines(service))
        begin(line, chance)
        await outage(chance)
        line.mend()

    return mended


FAULTS["line-cut"] = mended(lambda service: service.lines, lambda line, _: line.cut())
FAULTS["line-stalled"] = mended(lambda service: service.lines, lambda line, _: line.stall())
FAULTS["line-slow"] = mended(lambda service: service.lines, slow)


@fault
async def line_cut_within_a_request(service: Service, chance: Random) -> None:
    for _ in range(chance.randint(1, 5)):
        await occurs_soon(chance.choice(service.lines).cut_within(APPEND))


@fault
async def line_lost_answers(service: Service, chance: Random) -> None:
    """The store appends entries, but its replies are lost."""
    for _ in range(chance.randint(1, 5)):
        await occurs_soon(chance.choice(service.lines).lose_answer(APPEND))


# The racers' connections.


FAULTS["door-shut"] = mended(lambda service: service.doors, lambda door, _: door.cut())
FAULTS["door-slow"] = mended(lambda service: service.doors, slow)


@fault
async def door_reset(service: Service, chance: Random) -> None:
    for door in service.doors:
        door.reset()


@fault
async def door_half_closed(service: Service, chance: Random) -> None:
    chance.choice(service.doors).half_close(answers=chance.random() < 0.5)


@fault
async def door_stalled(service: Service, chance: Random) -> None:
    door = chance.choice(service.doors)
    door.stall()
    await asyncio.sleep(chance.choice((0.1, 0.5, 1.5, 4.0)))
    door.mend()


@fault
async def racers_go_over(service: Service, chance: Random) -> None:
    """Racers drop their connections during a move and connect to the other server."""
    for _ in range(chance.randint(1, 2 * len(service.players))):
        player = chance.choice(service.players)
        player.servers.reverse()
        player.drop()
        await asyncio.sleep(chance.uniform(0, 0.05))


# Everything.


@fault
async def everything_killed(service: Service, chance: Random) -> None:
    """Kill all processes at once, sometimes with unflushed data, so that no memory survives."""
    service.store.turn(flush_ms=chance.choice((50, 1500)))
    await asyncio.sleep(chance.uniform(0.3, 1.8))
    for server in service.servers:
        send(server, signal.SIGKILL)
    await service.store.kill()
    service.store.turn()
    for server in service.servers:
        server.kill()
    await service.store.start()
    await asyncio.gather(*(restart(server) for server in service.servers))


async def replica_in_sync(service: Service) -> None:
    """Wait until the replica has caught up with the store."""
    assert service.spare
    while True:
        about = await asyncio.to_thread(service.spare.redis.info, "replication")
        if about.get("master_link_status") == "up":
            info = await asyncio.to_thread(service.store.redis.info, "replication")
            if info["master_repl_offset"] - about["slave_repl_offset"] < 10_000:
                return
        await asyncio.sleep(0.02)


async def start_replication(service: Service) -> None:
    """Make the spare a replica of the store."""
    assert service.spare
    assert service.copying
    service.copying.target = service.store.url
    service.copying.mend()
    host, _, port = service.copying.url.removeprefix("redis://").partition(":")
    await service.spare.ask("REPLICAOF", host, int(port))
    await replica_in_sync(service)


async def replica_promoted_without_the_tail(service: Service, chance: Random) -> None:
    """The store fails before its replica has received the last moves, and the replica replaces it.

    The missing moves are only in the server's memory. This fault needs a single server: with two, a server that does
    not know the missing moves might write first.
    """
    assert service.spare
    assert service.copying
    service.copying.stall()
    await asyncio.sleep(chance.uniform(0.05, 1))
    await service.store.kill()
    service.copying.cut()
    await service.spare.ask("REPLICAOF", "NO", "ONE")
    service.store, service.spare = service.spare, service.store
    for line in service.lines:
        line.target = service.store.url
        line.reset()
    service.spare.forget()
    await service.spare.start()
    await start_replication(service)
