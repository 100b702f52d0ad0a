"""The service over HTTP: whether it lives, what everybody may know of it, what its problems mean, its metrics."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from samedeal.errors import CODES, Refused
from samedeal_server.http.endpoint import Answer, at
from samedeal_server.http.responses import TEXT
from samedeal_server.http.well_known import PATH, WellKnown, well_known
from samedeal_server.ops import metrics
from samedeal_server.races.registry import Registry
from samedeal_server.settings import Settings


class Service:
    """The endpoints about the server itself."""

    def __init__(self, registry: Registry, settings: Settings, ready: Callable[[], Awaitable[None]]) -> None:
        """`ready` raises Refused while the server cannot do its work."""
        self._registry, self._settings, self._ready = registry, settings, ready

    @at("GET", PATH, refuses=("store-unavailable",))
    async def known(self, request: Request) -> WellKnown:
        """What everybody may know of the server: its limits, and the keys that replays are signed with."""
        return well_known(
            self._settings, await self._registry.archive.signing_keys.published(), self._registry.clock.now()
        )

    @at("GET", "/healthz", Answer(media=(TEXT,)))
    async def healthz(self, request: Request) -> Response:
        """Whether the server lives."""
        return PlainTextResponse("ok\n")

    @at("GET", "/readyz", Answer(media=(TEXT,)), refuses=("draining", "store-unavailable"))
    async def readyz(self, request: Request) -> Response:
        """Whether the server can do its work."""
        await self._ready()
        return PlainTextResponse("ready\n")

    @at("GET", "/metrics", Answer(media=(metrics.CONTENT_TYPE,)), refuses=("not-found",), cost=2)
    async def measured(self, request: Request) -> Response:
        """What the process counts of itself, for Prometheus; not there where metrics are off."""
        if self._settings.metrics == "off":
            raise Refused("not-found", "There is nothing at this address.")
        return Response(metrics.text(), media_type=metrics.CONTENT_TYPE)

    @at("GET", "/problems/{problem}", Answer(media=(TEXT,)), refuses=("not-found",))
    async def problem(self, request: Request) -> Response:
        """What the code of a problem means."""
        code = request.path_params["problem"]
        if code not in CODES:
            raise Refused("not-found", "There is no such problem.")
        status, title = CODES[code]
        return PlainTextResponse(f"{code} ({status}): {title}.\n")
