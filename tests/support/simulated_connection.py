"""Simulated WebSocket connections."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosedError
from websockets.frames import Close

if TYPE_CHECKING:
    from support.simulated_world import Process, World


class Connection:
    """A WebSocket, as the racer uses it. `ServerSocket` is its other end."""

    def __init__(self, world: "World", process: "Process") -> None:
        self._world, self.process = world, process
        self._context = process.call(copy_context)
        self._to_server, self._to_racer = Channel(world), Channel(world)
        self._lost = False  # whether the racer abandoned it

    # The server's end.

    async def receive(self) -> dict[str, Any]:
        data = await self._to_server.next()
        if isinstance(data, bytes):
            return {"type": "websocket.receive", "bytes": data}
        return {"type": "websocket.disconnect", "code": 1006}

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        """Offer messages to `take` as they arrive, unless earlier ones wait."""
        self._to_server.take = take

    def tell(self, data: bytes) -> None:
        """Send a message, unless the connection is closed."""
        if not self._to_server.ended:
            self._to_racer.put(data, self._world.outside)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the connection."""
        if self._lost:
            return
        self.end(code)

    def end(self, code: int | None = None) -> None:
        """End the connection. Each side notices after a latency."""
        self._to_racer.put(code, self._world.outside)
        self._to_server.put(code, self._context)

    # The racer's end.

    async def send(self, data: bytes) -> None:
        if self._lost or self._to_racer.ended:
            raise ConnectionClosedError(None, None)
        self._to_server.put(data, self._context)

    async def recv(self) -> bytes:
        while True:
            if self._lost:
                raise ConnectionClosedError(None, None)
            with suppress(TimeoutError):
                async with asyncio.timeout(1.5):
                    data = await self._to_racer.next()
                    break
            if self.process.frozen:  # no response to a ping
                self.vanish()
        if isinstance(data, bytes):
            return data
        raise ConnectionClosedError(Close(data, "") if data else None, None)

    def vanish(self) -> None:
        """The racer abandons the connection. The server notices later, after all messages that were sent."""
        self._lost = True
        self._to_racer.put(None, self._world.outside)
        self._world.loop.call_later(
            self._world.chance.uniform(0, 3), self._to_server.put, None, self._context, context=self._world.outside
        )


class ServerSocket:
    """A WebSocket, as the server's session uses it. Sometimes what it writes waits for a while."""

    on_writable: Callable[[], None]

    def __init__(self, world: "World", connection: Connection) -> None:
        self._world, self._line = world, connection
        self.receive, self.offer_to = connection.receive, connection.offer_to
        self._writable = asyncio.Event()
        self._writable.set()
        self._waiting = list[bytes]()

    @property
    def is_writable(self) -> bool:
        return self._writable.is_set()

    @property
    def unsent(self) -> int:
        return sum(map(len, self._waiting))

    def write(self, data: bytes, *, text: bool) -> None:
        if self.is_writable and self._world.chance.random() > 0.8:
            self._writable.clear()
            asyncio.get_running_loop().call_later(self._world.latency(), self._resume)
        if self.is_writable:
            self._line.tell(data)
        else:
            self._waiting.append(data)

    def _resume(self) -> None:
        for data in self._waiting:
            self._line.tell(data)
        self._waiting.clear()
        self._writable.set()
        self.on_writable()

    async def close(self, code: int, reason: str) -> None:
        while not self.is_writable:
            await self._writable.wait()
        await self._line.close(code, reason)


class Channel:
    """One direction of a connection: messages arrive in order, after a latency."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._arrived = deque[bytes | int | None]()
        self._waiting: asyncio.Future[None] | None = None
        self._free_at = 0.0
        self.take: Callable[[bytes], bool] = lambda data: False
        self.ended = False
        """Whether the end of the connection has arrived."""

    def put(self, data: bytes | int | None, context: Context) -> None:
        self._free_at = max(self._free_at, self._world.loop.time() + self._world.latency()) + 1e-6
        self._world.loop.call_at(self._free_at, self._arrive, data, context=context)

    def _arrive(self, data: bytes | int | None) -> None:
        if isinstance(data, bytes) and not self._arrived and self.take(data):
            return
        self._arrived.append(data)
        self.ended = self.ended or not isinstance(data, bytes)
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)

    async def next(self) -> bytes | int | None:
        while not self._arrived:
            self._waiting = self._world.loop.create_future()
            await self._waiting
        if isinstance(self._arrived[0], bytes):
            return self._arrived.popleft()
        return self._arrived[0]  # the end stays in the queue
