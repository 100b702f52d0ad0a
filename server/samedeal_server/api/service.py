"""The service: public information, health checks, metrics and descriptions of problems."""

from collections.abc import Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from samedeal.errors import CODES, Refused
from samedeal.replays.replay import MAX_BYTES
from samedeal.wire.decoding import SUBPROTOCOLS
from samedeal_server.addresses import is_forwarded
from samedeal_server.api.endpoint import STORE_REFUSALS, ResponseSpec, route
from samedeal_server.live.presence import AWAY_S
from samedeal_server.live.registry import Registry
from samedeal_server.net import metrics
from samedeal_server.net.limits import BURST_S, MESSAGE_BYTES, REQUEST_S
from samedeal_server.net.responses import PROGRAM, TEXT
from samedeal_server.settings import Settings
from samedeal_server.store.connection import Store
from samedeal_server.store.signing_keys import PublicKey


class Limits(Struct, frozen=True):
    """Limits for clients."""

    message_bytes: int
    rate: float
    burst: int
    connections_per_address: int
    hello_timeout_ms: int
    away_seconds: float
    """How long a seat is reserved before the countdown after its racer disconnects."""
    ready_seconds: float
    """How long racers have to get ready once two others are, before their seats are released; 0 for no limit."""
    replay_bytes: int
    """The largest replay that can be verified."""


class WellKnown(Struct, frozen=True):
    """Public information about a server."""

    server: str
    subprotocols: tuple[str, ...]
    limits: Limits
    keys: Sequence[PublicKey]
    """All public keys that replays of this service were ever signed with, newest first."""
    time: int
    """The current time, in milliseconds since 1970-01-01 UTC."""


class Service:
    """The endpoints of the server itself."""

    def __init__(self, registry: Registry, settings: Settings, store: Store) -> None:
        self._registry, self._settings, self._store = registry, settings, store

    @route("GET", "/.well-known/samedeal", refuses=STORE_REFUSALS)
    async def info(self) -> WellKnown:
        """Return public information: the server's version, its limits and the keys that sign replays."""
        settings = self._settings
        limits = Limits(
            message_bytes=MESSAGE_BYTES,
            rate=settings.rate,
            burst=round(BURST_S * settings.rate),
            connections_per_address=settings.connections_per_address,
            hello_timeout_ms=round(1000 * REQUEST_S),
            away_seconds=AWAY_S,
            ready_seconds=settings.ready_seconds,
            replay_bytes=MAX_BYTES,
        )
        keys = await self._registry.archive.signing_keys.published()
        return WellKnown(PROGRAM, tuple(SUBPROTOCOLS), limits, keys, self._registry.clock.now())

    @route("GET", "/healthz", ResponseSpec(media=(TEXT,)))
    async def healthz(self) -> Response:
        """Return whether the process is alive."""
        return PlainTextResponse("ok\n")

    @route("GET", "/readyz", ResponseSpec(media=(TEXT,)), refuses=("draining", *STORE_REFUSALS))
    async def readyz(self) -> Response:
        """Return whether the server can serve races."""
        self._registry.check_open()
        await self._store.check()
        return PlainTextResponse("ready\n")

    @route("GET", "/metrics", ResponseSpec(media=(metrics.CONTENT_TYPE,)), refuses=("not-found",), cost=5)
    async def export_metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus, if they are enabled, but not through a proxy."""
        if self._settings.metrics == "off" or is_forwarded(request.scope):
            raise Refused("not-found", "Not found.")
        return Response(metrics.text(), media_type=metrics.CONTENT_TYPE)

    @route("GET", "/problems/{problem}", ResponseSpec(media=(TEXT,)), refuses=("not-found",))
    async def problem(self, problem: str) -> Response:
        """Describe the code of a problem."""
        if problem not in CODES:
            raise Refused("not-found", "Unknown problem code.")
        status, title = CODES[problem]
        return PlainTextResponse(f"{problem} ({status}): {title}.\n")
