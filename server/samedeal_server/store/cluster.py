"""A Redis Cluster as the store: each command goes to the node that has the slot of its key.

redis-py's own cluster client is not used: up to 8.1, it sends ASKING and the next command over different connections,
so keys in a moving slot are not found, and it fails instead of waiting for a free connection.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha1
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from redis import exceptions
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, ResponseError

from samedeal_server.store.connection import (
    Connections,
    Store,
    UnfitStoreError,
    Word,
    description,
    node_configuration,
    unavailable,
)
from samedeal_server.store.health import AWAY, Health

POLL_S = 0.1
"""How often streams are polled for news. A blocking read cannot span slots."""
REDIRECTIONS = 5
"""How many redirections to other nodes a command follows."""

NO_OWNER = "some slots"
"""The name under which failures are recorded while some slots have no node."""
_NODE_AWAY = (exceptions.ConnectionError, exceptions.TimeoutError, ClusterDownError, OSError, RuntimeError)


class Node(NamedTuple):
    """The address of a node."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def store_at(url: str, diagnose: Callable[[], str | None] | None = None) -> Store:
    """Return the store at a URL: one Redis or a cluster. For `diagnose`, see ``Store``; clusters do not use it."""
    return Cluster(url) if url.partition("://")[0].endswith("+cluster") else Store(url, diagnose)


class Cluster(Store):
    """A Redis Cluster. Commands without a key go to the node of slot 0, so that all processes use the same clock."""

    whole = False

    def __init__(self, url: str) -> None:
        """The URL names one or more nodes, separated by commas. The others are discovered."""
        self._url, self.health = url, Health()
        parts = urlsplit(url)
        userinfo, at, hosts = parts.netloc.rpartition("@")
        self._url_prefix = f"{parts.scheme.removesuffix('+cluster')}://{userinfo}{at}"
        self._url_suffix = f"?{parts.query}" if parts.query else ""
        self._nodes: dict[Node, Connections] = {}
        self._seeds = [_node(host) for host in hosts.split(",")]
        self._known = self._seeds.copy()
        """All nodes; those that did not answer come last."""
        self._owners: list[Node | None] = []
        """The node of each slot; empty until it is known."""
        self._refresh_task: asyncio.Task[None] | None = None

    async def retry_all(self, *commands: Sequence[Word]) -> None:
        """Like ``Store.retry_all``, but one command at a time: their keys may be on different nodes."""
        for command in commands:
            await self.retry(*command)

    async def ask_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Like ``Store.ask_all``, but in separate round trips: the keys may be on different nodes."""
        return await asyncio.gather(*(self.ask(*command) for command in commands))

    async def news(self, ends: Mapping[str, str], wait_ms: int) -> Sequence[tuple[bytes, Any]]:
        """Like ``Store.news``, but poll once. Streams on nodes that do not answer have no news."""
        await asyncio.sleep(POLL_S)
        wanted: dict[Node, list[tuple[Word, ...]]] = defaultdict(list)
        try:
            for key, end in ends.items():
                wanted[await self._owner(_slot(key))].append(("XREAD", "STREAMS", key, end))
        except AWAY as error:
            raise unavailable() from error
        answers = await asyncio.gather(*(self._poll(*item) for item in wanted.items()))
        if None in answers and not any(answers):
            raise unavailable()
        return [news for answer in answers for news in answer or ()]

    async def stamps(self) -> dict[str, str]:
        """Like ``Store.stamps``, with the newest slots. Raises Refused also while some slots have no node."""
        try:
            await self._refresh_slots()
            slots = defaultdict[Node, list[int]](list)
            for slot in range(REDIS_CLUSTER_HASH_SLOTS):
                slots[await self._owner(slot)].append(slot)
            about = await asyncio.gather(*(self._ask_node(node, "INFO", "server") for node in slots))
        except AWAY as error:
            raise unavailable() from error
        return {
            str(node): f"{info['run_id']}-{sha1(repr(own).encode(), usedforsecurity=False).hexdigest()}"
            for (node, own), info in zip(slots.items(), about, strict=True)
        }

    async def scan(self, node: str, cursor: int, pattern: str, count: int) -> tuple[int, list[bytes]]:
        try:
            command = "SCAN", str(cursor), "MATCH", pattern, "COUNT", str(count)
            after, keys = await self._ask_node(_node(node), *command)
        except AWAY as error:
            raise unavailable() from error
        return int(after), keys

    async def describe(self) -> str:
        """Describe the cluster for the operator. Raises Refused, and UnfitStoreError if a node is unfit."""
        try:
            await self._refresh_slots()
        except ResponseError as error:
            raise UnfitStoreError(
                f"The store is not a cluster ({error}): use a URL that starts with redis://."
            ) from error
        except AWAY as error:
            raise unavailable() from error
        about = await self.information()
        if missing := self._owners.count(None):
            raise UnfitStoreError(f"The cluster has no nodes for {missing} of its {REDIS_CLUSTER_HASH_SLOTS} slots.")
        lines = sorted({description(info, f" Cluster of {len(about)}") for info in about})
        return "; ".join(lines)

    async def information(self, *sections: str) -> Sequence[Mapping[str, Any]]:
        nodes = {owner for owner in self._owners if owner}
        try:
            about = await asyncio.gather(*(self._ask_node(node, "INFO", *sections) for node in nodes))
        except AWAY as error:
            raise unavailable() from error
        return list(about)

    async def configuration(self, *names: str) -> Sequence[Mapping[str, str] | None]:
        nodes = {owner for owner in self._owners if owner}
        return await asyncio.gather(*(node_configuration(self._connections_to(node), names) for node in nodes))

    async def close(self) -> None:
        if self._refresh_task:
            self._refresh_task.cancel()
            await asyncio.gather(self._refresh_task, return_exceptions=True)
        for connections in self._nodes.values():
            await connections.close()

    def _reply(self, *command: Word) -> Awaitable[Any]:
        return self._answer(*command)

    async def _answer(self, *command: Word) -> Any:
        slot = _slot(_key(command))
        node, asking = await self._owner(slot), False
        for _ in range(REDIRECTIONS):
            try:
                return await self._send(node, command, asking=asking)
            except MovedError as moved:
                node, asking = Node(moved.host or node.host, moved.port), False
                self._owners[slot] = node
                self._schedule_refresh()
                error: Exception = moved
            except AskError as ask:  # the slot is moving, and this key has already moved
                node, asking = Node(ask.host or node.host, ask.port), True
                error = ask
        raise error

    async def _send(self, node: Node, command: tuple[Word, ...], *, asking: bool) -> Any:
        """Send a command to a node, preceded by ASKING on the same connection if needed, and return the reply."""
        try:
            if not asking:
                return await self._ask_node(node, *command)
            _, answer = await self._connections_to(node).ask_all([("ASKING",), command])
        except _NODE_AWAY:
            self._demote(node)
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _poll(self, node: Node, commands: Sequence[tuple[Word, ...]]) -> list[tuple[bytes, Any]] | None:
        """Send XREAD commands to a node and return all entries, or None if it does not answer."""
        news: list[tuple[bytes, Any]] = []
        try:
            answers = await self.health.watch(self._connections_to(node).ask_all(commands), "XREAD", str(node))
            for command, answer in zip(commands, answers, strict=True):
                news += (await self._answer(*command) if isinstance(answer, Exception) else answer) or ()
        except AWAY:
            self._demote(node)
            return news or None
        return news

    def _ask_node(self, node: Node, *command: Word) -> Awaitable[Any]:
        """Send a command to a node once and return the reply. Raises one of AWAY."""
        return self.health.watch(self._connections_to(node).ask(*command), str(command[0]), str(node))

    def _connections_to(self, node: Node) -> Connections:
        if node not in self._nodes:
            host = f"[{node.host}]" if ":" in node.host else node.host
            self._nodes[node] = Connections(f"{self._url_prefix}{host}:{node.port}{self._url_suffix}")
        return self._nodes[node]

    # Slots.

    async def _owner(self, slot: int) -> Node:
        """Return the node of a slot. Raises one of AWAY if it is unknown."""
        if not self._owners:
            await asyncio.shield(self._schedule_refresh())
        if (owner := self._owners[slot]) is None:
            self._schedule_refresh()
            error = ClusterDownError(f"no node has slot {slot}")
            self.health.record_failure(error, "", NO_OWNER)
            raise error
        return owner

    def _demote(self, node: Node) -> None:
        """Move a node that did not answer to the end of the list, and schedule a refresh of the slots."""
        self._known.sort(key=node.__eq__)
        self._schedule_refresh()

    def _schedule_refresh(self) -> "asyncio.Task[None]":
        if self._refresh_task is None or self._refresh_task.done():
            self._refresh_task = asyncio.get_running_loop().create_task(self._refresh_slots())
            self._refresh_task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._refresh_task

    async def _refresh_slots(self) -> None:
        """Ask one node after another for the slots, until one answers. Raises one of AWAY."""
        for source in tuple(self._known):
            try:
                ranges = await self._ask_node(source, "CLUSTER", "SLOTS")
            except _NODE_AWAY as error:
                self._known.sort(key=source.__eq__)
                failure = error
            else:
                owners: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
                nodes: dict[Node, None] = {}
                for first, last, *copies in ranges:
                    places = [Node(host.decode() if host else source.host, port) for host, port, *_ in copies]
                    owners[first : last + 1] = [places[0]] * (last + 1 - first)
                    nodes |= dict.fromkeys(places)
                self._owners = owners
                self._known = [*dict.fromkeys((*(node for node in self._known if node in nodes), *nodes, *self._seeds))]
                self.health.retain({*map(str, nodes), *((NO_OWNER,) if None in owners else ())})
                for gone in self._nodes.keys() - set(self._known):
                    with suppress(*AWAY):
                        await self._nodes.pop(gone).close()
                return
        raise failure


def _node(host: str) -> Node:
    parts = urlsplit(f"//{host}")
    return Node(parts.hostname or "", parts.port or 6379)


def _key(command: Sequence[Word]) -> Word:
    """Return the key that decides which node a command goes to; empty if it has none."""
    place = command.index("STREAMS") + 1 if command[0] == "XREAD" else 3 if command[0] in ("EVALSHA", "EVAL") else 1
    return command[place] if place < len(command) else ""


def _slot(key: Word) -> int:
    return key_slot(key if isinstance(key, bytes) else str(key).encode())
