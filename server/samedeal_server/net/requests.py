"""Requests: queries, bodies and clients, validated and limited in size, and work until the client disconnects.

The root path is the path of the public URL. Proxies remove it from requests or leave it in place; both work.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.types import Receive, Scope

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal_server.addresses import network
from samedeal_server.net.limits import REQUEST_S
from samedeal_server.settings import Settings

T = TypeVar("T", bound=Struct)
R = TypeVar("R")


def base_url(request: Request) -> str:
    """Return the server's URL without a trailing slash: the public URL, or the URL of the request."""
    settings: Settings = request.app.state.settings
    return settings.public_url or str(request.base_url).rstrip("/")


def add_root_path(scope: Scope, root_path: str) -> None:
    """Complete the scope of a request below a root path: as ASGI specifies, its path starts with the root path."""
    path = scope["path"]
    if path == root_path:
        path += "/"
    elif not path.startswith(f"{root_path}/"):
        path = root_path + path
    scope.update(path=path, root_path=root_path)


def route_path(scope: Scope) -> str:
    """Return the path of a request without the root path."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("app_root_path", scope.get("root_path", "")))


def below_root_path(html: str, root_path: str) -> str:
    """Return HTML whose links lead to paths below the root path."""
    return re.sub(r'(?<=\s)(href|src)="/', rf'\1="{root_path}/', html) if root_path else html


def parse_query(request: Request, kind: type[T]) -> T:
    """Convert the query of a request to a struct. Of repeated parameters, fields that are tuples get all values.

    Raises Refused("bad-request") for unknown parameters and invalid values.
    """
    query = request.query_params
    lists = {field.name for field in msgspec.structs.fields(kind) if getattr(field.type, "__origin__", None) is tuple}
    values = {name: query.getlist(name) if name in lists else query[name] for name in query}
    parsed = validate(values, kind, strict=False)
    for name in query:
        if getattr(parsed, name) is None:  # msgspec reads the text "null" as None
            raise Refused("bad-request", f"{name} must not be null: omit it instead.")
    return parsed


def validate(values: dict[str, Any], kind: type[T], *, strict: bool = True) -> T:
    """Convert values to a struct. Raises Refused("bad-request")."""
    try:
        return codec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise Refused("bad-request", f"{codec.why(error)}.") from error


async def read_json(request: Request, kind: type[T], max_bytes: int) -> T:
    """Read the JSON body as a struct. Raises Refused for a body that is invalid, too large or too slow."""
    body = BytesIO()
    await save_body(request, body.write, max_bytes, REQUEST_S, "The request did not arrive in time.")
    try:
        return codec.decode(body.getvalue(), "json", kind)
    except (Malformed, Refused) as error:
        raise Refused("bad-request", f"{error}") from error


async def save_body(
    request: Request, write: Callable[[bytes], object], max_bytes: int, timeout_s: float, late: str
) -> None:
    """Write the body as it arrives, and b"" at its end. Raises Refused as soon as it is too large or slow; `late` is
    the text for a slow one.

    Bodies are not decompressed: Refused("unsupported-encoding").
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise Refused("unsupported-encoding", "Send the body without Content-Encoding.")
    too_large = Refused("too-large", f"The body may have at most {max_bytes} bytes.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and float(announced) > max_bytes:
        raise too_large
    length = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in request.stream():
                length += len(chunk)
                if length > max_bytes:
                    raise too_large
                write(chunk)
    except TimeoutError:
        raise Refused("bad-request", late) from None


async def while_connected(request: Request, work: Awaitable[R]) -> R:
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


def client_network(request: Request) -> str:
    """Return the client's network, which limits apply to; see ``network``."""
    return network(request.client.host) if request.client else ""


def bearer_token(connection: HTTPConnection) -> str | None:
    """Return the token of the Authorization header of a request or handshake, if any."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
