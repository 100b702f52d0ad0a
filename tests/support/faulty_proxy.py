"""A proxy in front of a store or a server that cuts, delays, stalls and drops data on demand."""

import asyncio
import contextlib
import socket
import struct
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

from support.listening import stop_listening

CHUNK = 65536


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

    def __init__(self, target: str) -> None:
        self.target = target
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._trap: _Trap | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.closed = False
        """Whether new connections are reset."""
        self.delay_s = 0.0
        """The delay of all data (s)."""
        self.bytes_per_s = 0
        """The bandwidth in each direction; 0 is unlimited."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"{'http' if self.target.startswith('http') else 'redis'}://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True
        await stop_listening(self._server)
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

    def stall(self) -> None:
        """Accept connections and data, but forward nothing until mended."""
        self._flowing.clear()

    def mend(self) -> None:
        """End all lasting faults. Stalled data is forwarded."""
        self.closed, self.delay_s, self.bytes_per_s = False, 0.0, 0
        self._flowing.set()

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
                return
            await asyncio.gather(
                self._carry(link, reader, link.forth, answers=False), self._carry(link, back, writer, answers=True)
            )
        except (OSError, asyncio.CancelledError):
            return  # either end, or the proxy, has closed the connection
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

    async def _carry(
        self, link: "_Link", source: asyncio.StreamReader, target: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        """Forward one direction, including its end."""
        while data := await source.read(CHUNK):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if self.bytes_per_s:
                await asyncio.sleep(len(data) / self.bytes_per_s)
            await self._flowing.wait()
            if answers and link.trap:
                link.trap.sprung.set()
                link.reset()
                return
            if not answers and (trap := self._trap) and trap.mark in data:
                self._trap = None
                if trap.how == "cut within":
                    target.write(data[: len(data) // 2])
                    await target.drain()
                    trap.sprung.set()
                    link.reset()
                    return
                link.trap = trap
            if answers not in link.ended:
                target.write(data)
                await target.drain()
        link.end(answers)


class _Link:
    """A connection to the proxy and its connection to the target."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.forth: asyncio.StreamWriter | None = None
        self.trap: _Trap | None = None
        """The triggered trap whose answer must be dropped."""
        self.ended: set[bool] = set()
        """The directions that have ended: answers, requests."""

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
