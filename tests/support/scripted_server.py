"""A scripted server for tests of clients."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import structs
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from samedeal import codec
from samedeal.race.events import Header, Options
from samedeal.race.race import Stage
from samedeal.wire import decoding
from samedeal.wire import messages as m

RACE = "calm-otter-42"
HEADER = Header(
    race=RACE,
    game="corners",
    rules="corners/1",
    commitment="0" * 64,
    salt="0" * 32,
    opened_at=0,
    options=Options(limit_ms=60_000),
)


class Peer:
    """The server's side of a connection."""

    def __init__(self, socket: ServerConnection, number: int, heard: list[m.ToServer]) -> None:
        self.socket, self.number, self.heard = socket, number, heard

    async def hear(self) -> m.ToServer:
        data = await self.socket.recv()
        assert isinstance(data, bytes)
        message = decoding.decode_to_server(data, "msgpack")
        self.heard.append(message)
        return message

    async def say(self, message: m.FromServer) -> None:
        await self.socket.send(codec.encode(message, "msgpack"))

    async def welcome(self) -> m.ToServer:
        """Receive Hello and reply to it. Return the next request."""
        hello = await self.hear()
        await self.say(m.Welcome(re=hello.id, player="p1", name="ada", token="t1", server="test"))
        return await self.hear()

    async def seat(self, stage: Stage = "running", ply: int = 0) -> None:
        """Receive Hello and Join and reply to them."""
        join = await self.welcome()
        await self.say(structs.replace(view(stage, ply), re=join.id, header=HEADER))


def view(stage: Stage = "running", ply: int = 0) -> m.View:
    board = m.Board(table={}, outcome="playing", home=0, attempt=1, ply=ply)
    return m.View(race=RACE, n=ply + 1, h=f"{ply:064}", stage=stage, seat=1, board=board, clock_ms=1000)


Script = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def server(
    script: Script, accept: Callable[[ServerConnection, Request], Response | None] | None = None
) -> AsyncIterator[tuple[str, list[m.ToServer]]]:
    """Run a server with a script for each connection. Yield its address and all messages it receives.

    `accept` may refuse a handshake with a response.
    """
    heard: list[m.ToServer] = []
    peers: list[Peer] = []

    async def handle(socket: ServerConnection) -> None:
        peers.append(Peer(socket, len(peers), heard))
        await script(peers[-1])

    subprotocols = list(map(Subprotocol, decoding.SUBPROTOCOLS))
    async with serve(handle, "127.0.0.1", 0, subprotocols=subprotocols, process_request=accept) as serving:
        yield f"http://127.0.0.1:{serving.sockets[0].getsockname()[1]}", heard
