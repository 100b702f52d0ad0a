"""A real Redis Cluster whose slots can be moved and whose nodes can be killed."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import RedisError, ResponseError

from support.faulty_store import Valkey

NODES = 3
TIMEOUT_MS = 500
"""How long a node is silent before the others consider it failed (ms)."""


@dataclass
class Node:
    """A node and its address."""

    valkey: Valkey
    port: int
    id: str = ""

    async def ask(self, *command: str | int | float) -> Any:
        return await self.valkey.ask(*command)


@dataclass
class ValkeyCluster:
    """Three nodes with a third of the slots each, optionally with replicas."""

    nodes: list[Node]
    replicas: list[Node] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The addresses of all nodes that had slots at the start."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def home(self, slot: int) -> Node:
        """Return the node that had a slot at the start."""
        return self.nodes[slot * NODES // REDIS_CLUSTER_HASH_SLOTS]

    async def owner(self, slot: int) -> Node:
        """Return the owner of a slot once all running nodes agree on it."""
        while True:
            views = await asyncio.gather(*(self._view(node) for node in (*self.nodes, *self.replicas)))
            owners = {view[slot] for view in views if view}
            if len(owners) == 1 and (owner := owners.pop()):
                return next(node for node in (*self.nodes, *self.replicas) if node.port == owner)
            await asyncio.sleep(0.02)

    async def owned(self, slot: int, node: Node) -> None:
        """Wait until all running nodes agree on the owner of a slot."""
        while await self.owner(slot) is not node:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)

    async def replica_of(self, node: Node) -> Node:
        """Return a replica of a node when it has caught up."""
        while True:
            for copy in (*self.nodes, *self.replicas):
                about = await _answered(copy, "INFO", "replication")
                if about and about["role"] == "slave" and about["master_port"] == node.port:
                    info = await _answered(node, "INFO", "replication")
                    up = about["master_link_status"] == "up"
                    if up and info and info["master_repl_offset"] - about["slave_repl_offset"] < 10_000:
                        return copy
            await asyncio.sleep(0.02)

    async def move(self, slot: int, target: Node, chance: Random) -> None:
        """Move a slot to another node key by key, as the standard tools do."""
        source = await self.begin_to_move(slot, target)
        await asyncio.sleep(chance.uniform(0, 0.3))
        while keys := await source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1):
            await self.move_key(keys[0], source, target)
            await asyncio.sleep(chance.uniform(0, 0.3))
        await self.end_move(slot, source, target)

    async def begin_to_move(self, slot: int, target: Node) -> Node:
        """Start to migrate a slot to the target. Return the current owner."""
        source = await self.owner(slot)
        await target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        await source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        return source

    async def move_key(self, key: str | bytes, source: Node, target: Node) -> None:
        name = key.decode() if isinstance(key, bytes) else key
        assert await source.ask("MIGRATE", "127.0.0.1", target.port, name, 0, 5000) == b"OK"

    async def end_move(self, slot: int, source: Node, target: Node) -> None:
        """Assign the slot to the target."""
        others = [node for node in self.nodes if node not in (source, target)]
        for node in (target, source, *others):  # the new owner first, so that the slot always has one
            await node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id)

    async def move_at_once(self, slot: int, target: Node, chance: Random) -> None:
        """Move a slot atomically, as newer versions can."""
        source = await self.owner(slot)
        await source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target.id)
        await self.owned(slot, target)

    async def disown(self, slot: int) -> None:
        """Remove the owner of a slot."""
        owner = await self.owner(slot)
        await owner.ask("CLUSTER", "DELSLOTS", slot)
        quiet = 0
        while quiet < 5:  # earlier messages of the owner may still be in transit
            quiet += 1
            for node in self.nodes:
                if (view := await self._view(node)) and view[slot]:
                    await node.ask("CLUSTER", "DELSLOTS", slot)
                    quiet = 0
            await asyncio.sleep(0.05)

    async def _view(self, node: Node) -> Sequence[int | None] | None:
        """Return the port of each slot's owner according to a node, or None if it does not respond."""
        ranges = await _answered(node, "CLUSTER", "SLOTS")
        if ranges is None:
            return None
        ports: list[int | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        for first, last, (_, port, *_), *_ in ranges:
            ports[first : last + 1] = [port] * (last + 1 - first)
        return ports


def slot_of(race: str) -> int:
    """Return the slot of a race's log."""
    return key_slot(f"{{{race}}}".encode())


@asynccontextmanager
async def cluster(folder: Path, *, replicas: bool = False) -> AsyncIterator[ValkeyCluster]:
    """Run a cluster. Without replicas, it waits for failed nodes."""
    folder.mkdir()
    ports = free_ports(2 * NODES * (1 + replicas))
    async with AsyncExitStack() as stack:
        nodes = []
        for number in range(NODES * (1 + replicas)):
            port, bus = ports[2 * number : 2 * number + 2]
            options = (
                *("--bind", "127.0.0.1", "--port", f"{port}", "--cluster-port", f"{bus}", "--cluster-enabled", "yes"),
                *("--cluster-node-timeout", f"{TIMEOUT_MS}", "--cluster-require-full-coverage", "no"),
                *("--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"),
            )
            valkey = Valkey(folder / f"{number}", options=options)
            stack.push_async_callback(valkey.kill)
            await valkey.start()
            nodes.append(Node(valkey, port))
            nodes[-1].id = (await valkey.ask("CLUSTER", "MYID")).decode()
            if number:
                await nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", port, bus)
        running = ValkeyCluster(nodes[:NODES], nodes[NODES:])
        for number, node in enumerate(running.nodes):
            first, end = (REDIS_CLUSTER_HASH_SLOTS * edge // NODES for edge in (number, number + 1))
            await node.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for node, copy in zip(running.nodes, running.replicas, strict=False):
            while await _refused(copy, "CLUSTER", "REPLICATE", node.id):  # noqa: ASYNC110 - until the replica knows the node
                await asyncio.sleep(0.02)
            await running.replica_of(node)
        for number in range(NODES):
            await running.owner(REDIS_CLUSTER_HASH_SLOTS * number // NODES)
        for node in nodes:
            while "cluster_state:ok" not in str(await node.ask("CLUSTER", "INFO")):  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.02)
        yield running


async def _answered(node: Node, *command: str) -> Any:
    """Return a node's reply, or None."""
    try:
        return await node.ask(*command)
    except (RedisError, OSError):
        return None


async def _refused(node: Node, *command: str) -> bool:
    try:
        await node.ask(*command)
    except ResponseError:
        return True
    return False


def free_ports(count: int) -> list[int]:
    """Return free ports below the ephemeral range, so that they stay free."""
    chance, ports = Random(), list[int]()
    while len(ports) < count:
        port = chance.randrange(20_000, 30_000)
        with socket.socket() as probe:
            if port not in ports and probe.connect_ex(("127.0.0.1", port)):
                ports.append(port)
    return ports
