"""A client of a race's event stream."""

import asyncio
from http.client import HTTPConnection
from typing import Self

from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.servers import Server
from support.waiting import LIMIT_S


class EventStream:
    """Reads the events of a race line by line."""

    def __init__(self, server: Server, race_id: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
        self._connection.request("GET", f"/api/v1/races/{race_id}/events")
        self.response = self._connection.getresponse()
        self.packets: list[bytes] = []
        """All lines, without their line feeds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self._connection.close()

    async def line(self) -> bytes | None:
        """Return the next line, or None at the end of the stream."""
        data = await asyncio.to_thread(self.response.readline)
        if not data:
            return None
        assert data.endswith(b"\n")
        self.packets.append(data[:-1])
        return self.packets[-1]

    async def event(self) -> m.View | m.Progress | None:
        """Return the next event, or None at the end. Skips empty lines."""
        while (line := await self.line()) == b"":
            pass
        if line is None:
            return None
        message = decoding.decode_from_server(line, "json")
        assert isinstance(message, m.View | m.Progress)
        return message

    async def until_stage(self, stage: str) -> m.View:
        """Skip to the first view of a stage."""
        while event := await self.event():
            if isinstance(event, m.View) and event.stage == stage:
                return event
        raise AssertionError(f"the stream ended before the stage {stage}")

    async def rest(self) -> list[m.View | m.Progress]:
        """Return all events until the end."""
        events = list[m.View | m.Progress]()
        while event := await self.event():
            events.append(event)
        return events
