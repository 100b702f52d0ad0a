"""A network between a client and a server or a store: a TCP proxy with latency, jitter, low bandwidth and faults."""

import asyncio
import contextlib
import random
import socket
import struct
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

CHUNK = 65536
Transit = asyncio.Queue[tuple[float, bytes]]
"""Data in one direction of a connection, with the times of the event loop when it arrives (s)."""
IN_TRANSIT = 64
"""How many chunks can be in transit in one direction of a connection; then its sender has to wait."""


@dataclass
class _Trap:
    """What to do with the next request that contains these bytes."""

    mark: bytes
    how: Literal["cut within", "lose answer"]
    sprung: asyncio.Event


class Proxy:
    """Forwards connections to a target, `unix://…`, `redis://host:port` or `http://host:port`, subject to faults.

    Its own address is in `url`, with a scheme that fits the target.
    """

    def __init__(self, target: str, *, round_trip_ms: float = 0, jitter_ms: float = 0, seed: int = 1) -> None:
        """Create a proxy with a round trip time. Jitter delays each chunk by up to as much again, without reordering.

        The delays by jitter depend only on the seed and the number of chunks before.
        """
        self.target = target
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._trap: _Trap | None = None
        self._chance = random.Random(seed)
        self._flowing = {answers: asyncio.Event() for answers in (False, True)}
        self.closed = False
        """Whether new connections are reset."""
        self.delay_s = round_trip_ms / 2000
        """The latency in each direction (s)."""
        self.jitter_s = jitter_ms / 1000
        """The largest delay in addition to the latency (s)."""
        self.bytes_per_s = 0
        """The bandwidth in each direction of a connection; 0 is unlimited."""
        self.refused = 0
        """The number of refused connections."""
        self.resume()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"{'http' if self.target.startswith('http') else 'redis'}://{host}:{port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self.closed = True
        for listener in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listener.fileno())
        for _ in range(10):  # let connections begin that were accepted just now: after `close` they would fail
            await asyncio.sleep(0)
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Faults.

    def cut(self) -> None:
        """Reset all connections and refuse new ones."""
        self.closed = True
        self.reset()

    def reset(self) -> None:
        """Reset all connections. Data in transit is lost."""
        for link in tuple(self._links):
            link.reset()

    def half_close(self, *, answers: bool) -> None:
        """End one direction of all connections: requests or answers."""
        for link in tuple(self._links):
            link.end(answers)

    def abandon(self) -> None:
        """Forward nothing more on the present connections, and close none of them. New connections work."""
        for link in self._links:
            link.abandoned = True

    def stall(self, *, answers: bool = True) -> None:
        """Accept connections and data, but forward no requests and, unless excluded, no answers, until resumed."""
        self._flowing[False].clear()
        if answers:
            self._flowing[True].clear()

    def resume(self) -> None:
        """Forward everything that was stalled, and accept connections again."""
        self.closed = False
        for flowing in self._flowing.values():
            flowing.set()

    def mend(self) -> None:
        """End all lasting faults, with delays and low bandwidth. Stalled data is forwarded."""
        self.delay_s, self.jitter_s, self.bytes_per_s = 0.0, 0.0, 0
        self.resume()

    async def cut_within(self, mark: bytes) -> None:
        """Forward half of the next request that contains these bytes, and reset its connection."""
        await self._spring(_Trap(mark, "cut within", asyncio.Event()))

    async def lose_answer(self, mark: bytes = b"") -> None:
        """Forward the next request that contains these bytes, drop the answer, and reset its connection."""
        await self._spring(_Trap(mark, "lose answer", asyncio.Event()))

    async def _spring(self, trap: _Trap) -> None:
        self._trap = trap
        try:
            await trap.sprung.wait()
        finally:
            if self._trap is trap:
                self._trap = None

    # Implementation.

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(writer)
        self._links.add(link)  # even if the task is cancelled before it starts
        task = asyncio.get_running_loop().create_task(self._connected(reader, writer, link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: "_Link") -> None:
        try:
            link.forth, back = await self._reach()
            if self.closed:
                self.refused += 1
                return
            async with asyncio.TaskGroup() as group:
                for source, target, answers in ((reader, link.forth, False), (back, writer, True)):
                    transit = Transit(IN_TRANSIT)
                    group.create_task(self._receive(link, source, transit))
                    group.create_task(self._forward(link, transit, target, answers=answers))
        except* (OSError, asyncio.CancelledError):
            pass  # either end, or the proxy, has closed the connection
        finally:
            self._links.discard(link)
            link.reset()

    async def _reach(self) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
        parts = urlsplit(self.target)
        if parts.scheme == "unix":
            back, forth = await asyncio.open_unix_connection(unquote(parts.path))
        else:
            back, forth = await asyncio.open_connection(parts.hostname, parts.port)
        return forth, back

    async def _receive(self, link: "_Link", source: asyncio.StreamReader, transit: Transit) -> None:
        """Receive one direction, and determine when its data arrives, and its end, which is empty data."""
        loop, sent_at, arrives_at, data = asyncio.get_running_loop(), 0.0, 0.0, b"-"
        while data:
            try:
                data = await source.read(CHUNK)
            except OSError:
                if link.abandoned:
                    return
                raise
            sent_at = max(sent_at, loop.time()) + (len(data) / self.bytes_per_s if self.bytes_per_s else 0)
            arrives_at = max(arrives_at, sent_at + self.delay_s + self._chance.random() * self.jitter_s)
            await transit.put((arrives_at, data))

    async def _forward(self, link: "_Link", transit: Transit, target: asyncio.StreamWriter, *, answers: bool) -> None:
        """Forward one direction as it arrives, including its end."""
        loop = asyncio.get_running_loop()
        while True:
            arrives_at, data = await transit.get()
            if arrives_at > loop.time():
                await asyncio.sleep(arrives_at - loop.time())
            await self._flowing[answers].wait()
            if link.abandoned:
                await loop.create_future()
            if not data:
                return link.end(answers)
            if answers and link.trap:
                link.trap.sprung.set()
                return link.reset()
            if not answers and (trap := self._trap) and trap.mark in data:
                self._trap = None
                if trap.how == "cut within":
                    target.write(data[: len(data) // 2])
                    await target.drain()
                    trap.sprung.set()
                    return link.reset()
                link.trap = trap
            if answers not in link.ended:
                target.write(data)
                await target.drain()


class _Link:
    """A connection to the proxy and its connection to the target."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.forth: asyncio.StreamWriter | None = None
        self.trap: _Trap | None = None
        """The triggered trap whose answer must be dropped."""
        self.ended: set[bool] = set()
        """The directions that have ended: answers, requests."""
        self.abandoned = False
        """Whether nothing is forwarded any more, not even an end."""

    def end(self, answers: bool) -> None:
        """End the answers to the client or the requests to the target."""
        self.ended.add(answers)
        writer = self.client if answers else self.forth
        if writer and writer.can_write_eof():
            with contextlib.suppress(OSError, RuntimeError):
                writer.write_eof()

    def reset(self) -> None:
        for writer in (self.client, self.forth):
            if writer and not writer.transport.is_closing():
                wire = writer.get_extra_info("socket")
                if wire.family == socket.AF_INET:
                    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
