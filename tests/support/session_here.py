"""A session in the process of the test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from samedeal import codec
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal_server.live.opening import Quotas
from samedeal_server.live.rematches import Rematches
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.socket.session import Session, SessionServices
from samedeal_server.store.guest_tokens import Guests
from support.stores import Process


class DeafSocket:
    """A connection whose client continues to send after the close."""

    is_writable = True
    unsent = 0
    on_writable: Callable[[], None]

    def __init__(self) -> None:
        self.requests = asyncio.Queue[m.Request]()
        self.sent: list[m.FromServer] = []
        self.closed: list[int] = []

    async def receive(self) -> dict[str, Any]:
        return {"type": "websocket.receive", "text": codec.encode(await self.requests.get(), "json").decode()}

    def write(self, data: bytes, *, text: bool) -> None:
        self.sent.append(decoding.decode_from_server(data, "json"))

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        self.closed.append(code)


class Running(NamedTuple):
    """A running session."""

    session: Session
    socket: DeafSocket
    task: "asyncio.Task[int]"


@asynccontextmanager
async def session(
    parts: Process, guests: Guests, slots: Mapping[type, asyncio.Semaphore] | None = None
) -> AsyncIterator[Running]:
    socket, settings = DeafSocket(), Settings()
    limits = RateLimits(settings)
    rematches = Rematches(parts.registry, Quotas(parts.registry.opener, limits, settings))
    services = SessionServices(parts.registry, rematches, guests, limits, settings, slots or {})
    session = Session(socket, "json", services)
    task = asyncio.create_task(session.run())
    yield Running(session, socket, task)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
