"""A race whose course a test scripts: a connection and the server's documents, without a network."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

import msgspec

from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.wire.messages import Request, View, Welcome
from samedeal_cli.failure import Declined
from samedeal_cli.net.connection import Lost, News, Restored
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.live_view import LiveView

SERVER = "192.168.1.20:8640"


class ScriptedConnection(LiveView):
    """A connection that receives what the test sends. Its clock stands still, and it refuses every move."""

    def __init__(self, header: Header, player: str, first: View) -> None:
        super().__init__()
        self.header, self.race_id, self.token = header, header.race, "token"
        self.welcome = Welcome(player=player, name="", server="test")
        self.receipts = None  # nothing to compare with
        self.refusal = ""
        self._news: asyncio.Queue[News] = asyncio.Queue()
        self.apply_view(first)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """There is nothing to close."""

    async def __aiter__(self) -> AsyncIterator[News]:
        while True:
            yield await self._news.get()

    @property
    def left_ms(self) -> int | None:
        return self.view.clock_ms

    async def request(self, _request: Request) -> View:
        return self.view

    async def move(self, _move: str) -> View:
        raise Refused("illegal-move", self.refusal)

    def send(self, view: View) -> None:
        """Send a view to the client."""
        self.apply_view(view)
        self._news.put_nowait(view)

    def lose(self, why: str) -> None:
        """Report that the connection is lost, with the reason."""
        self._news.put_nowait(Lost(why))

    def restore(self) -> None:
        """Report that the connection is back."""
        self._news.put_nowait(Restored(self.view))


class ScriptedApi(Api):
    """An API with these documents, by path."""

    def __init__(self, documents: dict[str, Any]) -> None:
        super().__init__(f"http://{SERVER}")
        self._documents = documents

    def fetch(self, path: str, **_: Any) -> bytes:
        """Return the document at a path as JSON."""
        if path not in self._documents:
            raise Declined("not-found", f"{path} was not found")
        return msgspec.json.encode(self._documents[path])
