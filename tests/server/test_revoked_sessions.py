"""Sessions whose token is revoked serve no more requests, even if the client ignores the close; bans close them too."""

import asyncio

import pytest

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.live.hosting import unseat
from samedeal_server.store.bans import Bans
from samedeal_server.store.guest_tokens import Guest, Guests, digest
from support.session_here import session
from support.stores import Process, until

pytestmark = pytest.mark.tier(2)


class SlowGuests(Guests):
    """Guests that are found only when `released` is set, as they were before."""

    released: asyncio.Event

    async def authenticate(self, token: str) -> Guest:
        guest = await super().authenticate(token)
        await self.released.wait()
        return guest


async def test_requests_after_a_revocation_are_not_served(parts: Process) -> None:
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
async def test_revocation_during_a_hello_is_not_missed(as_header: bool, parts: Process) -> None:
    """The token was looked up before it was removed, and the revocation arrives before the answer."""
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


@pytest.mark.parametrize(("banned", "code"), [(True, CloseCode.REMOVED), (False, CloseCode.TRY_AGAIN_LATER)])
async def test_released_seat_closes_its_connection_once_the_bans_are_read(
    banned: bool, code: CloseCode, parts: Process
) -> None:
    """Another process may have read a ban earlier, and have released the seat for it."""
    is_read = asyncio.Event()

    async def read() -> None:
        await is_read.wait()
        if banned:
            session_.expel(Refused("banned", "insults"), f"player:{guest.player}", resigns=True)
        raise Refused("store-unavailable")

    guests = Guests(parts.store, bans=Bans(read=read))
    guest, token = await guests.create("ada")
    room = await parts.registry.create(GAMES["corners"], {}, "1", Options(limit_ms=60_000))
    async with session(parts, guests) as (session_, socket, _):
        for request in (m.Hello(id=1, token=token), m.Join(id=2, race=room.race.id)):
            socket.requests.put_nowait(request)
        await until(lambda: len(socket.sent) == 2)
        unseat(room, guest.player, resigns=True)
        await until(lambda: not room.race.roster)
        assert socket.closed == []
        is_read.set()
        socket.requests.put_nowait(m.Ping(id=3))
        await until(lambda: socket.closed)
        assert socket.closed == [code]
