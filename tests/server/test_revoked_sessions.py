"""Sessions whose token is revoked serve no more requests, even of a client that ignores the close."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from samedeal.wire import codec
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.races.quotas import Quotas
from samedeal_server.races.rematches import Rematches
from samedeal_server.settings import Settings
from samedeal_server.store.guests import Guest, Guests, digest
from samedeal_server.ws.session import Session
from support.stores import Process, process, until

pytestmark = pytest.mark.tier(2)


class DeafSocket:
    """A connection whose client continues to send after the close."""

    def __init__(self) -> None:
        self.requests = asyncio.Queue[m.Request]()
        self.sent: list[m.FromServer] = []
        self.closed: list[int] = []

    async def receive(self) -> dict[str, Any]:
        return {"type": "websocket.receive", "text": codec.encode(await self.requests.get(), "json").decode()}

    def send_now(self, data: bytes, *, text: bool) -> bool:
        self.sent.append(codec.decode_from_server(data, "json"))
        return True

    async def send(self, data: bytes, *, text: bool) -> None:
        self.send_now(data, text=text)

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        self.closed.append(code)


class SlowGuests(Guests):
    """Guests that are found only when `released` is set, as they were before."""

    released: asyncio.Event

    async def authenticate(self, token: str) -> Guest:
        guest = await super().authenticate(token)
        await self.released.wait()
        return guest


class Running(NamedTuple):
    """A running session."""

    session: Session
    socket: DeafSocket
    task: "asyncio.Task[int]"


@asynccontextmanager
async def session(parts: Process, guests: Guests) -> AsyncIterator[Running]:
    socket, settings = DeafSocket(), Settings()
    limits, slots = RateLimits(settings), asyncio.Semaphore(1)
    rematches = Rematches(parts.registry, Quotas(parts.registry.opener, limits, settings))
    session = Session(socket, "json", parts.registry, rematches, guests, limits, slots, settings)
    task = asyncio.create_task(session.run())
    yield Running(session, socket, task)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_requests_after_a_revocation_are_not_served(redis_url: str) -> None:
    async with process(redis_url) as parts:
        guests = Guests(parts.store)
        _, token = await guests.create("ada")
        async with session(parts, guests) as (session_, socket, task):
            socket.requests.put_nowait(m.Hello(id=1, token=token))
            await until(lambda: socket.sent)
            session_.revoke({digest("sd_other")})
            socket.requests.put_nowait(m.Ping(id=2))
            await until(lambda: len(socket.sent) == 2)
            session_.revoke({digest("sd_other"), digest(token)})
            socket.requests.put_nowait(m.Ping(id=3))
            assert await task == CloseCode.LOGGED_OUT
            assert [message.re for message in socket.sent] == [1, 2]
            assert socket.closed == [CloseCode.LOGGED_OUT]


@pytest.mark.parametrize("as_header", [False, True])
async def test_revocation_during_a_hello_is_not_missed(as_header: bool, redis_url: str) -> None:
    """The token was looked up before it was removed, and the revocation arrives before the answer."""
    async with process(redis_url) as parts:
        guests = SlowGuests(parts.store)
        guests.released = asyncio.Event()
        _, token = await guests.create("ada")
        async with session(parts, guests) as (session_, socket, task):
            session_._login._bearer = token if as_header else None
            socket.requests.put_nowait(m.Hello(id=1, token=None if as_header else token))
            await until(lambda: session_._login._token_digest)
            session_.revoke({digest(token)})
            guests.released.set()
            socket.requests.put_nowait(m.Ping(id=2))
            assert await task == CloseCode.LOGGED_OUT
            assert 2 not in [message.re for message in socket.sent]
