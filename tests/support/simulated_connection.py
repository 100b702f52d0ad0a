"""Simulated WebSocket connections."""

import asyncio
from collections import deque
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosedError
from websockets.frames import Close

if TYPE_CHECKING:
    from support.simulated_world import Process, World


class Connection:
    """A WebSocket: to the racer what the client's is, and what `ServerSocket` is made of."""

    def __init__(self, world: "World", process: "Process") -> None:
        self._world, self.process = world, process
        self._context = process.call(copy_context)
        self._to_server, self._to_racer = Channel(world), Channel(world)
        self._lost = False  # for the racer, who has let go of it

    # The session's end.

    async def receive(self) -> dict[str, Any]:
        data = await self._to_server.next()
        if isinstance(data, bytes):
            return {"type": "websocket.receive", "bytes": data}
        return {"type": "websocket.disconnect", "code": 1006}

    def tell(self, data: bytes) -> bool:
        """Sends a message, and says whether there is anybody there."""
        if not self._to_server.ended:
            self._to_racer.put(data, self._world.outside)
        return not self._to_server.ended

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Either end closes it."""
        if self._lost:
            return
        self.end(code)

    def end(self, code: int | None = None) -> None:
        """It ends for both, each hearing of it when that arrives."""
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
            if self.process.frozen:  # it does not answer a ping
                self.vanish()
        if isinstance(data, bytes):
            return data
        raise ConnectionClosedError(Close(data, "") if data else None, None)

    def vanish(self) -> None:
        """The racer lets go of it; the server hears of that late, after everything that was sent."""
        self._lost = True
        self._to_racer.put(None, self._world.outside)
        self._world.loop.call_later(
            self._world.chance.uniform(0, 3), self._to_server.put, None, self._context, context=self._world.outside
        )


class ServerSocket:
    """A WebSocket: to the session what the door gives it. Now and then what is sent has to wait."""

    def __init__(self, world: "World", connection: Connection) -> None:
        self._world, self._line = world, connection
        self.receive, self.close = connection.receive, connection.close

    def send_now(self, data: bytes, *, text: bool) -> bool:
        return self._world.chance.random() < 0.8 and self._line.tell(data)

    async def send(self, data: bytes, *, text: bool) -> None:
        await asyncio.sleep(self._world.moment())
        if not self._line.tell(data):
            raise WebSocketDisconnect(1006)


class Channel:
    """One direction of a connection: what is sent arrives in order, some time later."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._arrived = deque[bytes | int | None]()
        self._waiting: asyncio.Future[None] | None = None
        self._free_at = 0.0
        self.ended = False
        """Whether the end has arrived."""

    def put(self, data: bytes | int | None, context: Context) -> None:
        self._free_at = max(self._free_at, self._world.loop.time() + self._world.moment()) + 1e-6
        self._world.loop.call_at(self._free_at, self._arrive, data, context=context)

    def _arrive(self, data: bytes | int | None) -> None:
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
        return self._arrived[0]  # an end stays
