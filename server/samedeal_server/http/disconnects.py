"""Disconnects: cancel the work for a request when its client disconnects."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

T = TypeVar("T")


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of work for a request whose body has been read or is empty.

    Cancels the work and raises ClientDisconnect if the client disconnects first.
    """
    result, disconnect = asyncio.ensure_future(work), asyncio.ensure_future(wait_for_disconnect(request.receive))
    try:
        await asyncio.wait((result, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise ClientDisconnect
        return result.result()
    finally:
        for task in (result, disconnect):
            task.cancel()
        await asyncio.gather(result, disconnect, return_exceptions=True)


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client of an HTTP request disconnects. Discards the body."""
    while (await receive())["type"] != "http.disconnect":
        pass
