"""Endpoints: handlers with their parameters, responses and refusals, declared once for routing and documentation.

A handler names what it needs as parameters: `request`, `query` and `body` (structs), `client` (the client's network),
`token` and `guest` (who has the token), `admin` (how an administrator is identified), `base` (the URL of the server),
`deal` (in the path, with the options of its game in the query), `render`, and other parameters of its path.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, TypeVar, get_args, get_type_hints

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from samedeal.errors import Refused
from samedeal_server.api.deal_codes import deal_of
from samedeal_server.net import metrics
from samedeal_server.net.limits import TAKE
from samedeal_server.net.request_log import ENDPOINT
from samedeal_server.net.requests import base_url, bearer_token, client_network, parse_query, read_json, while_connected
from samedeal_server.net.responses import MEDIA, json_response
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.work.process import Task
from samedeal_server.work.renderings import Renderings
from samedeal_server.work.stored_results import JobProgress

V1: Final = "/api/v1"
"""The prefix of paths for programs."""
COMMON_REFUSALS: Final = ("bad-request", "banned", "too-large", "too-many", "internal")
"""The codes with which any request can be refused, usually before it reaches a handler."""
STORE_REFUSALS: Final = ("store-unavailable",)
RACE_REFUSALS: Final = ("not-found", "unsupported-version", "withdrawn", "store-unavailable")
"""The codes with which requests about a race are refused."""
DEAL_REFUSALS: Final = ("not-found", "deal-sealed", "store-unavailable")
"""The codes with which requests about a deal are refused."""
Credential = Literal["socket", "key"]
"""How an administrator is identified."""
CREDENTIAL: Final = "samedeal.credential"
"""The name in the ASGI scope of an administrator's Credential."""
HTML_REFUSALS: Final = "samedeal.html_refusals"
"""The name in the ASGI scope of whether browsers get refusals as a page."""
HEADERS: Final = {
    "Cache-Control": "How long a copy can be used without asking whether it is current.",
    "ETag": "Identifies this content in this form.",
    "Location": "The URL of the race in this API.",
    "Retry-After": "The seconds to wait.",
    "Vary": "The headers of the request on which the form depends.",
}
"""The headers of responses besides those of every response, with their descriptions."""
BYTES_PER_TOKEN: Final = 32_768
"""How many bytes of a response can be sent for a request token."""
MAX_TOKENS: Final = 100
"""The maximum cost of a request in tokens, however large its response; also the minimum burst in the settings."""
Handler = Callable[..., Awaitable[object]]
H = TypeVar("H", bound=Handler)
Render = Callable[[Task, bytes], Awaitable[bytes]]
"""Returns a rendering for the client of a request. Cancelled when the client disconnects."""


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
    headers: Collection[str] = ()
    """The headers besides those of every response; see HEADERS. With an ETag, requests can be conditional."""


UNCHANGED: Final = ResponseSpec(304, media=(), description="The client's copy is current.")
IN_PROGRESS: Final = ResponseSpec(
    202, JobProgress, description="The computer is still working; try again later.", headers=("Retry-After",)
)
"""The response to InProgress."""


@dataclass(frozen=True)
class BodySpec:
    """The body of a request."""

    kind: Any = None
    """The type of a JSON body; None for other bodies."""
    media: Collection[str] = (MEDIA["json"],)
    max_bytes: int = 16_384
    """The maximum size of a JSON body."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The handler of one method on one path, with its documentation."""

    method: str
    path: str
    """In Starlette's syntax; ``{deal:path}`` may contain slashes."""
    handler: Handler
    """Returns a response, or the body of the first of `responses`: None, or a struct to send as JSON. Raises Refused,
    and InProgress if IN_PROGRESS is among them.
    """
    parameters: Mapping[str, Any]
    """The types of the handler's parameters."""
    body: BodySpec | None
    responses: Sequence[ResponseSpec]
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

    @property
    def query(self) -> type[Struct] | None:
        """The query parameters. Those of endpoints with a deal in the path are the options of its game."""
        return self.parameters.get("query")

    async def respond(self, request: Request) -> Response:
        """Call the handler and return its response."""
        arguments = {name: await self._argument(name, request) for name in self.parameters}
        result = await self.handler(**arguments)
        if isinstance(result, Response):
            return result
        status = self.responses[0].status
        return Response(status_code=status) if result is None else json_response(result, status)

    async def _argument(self, name: str, request: Request) -> object:
        match name:
            case "request":
                return request
            case "client":
                return client_network(request)
            case "admin":
                return request.scope[CREDENTIAL]
            case "base":
                return base_url(request)
            case "deal":
                return deal_of(request)
            case "render":
                return partial(_render, request)
            case "query" if self.query:
                return parse_query(request, self.query)
            case "body" if self.body:
                return await read_json(request, self.body.kind, self.body.max_bytes)
            case "token":
                return _token(request)
            case "guest":
                if bearer_token(request) is None and type(None) in get_args(self.parameters["guest"]):
                    return None
                guests: Guests = request.app.state.guests
                return await guests.authenticate(_token(request))
            case _:
                return request.path_params[name]


async def _render(request: Request, task: Task, question: bytes) -> bytes:
    renderings: Renderings = request.app.state.renderings
    return await while_connected(request, renderings.render(client_network(request), task, question))


def _token(request: Request) -> str:
    if token := bearer_token(request):
        return token
    raise Refused("bad-token")


def route(
    method: str,
    path: str,
    *responses: ResponseSpec,
    body: BodySpec | None = None,
    refuses: Collection[str] = (),
    html_refusals: bool = False,
    cost: int = 1,
) -> Callable[[H], H]:
    """Declare a method of a resource as an endpoint. The arguments are the fields of Endpoint.

    `responses` defaults to the annotation of the result. JSON bodies, and refusals of tokens and of pages of other
    sites, need no declaration.
    """

    def decorate(handler: H) -> H:
        parameters = get_type_hints(handler, include_extras=True)
        result = parameters.pop("return")
        implied = set[str]()
        if {"guest", "token"} & parameters.keys():
            implied.add("bad-token")
        if method == "POST":
            implied.add("foreign-page")
        unchanged = (UNCHANGED,) if any("ETag" in response.headers for response in responses) else ()
        endpoint = Endpoint(
            method=method,
            path=path,
            handler=handler,
            parameters=parameters,
            body=body or (BodySpec(parameters["body"]) if "body" in parameters else None),
            responses=(responses or (ResponseSpec(kind=result),)) + unchanged,
            refuses={*refuses, *implied},
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
    """Return the routes of endpoints, each path where it is first declared.

    Each request that passed admission takes the cost of its endpoint, minus the token that admission took, and more if
    its response is large. `check` raises Refused if the client may not use the endpoints.
    """
    by_path = defaultdict[str, list[Endpoint]](list)
    for endpoint in declared:
        by_path[endpoint.path].append(endpoint)
    return [_starlette_route(path, same, check) for path, same in by_path.items()]


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
        request.scope[HTML_REFUSALS] = endpoint.html_refusals
        response = await endpoint.respond(request)
        await take(request, min(len(getattr(response, "body", b"")) // BYTES_PER_TOKEN, MAX_TOKENS) - endpoint.cost)
        return response

    return Route(path, respond, methods=list(by_method))
