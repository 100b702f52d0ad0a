"""The service: public information, health checks, metrics and descriptions of problems."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from samedeal.errors import CODES, Refused
from samedeal_server.http.endpoint import ResponseSpec, route
from samedeal_server.http.responses import TEXT
from samedeal_server.http.well_known import PATH, WellKnown, well_known
from samedeal_server.ops import metrics
from samedeal_server.races.registry import Registry
from samedeal_server.settings import Settings


class Service:
    """The endpoints of the server itself."""

    def __init__(self, registry: Registry, settings: Settings, ready: Callable[[], Awaitable[None]]) -> None:
        """`ready` raises Refused while the server cannot serve races."""
        self._registry, self._settings, self._ready = registry, settings, ready

    @route("GET", PATH, refuses=("store-unavailable",))
    async def info(self, request: Request) -> WellKnown:
        """Return public information: the server's version, its limits and the keys that sign replays."""
        return well_known(
            self._settings, await self._registry.archive.signing_keys.published(), self._registry.clock.now()
        )

    @route("GET", "/healthz", ResponseSpec(media=(TEXT,)))
    async def healthz(self, request: Request) -> Response:
        """Return whether the process is alive."""
        return PlainTextResponse("ok\n")

    @route("GET", "/readyz", ResponseSpec(media=(TEXT,)), refuses=("draining", "store-unavailable"))
    async def readyz(self, request: Request) -> Response:
        """Return whether the server can serve races."""
        await self._ready()
        return PlainTextResponse("ready\n")

    @route("GET", "/metrics", ResponseSpec(media=(metrics.CONTENT_TYPE,)), refuses=("not-found",), cost=2)
    async def export_metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus, if they are enabled."""
        if self._settings.metrics == "off":
            raise Refused("not-found", "Not found.")
        return Response(metrics.text(), media_type=metrics.CONTENT_TYPE)

    @route("GET", "/problems/{problem}", ResponseSpec(media=(TEXT,)), refuses=("not-found",))
    async def problem(self, request: Request) -> Response:
        """Describe the code of a problem."""
        code = request.path_params["problem"]
        if code not in CODES:
            raise Refused("not-found", "Unknown problem code.")
        status, title = CODES[code]
        return PlainTextResponse(f"{code} ({status}): {title}.\n")
