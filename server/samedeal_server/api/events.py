"""Events: a race as it happens, line by line, for overlays, bots and webhooks."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from samedeal import codec
from samedeal.race.events import Entry
from samedeal.race.race import Race
from samedeal.wire import views
from samedeal.wire.messages import Reaction, View
from samedeal_server.api.endpoint import RACE_REFUSALS, V1, ResponseSpec, route
from samedeal_server.live.broadcast import PROGRESS_EVERY_S, Update, update_after
from samedeal_server.live.registry import Registry
from samedeal_server.live.room import Room
from samedeal_server.net.limits import Count
from samedeal_server.net.responses import MEDIA

KEEP_ALIVE_S = 15.0
"""After this time without an update, an empty line is sent, so that no proxy closes the connection (s)."""
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Proxies must pass each line on at once."""


class Events:
    """The endpoint that streams a race."""

    def __init__(self, registry: Registry, connections: Count) -> None:
        self._registry, self._connections = registry, connections

    @route(
        "GET",
        f"{V1}/races/{{race}}/events",
        ResponseSpec(kind=View, media=(MEDIA["ndjson"],)),
        refuses=(*RACE_REFUSALS, "draining"),
        cost=5,
    )
    async def stream(self, request: Request, race: str) -> Response:
        """Return a race as it happens, one JSON object per line: first the view of a spectator with the header, then an
        update for every change, as spectators get it over the WebSocket, and an empty line every 15 s without one. It
        ends after the view of the finished race. Counts as a WebSocket connection.
        """
        address = request.client.host if request.client else ""
        room = await self._registry.room(race, address)
        self._registry.check_open()
        self._connections.check(address)  # last, so that concurrent requests cannot all pass
        if request.method == "HEAD":
            return Response(headers=HEADERS, media_type=MEDIA["ndjson"])
        return EventStream(_Spectator(room, self._registry), lambda: self._connections.add(address))


class EventStream(StreamingResponse):
    """A response that streams the lines of a spectator until the race is over or the client disconnects."""

    def __init__(self, spectator: "_Spectator", count: Callable[[], Callable[[], None]]) -> None:
        """`count` counts the connection, and returns a function that no longer does."""
        super().__init__(spectator.lines(), headers=HEADERS, media_type=MEDIA["ndjson"])
        self._spectator, self._count = spectator, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        uncount = self._count()
        try:
            await super().__call__(scope, receive, send)
        finally:
            uncount()
            self._spectator.leave()


class _Spectator:
    """A listener of a race. It keeps one pending update, so a client that reads slowly gets fewer of them."""

    is_watching = False
    """Streams are for programs, such as overlays, which are not counted among those who watch."""

    def __init__(self, room: Room, registry: Registry) -> None:
        self._room, self._registry = room, registry
        self._update: Update | None = None
        self._is_dropped = False
        self._wakeup = asyncio.Event()

    def on_entries(self, race: Race, entries: Sequence[Entry]) -> None:
        if update := update_after(race, entries, None):
            self._update = update if self._update != "view" else "view"
            self._wakeup.set()

    def on_progress(self, race: Race) -> None:
        self._update = self._update or "progress"
        self._wakeup.set()

    def on_reaction(self, reaction: Reaction) -> None:
        """Streams have no reactions."""

    def on_dropped(self) -> None:
        self._is_dropped = True
        self._wakeup.set()

    def leave(self) -> None:
        self._room.broadcast.remove(self)

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yield the lines until the race is over or cannot be continued, or the server drains."""
        self._room.broadcast.add(self)
        race, is_replaced = self._room.race, self._room.is_replaced
        yield codec.encode(self._room.view(None, header=True), "json") + b"\n"
        drained = asyncio.ensure_future(self._registry.draining.wait())
        drained.add_done_callback(lambda _: self._wakeup.set())
        try:
            while not (race.closed or is_replaced or drained.done() or self._is_dropped):
                with suppress(TimeoutError):
                    async with asyncio.timeout(KEEP_ALIVE_S):
                        await self._wakeup.wait()
                self._wakeup.clear()
                race, is_replaced = self._room.race, self._room.is_replaced
                update, self._update = self._update, None
                yield self._encode(race, update) + b"\n"
                if update == "progress":
                    await asyncio.sleep(PROGRESS_EVERY_S)
        finally:
            drained.cancel()

    def _encode(self, race: Race, update: Update | None) -> bytes:
        """Encode an update as for spectators over the WebSocket, with which it is shared."""
        if update is None:
            return b""
        is_view = update == "view" or views.sees_boards(race, None)

        def encode() -> bytes:
            return codec.encode(self._room.view(None) if is_view else self._room.progress(None), "json")

        return self._room.broadcast.shared_encoding(race, ("json", is_view, True, False), encode)
