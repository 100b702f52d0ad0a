"""Endpoints: handlers with their parameters, responses and refusals, declared once for routing and documentation."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final, TypeVar, get_type_hints

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from samedeal_server.net import metrics
from samedeal_server.net.limits import TAKE
from samedeal_server.net.request_log import ENDPOINT
from samedeal_server.net.requests import parse_query
from samedeal_server.net.responses import MEDIA, json_response

V1: Final = "/api/v1"
"""The prefix of paths for programs."""
COMMON_REFUSALS: Final = ("bad-request", "banned", "too-large", "too-many", "internal")
"""The codes with which any request can be refused, usually before it reaches a handler."""
BYTES_PER_TOKEN: Final = 32_768
"""How many bytes of a response can be sent for a request token."""
MAX_TOKENS: Final = 100
"""The maximum cost of a request in tokens, however large its response; also the minimum burst in the settings."""
Handler = Callable[..., Awaitable[object]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True)
class ResponseSpec:
    """A successful response of an endpoint."""

    status: int = 200
    kind: Any = None
    """The type of a JSON body; None for other bodies or no body."""
    media: Collection[str] = (MEDIA["json"],)
    """The media types of the body; empty without a body."""
    description: str = ""
    """The meaning of this response, if there are several."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers besides those of every response, with their descriptions."""


@dataclass(frozen=True)
class BodySpec:
    """The body of a request."""

    kind: Any = None
    """The type of a JSON body, or a tuple of alternatives; None for other bodies."""
    media: Collection[str] = (MEDIA["json"],)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The handler of one method on one path, with its documentation."""

    method: str
    path: str
    """In Starlette's syntax; ``{deal:path}`` may contain slashes."""
    handler: Handler
    """Takes a request and, if it has such a parameter, the `query`. Returns a Response or a struct to send as JSON, or
    raises Refused."""
    query: type[Struct] | None
    """The query parameters, which `respond` parses. Handlers with a deal in the path parse the options of its game
    themselves."""
    body: BodySpec | None
    headers: Mapping[str, str]
    """The request headers that the handler reads, with their descriptions."""
    responses: Collection[ResponseSpec]
    refuses: Collection[str]
    """The codes of refusals, besides COMMON_REFUSALS."""
    html_refusals: bool
    """Whether browsers get refusals as a page."""
    cost: int
    """How many request tokens a request costs, unless its response is large. A token is worth about 0.5 ms of CPU
    time."""

    @property
    def name(self) -> str:
        """The method and path, for metrics and the access log."""
        return f"{self.method} {re.sub(r':[a-z]+}', '}', self.path)}"

    async def respond(self, request: Request) -> Response:
        """Call the handler and return its response."""
        query = {"query": parse_query(request, self.query)} if self.query else {}
        result = await self.handler(request, **query)
        return result if isinstance(result, Response) else json_response(result)


def route(
    method: str,
    path: str,
    *responses: ResponseSpec,
    body: BodySpec | None = None,
    headers: Mapping[str, str] | None = None,
    refuses: Collection[str] = (),
    html_refusals: bool = False,
    cost: int = 1,
) -> Callable[[H], H]:
    """Declare a method of a resource as an endpoint. The arguments are the fields of Endpoint.

    `responses` defaults to the annotation of the result; the annotation of the parameter `query` is that of the query.
    """

    def decorate(handler: H) -> H:
        hints = get_type_hints(handler, include_extras=True)
        endpoint = Endpoint(
            method=method,
            path=path,
            handler=handler,
            query=hints.get("query"),
            body=body,
            headers=headers or {},
            responses=responses or (ResponseSpec(kind=hints["return"]),),
            refuses=refuses,
            html_refusals=html_refusals,
            cost=cost,
        )
        handler.__dict__.setdefault("endpoints", []).insert(0, endpoint)  # decorators are applied bottom up
        return handler

    return decorate


def endpoints(resource: object) -> list[Endpoint]:
    """Return the endpoints of a resource in the order of their declaration."""
    return [
        replace(endpoint, handler=getattr(resource, name))
        for name, method in vars(type(resource)).items()
        for endpoint in getattr(method, "endpoints", ())
    ]


def starlette_routes(
    declared: Iterable[Endpoint], check: Callable[[Request], None] = lambda _: None
) -> list[BaseRoute]:
    """Return the routes of endpoints. Endpoints with the same path must be adjacent.

    Each request that passed admission takes the cost of its endpoint, minus the token that admission took, and more if
    its response is large. `check` raises Refused if the client may not use the endpoints.
    """
    by_path = groupby(declared, lambda each: each.path)
    return [_starlette_route(path, list(same), check) for path, same in by_path]


def _starlette_route(path: str, declared: list[Endpoint], check: Callable[[Request], None]) -> Route:
    by_method = {endpoint.method: endpoint for endpoint in declared}
    for endpoint in declared:
        metrics.REQUESTS.labels(endpoint.name, "500")  # alerts notice only counters that start at 0

    async def take(request: Request, tokens: int) -> None:
        if tokens > 0 and TAKE in request.scope:
            await asyncio.sleep(request.scope[TAKE](tokens))

    async def respond(request: Request) -> Response:
        endpoint = by_method["GET" if request.method == "HEAD" else request.method]
        request.scope[ENDPOINT] = endpoint.name
        await take(request, endpoint.cost - 1)
        check(request)
        response = await endpoint.respond(request)
        await take(request, min(len(getattr(response, "body", b"")) // BYTES_PER_TOKEN, MAX_TOKENS) - endpoint.cost)
        return response

    return Route(path, respond, methods=list(by_method))
