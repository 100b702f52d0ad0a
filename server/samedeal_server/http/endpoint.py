"""Endpoints: handlers with what they take, answer and refuse, declared once for the routing and for the documents."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MethodType
from typing import Any, Final, TypeVar, get_type_hints

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from samedeal_server.access.rate_limits import RateLimit
from samedeal_server.http.requests import asked
from samedeal_server.http.responses import MEDIA, json_response

V1: Final = "/api/v1"
"""What the addresses begin with that programs ask."""
EVERYWHERE: Final = ("bad-request", "too-large", "too-many", "internal")
"""The codes with which any request may be refused, whatever it asks for; mostly before it comes to a handler."""
Handler = Callable[..., Awaitable[object]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True)
class Link:
    """An operation that can be called with values of an answer; values are OpenAPI runtime expressions."""

    path: str
    """As the endpoint declares it."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    method: str = "GET"


@dataclass(frozen=True)
class Answer:
    """One way in which an endpoint answers when it does not refuse."""

    status: int = 200
    kind: Any = None
    """The type whose JSON the body is; None for a body that is no JSON, or no body."""
    media: Collection[str] = (MEDIA["json"],)
    """The media types that the body may have; none if there is no body."""
    told: str = ""
    """What it means, where the endpoint does not say."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers that it has beyond those of every answer, and what they say."""
    links: Collection["Link"] = ()
    """The operations that can be called with values of this answer."""


@dataclass(frozen=True)
class Body:
    """What a request carries."""

    kind: Any = None
    """The type whose JSON it is, or a tuple of alternative types; None for anything else."""
    media: Collection[str] = (MEDIA["json"],)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """What is done for one method at one address."""

    method: str
    path: str
    """As Starlette has it: ``{code:path}`` may hold slashes."""
    handler: Handler
    """Takes a request and, if it has a parameter of this name, the `query`. Answers with a Response or with what
    becomes one as JSON, or raises Refused."""
    told: str
    """What it is for."""
    query: type[Struct] | Mapping[str, type[Struct]] | None
    """What may be asked in the address behind the question mark; by the slug of a game, where it depends on the game of
    the ``{deal}`` in the address."""
    body: Body | None
    headers: Mapping[str, str]
    """The headers that it looks at, and what they are for."""
    answers: Collection[Answer]
    refuses: Collection[str]
    """The codes with which it refuses, beside those of EVERYWHERE."""
    pages: bool
    """Whether a browser gets its refusals as a page."""
    cost: int
    """The request tokens that a request takes from its address; one token pays for about 0.5 ms of CPU time."""

    @property
    def tag(self) -> str:
        """The name of the resource, which is that of its module."""
        return self.handler.__module__.rpartition(".")[2]

    @property
    def tag_told(self) -> str:
        """What the resource is, in its module's own words."""
        return (sys.modules[self.handler.__module__].__doc__ or "").partition("\n")[0]

    @property
    def takes_query(self) -> bool:
        """Whether the handler is given the query; otherwise it looks at the request itself."""
        return "query" in self.handler.__annotations__

    async def answer(self, request: Request) -> Response:
        """The answer to a request for it."""
        query = {"query": asked(request, self.query)} if isinstance(self.query, type) and self.takes_query else {}
        told = await self.handler(request, **query)
        return told if isinstance(told, Response) else json_response(told)


def at(
    method: str,
    path: str,
    *answers: Answer,
    query: type[Struct] | Mapping[str, type[Struct]] | None = None,
    body: Body | None = None,
    headers: Mapping[str, str] | None = None,
    refuses: Collection[str] = (),
    pages: bool = False,
    cost: int = 1,
) -> Callable[[H], H]:
    """Declares what a method of a resource does; the arguments are the fields of Endpoint, and its docstring is `told`.

    If there are no `answers`, it is the JSON of what the handler returns, and if there is no `query`, it is the type of
    its parameter of that name: both by its annotations.
    """

    def declared(handler: H) -> H:
        hints = get_type_hints(handler, include_extras=True)
        endpoint = Endpoint(
            method=method,
            path=path,
            handler=handler,
            told=" ".join((handler.__doc__ or "").split()),
            query=query or hints.get("query"),
            body=body,
            headers=headers or {},
            answers=answers or (Answer(kind=hints["return"]),),
            refuses=refuses,
            pages=pages,
            cost=cost,
        )
        handler.__dict__.setdefault("endpoints", []).insert(0, endpoint)  # the last one in the file comes first
        return handler

    return declared


def endpoints(resource: object) -> list[Endpoint]:
    """The endpoints of a resource, in the order in which it declares them."""
    return [
        replace(endpoint, handler=MethodType(endpoint.handler, resource))
        for method in vars(type(resource)).values()
        for endpoint in getattr(method, "endpoints", ())
    ]


def routes(declared: Iterable[Endpoint], requests: RateLimit) -> list[BaseRoute]:
    """The routes of endpoints. Those at one address have to follow each other.

    Each request takes what its endpoint costs from `requests`, beyond the token that was taken on admission.
    """
    return [_route(path, list(there), requests) for path, there in groupby(declared, lambda endpoint: endpoint.path)]


def _route(path: str, there: list[Endpoint], requests: RateLimit) -> Route:
    by_method = {endpoint.method: endpoint for endpoint in there}

    async def answer(request: Request) -> Response:
        endpoint = by_method["GET" if request.method == "HEAD" else request.method]
        if endpoint.cost > 1:
            await asyncio.sleep(requests.take(request.client.host if request.client else "", endpoint.cost - 1))
        return await endpoint.answer(request)

    return Route(path, answer, methods=list(by_method))
