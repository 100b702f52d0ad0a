"""Questions: what a request says, its query and its body, checked and bounded."""

import asyncio
from collections.abc import AsyncIterator
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request

from samedeal.errors import Malformed, Refused
from samedeal.wire import codec
from samedeal_server.access.network import network

T = TypeVar("T", bound=Struct)
R = TypeVar("R")


def asked(request: Request, kind: type[T]) -> T:
    """What the query of an address asks for; of what may be there several times all, else the last.

    Raises Refused("bad-request") for what the kind has not.
    """
    query = request.query_params
    lists = {known.name for known in msgspec.structs.fields(kind) if getattr(known.type, "__origin__", None) is tuple}
    found = checked({name: query.getlist(name) if name in lists else query[name] for name in query}, kind, strict=False)
    for name in query:
        if getattr(found, name) is None:  # the text null is no other way to ask for nothing
            raise Refused("bad-request", f"Leave {name} out to ask for nothing.")
    return found


def checked(values: dict[str, Any], kind: type[T], *, strict: bool = True) -> T:
    """Values as a record of a kind. Raises Refused("bad-request") where they are none."""
    try:
        return msgspec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise Refused("bad-request", f"{error}.") from error


async def body(request: Request, kind: type[T], most: int, within_s: float) -> T:
    """The body as a record of a kind. Raises Refused for one that is none, or too large, or too slow."""
    try:
        async with asyncio.timeout(within_s):
            data = b"".join([chunk async for chunk in _chunks(request, most)])
    except TimeoutError:
        raise Refused("bad-request", "The request did not arrive in time.") from None
    try:
        return codec.decode(data, "json", kind)
    except (Malformed, Refused) as error:
        raise Refused("bad-request", f"{error}") from error


async def upload(request: Request, file: IO[bytes], most: int, within_s: float) -> None:
    """Writes the body into a file. Raises Refused for one that is too large or too slow."""
    try:
        async with asyncio.timeout(within_s):
            async for chunk in _chunks(request, most):
                file.write(chunk)
    except TimeoutError:
        raise Refused("bad-request", f"The replay did not arrive within {within_s} s.") from None
    file.flush()


def address(request: Request) -> str:
    """Where a request comes from, as addresses are counted."""
    return network(request.client.host) if request.client else ""


def bearer_token(request: Request) -> str | None:
    """The token in the request's Authorization header."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


async def _chunks(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body, piece by piece. Raises Refused("too-large") as soon as it is."""
    stated = request.headers.get("content-length", "")
    length = 0
    if stated.isdecimal() and float(stated) > most:
        raise Refused("too-large", f"The body has at most {most} bytes.")
    async for chunk in request.stream():
        length += len(chunk)
        if length > most:
            raise Refused("too-large", f"The body has at most {most} bytes.")
        yield chunk
