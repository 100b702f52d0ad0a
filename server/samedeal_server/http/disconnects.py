"""Disconnects: work for a request ends when its client has gone."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

T = TypeVar("T")


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """The result of work for a request whose body has been read or is empty.

    If the client goes away first, cancels the work and raises ClientDisconnect.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def disconnected(receive: Receive) -> None:
    """Returns when the client of an HTTP request has gone; what it still sends is dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass
