"""A store of many nodes, a Redis Cluster: each key is on one of them, by its slot, and is asked for where it is.

The client library's own class for clusters is not used. It sends ASKING and the command that it is for over different
connections, so that what is asked for while a slot moves is not found; and it fails where it should wait for a
connection.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from redis import exceptions
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, ResponseError

from samedeal_server.store import Store, UnfitStoreError, Word, client, configuration, described, unavailable
from samedeal_server.store_health import AWAY, Health

LOOKED_EVERY_S = 0.1
"""How long after one look for news the next one comes. Nobody can wait for the news of many slots at once."""
REDIRECTIONS = 5
"""How often a command is sent on to another node before it counts as not answered."""

NO_OWNER = "some slots"
"""What fails, as if it were a node, while some slots have none."""
_NODE_AWAY = (exceptions.ConnectionError, exceptions.TimeoutError, ClusterDownError, OSError, RuntimeError)


class Node(NamedTuple):
    """Where a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def store_at(url: str, diagnose: Callable[[], str | None] | None = None) -> Store:
    """The store at a URL: one Redis, or a cluster of them. `diagnose` may know why the one cannot be reached."""
    return Cluster(url) if url.partition("://")[0].endswith("+cluster") else Store(url, diagnose)


class Cluster(Store):
    """A Redis Cluster. A command that names no key goes to the node of slot 0, so all processes have one clock."""

    whole = False

    def __init__(self, url: str) -> None:
        """The URL names one node or more, with commas between them; they are asked for the others."""
        self.health = Health()
        its = urlsplit(url)
        who, at, hosts = its.netloc.rpartition("@")
        self._before = f"{its.scheme.removesuffix('+cluster')}://{who}{at}"
        self._behind = f"?{its.query}" if its.query else ""
        self._clients: dict[Node, Any] = {}
        self._seeds = [_node(host) for host in hosts.split(",")]
        self._known = self._seeds.copy()
        """All nodes, those that did not answer last."""
        self._owners: list[Node | None] = []
        """By slot, the node that has its keys; empty before that is known."""
        self._learning: asyncio.Task[None] | None = None

    async def texts(self, keys: Sequence[str]) -> list[bytes | None]:
        found: list[bytes | None] = await asyncio.gather(*(self.ask("GET", key) for key in keys))
        return found

    async def starts(self, keys: Sequence[str], count: int) -> list[bytes]:
        found: list[bytes] = await asyncio.gather(*(self.ask("GETRANGE", key, 0, count - 1) for key in keys))
        return found

    async def insist_all(self, *commands: Sequence[Word]) -> None:
        """As that of any store, but one after another: their keys may be on different nodes."""
        for command in commands:
            await self.insist(*command)

    async def news(self, ends: Mapping[str, int], patience_ms: int) -> Sequence[tuple[bytes, Any]]:
        """As that of any store, but after one look. Races on nodes that are away have no news."""
        await asyncio.sleep(LOOKED_EVERY_S)
        wanted: dict[Node, list[tuple[Word, ...]]] = defaultdict(list)
        try:
            for key, n in ends.items():
                wanted[await self._owner(_slot(key))].append(("XREAD", "STREAMS", key, f"{n}-0"))
        except AWAY as error:
            raise unavailable() from error
        answers = await asyncio.gather(*(self._look(*look) for look in wanted.items()))
        if None in answers and not any(answers):
            raise unavailable()
        return [news for answer in answers for news in answer or ()]

    async def checked(self) -> str:
        """What the store is, in a line for the operator. Raises UnfitStoreError if a node is unfit, Refused."""
        try:
            await self._learn()
            nodes = {owner for owner in self._owners if owner}
            about = await asyncio.gather(*(self._asked(node, "INFO") for node in nodes))
        except ResponseError as error:
            raise UnfitStoreError(f"The store is no cluster ({error}): its URL begins with redis://.") from error
        except AWAY as error:
            raise unavailable() from error
        if missing := self._owners.count(None):
            raise UnfitStoreError(f"The cluster has no nodes for {missing} of its {REDIS_CLUSTER_HASH_SLOTS} slots.")
        lines = sorted({described(its, f" Cluster of {len(nodes)}") for its in about})
        return "; ".join(lines)

    async def configured(self, *names: str) -> Sequence[Mapping[str, str] | None]:
        nodes = {owner for owner in self._owners if owner}
        return await asyncio.gather(*(configuration(self._client(node), names) for node in nodes))

    async def close(self) -> None:
        if self._learning:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)
        for its in self._clients.values():
            await its.aclose(close_connection_pool=True)

    def _reply(self, *command: Word) -> Awaitable[Any]:
        return self._answer(*command)

    async def _answer(self, *command: Word) -> Any:
        slot = _slot(_key(command))
        node, asking = await self._owner(slot), False
        for _ in range(REDIRECTIONS):
            try:
                return await self._told(node, command, asking=asking)
            except MovedError as moved:
                node, asking = Node(moved.host or node.host, moved.port), False
                self._owners[slot] = node
                self._learn_soon()
                error: Exception = moved
            except AskError as ask:  # the slot is about to move, and this key has moved already
                node, asking = Node(ask.host or node.host, ask.port), True
                error = ask
        raise error

    async def _told(self, node: Node, command: tuple[Word, ...], *, asking: bool) -> Any:
        """What a node answers."""
        try:
            if not asking:
                return await self._asked(node, *command)
            async with self._client(node).pipeline(transaction=False) as both:  # on one connection
                both.execute_command("ASKING")
                both.execute_command(*command)
                _, answer = await both.execute(raise_on_error=False)
        except _NODE_AWAY:
            self._doubt(node)
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _look(self, node: Node, commands: Sequence[tuple[Word, ...]]) -> list[tuple[bytes, Any]] | None:
        """What a node has to these commands, each for news of one stream; None if it is away."""
        found: list[tuple[bytes, Any]] = []
        try:
            async with self._client(node).pipeline(transaction=False) as looks:
                for command in commands:
                    looks.execute_command(*command)
                answers = await self.health.watched(looks.execute(raise_on_error=False), "XREAD", str(node))
            for command, answer in zip(commands, answers, strict=True):
                found += (await self._answer(*command) if isinstance(answer, Exception) else answer) or ()
        except AWAY:
            self._doubt(node)
            return found or None
        return found

    def _asked(self, node: Node, *command: Word) -> Awaitable[Any]:
        """The answer of a node to a command, tried once. Raises one of AWAY."""
        return self.health.watched(self._client(node).execute_command(*command), str(command[0]), str(node))

    def _client(self, node: Node) -> Any:
        if node not in self._clients:
            host = f"[{node.host}]" if ":" in node.host else node.host
            self._clients[node] = client(f"{self._before}{host}:{node.port}{self._behind}")
        return self._clients[node]

    # Which node has which slots.

    async def _owner(self, slot: int) -> Node:
        """The node that has the keys of a slot. Raises one of AWAY if that cannot be known."""
        if not self._owners:
            await asyncio.shield(self._learn_soon())
        if (owner := self._owners[slot]) is None:
            self._learn_soon()
            error = ClusterDownError(f"no node has slot {slot}")
            self.health.failed(error, "", NO_OWNER)
            raise error
        return owner

    def _doubt(self, node: Node) -> None:
        """A node did not answer: others are asked who has its slots."""
        self._known.sort(key=node.__eq__)
        self._learn_soon()

    def _learn_soon(self) -> "asyncio.Task[None]":
        if self._learning is None or self._learning.done():
            self._learning = asyncio.get_running_loop().create_task(self._learn())
            self._learning.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._learning

    async def _learn(self) -> None:
        """Asks the nodes, one after another until one answers, which of them has what. Raises one of AWAY."""
        for asked in tuple(self._known):
            try:
                ranges = await self._asked(asked, "CLUSTER", "SLOTS")
            except _NODE_AWAY as error:
                self._known.sort(key=asked.__eq__)
                failure = error
            else:
                owners: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
                nodes: dict[Node, None] = {}
                for first, last, *copies in ranges:
                    places = [Node(host.decode() if host else asked.host, port) for host, port, *_ in copies]
                    owners[first : last + 1] = [places[0]] * (last + 1 - first)
                    nodes |= dict.fromkeys(places)
                self._owners = owners
                self._known = [*dict.fromkeys((*(node for node in self._known if node in nodes), *nodes, *self._seeds))]
                self.health.keep({*map(str, nodes), *((NO_OWNER,) if None in owners else ())})
                for gone in self._clients.keys() - set(self._known):
                    with suppress(*AWAY):
                        await self._clients.pop(gone).aclose(close_connection_pool=True)
                return
        raise failure


def _node(host: str) -> Node:
    its = urlsplit(f"//{host}")
    return Node(its.hostname or "", its.port or 6379)


def _key(command: Sequence[Word]) -> Word:
    """What decides where a command goes."""
    place = {"EVALSHA": 3, "EVAL": 3, "XREAD": 2}.get(str(command[0]), 1)
    return command[place] if place < len(command) else ""


def _slot(key: Word) -> int:
    return key_slot(key if isinstance(key, bytes) else str(key).encode())
