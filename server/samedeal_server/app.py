"""The ASGI application: creates and connects all parts, and converts refusals to responses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from samedeal.errors import Refused
from samedeal_server.api.administration import Administration, admin_check
from samedeal_server.api.admission import Admission, delay_refusal
from samedeal_server.api.analysis import Analyses
from samedeal_server.api.challenges import ChallengeEndpoints
from samedeal_server.api.clubs import ClubEndpoints
from samedeal_server.api.daily import DailyDeals
from samedeal_server.api.documents import Documents
from samedeal_server.api.endpoint import CREDENTIAL, HTML_REFUSALS, endpoints, starlette_routes
from samedeal_server.api.events import Events
from samedeal_server.api.games import Games
from samedeal_server.api.guests import Devices
from samedeal_server.api.page import Page
from samedeal_server.api.page_files import PageFiles
from samedeal_server.api.par import ParOfDeals
from samedeal_server.api.players import PlayerScores
from samedeal_server.api.races import Races
from samedeal_server.api.replays import Replays
from samedeal_server.api.reports import PlayerReports
from samedeal_server.api.service import Service
from samedeal_server.api.sharing import Sharing
from samedeal_server.api.verification import Verifications
from samedeal_server.live.analyses import AnalysisService
from samedeal_server.live.challenges import Challenges
from samedeal_server.live.clubs import Clubs
from samedeal_server.live.dailies import Dailies
from samedeal_server.live.opening import Quotas
from samedeal_server.live.pars import ParService
from samedeal_server.live.player_records import Players
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematches import Rematches
from samedeal_server.net import metrics
from samedeal_server.net.limits import Count, RateLimits
from samedeal_server.net.request_log import RequestLog
from samedeal_server.net.requests import add_root_path, route_path
from samedeal_server.net.responses import json_response, problem_response
from samedeal_server.net.supervised import cancelled, supervised
from samedeal_server.settings import Keys, Settings
from samedeal_server.socket.websocket_endpoint import WebSocketEndpoint
from samedeal_server.store.admin_log import FOLLOW_EVERY_S, AdminLog, Logged, expulsion
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.clock import Clock
from samedeal_server.store.cluster import store_at
from samedeal_server.store.embedded import diagnosis
from samedeal_server.store.erasure import Erasure
from samedeal_server.store.group_commits import GroupCommits
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.login_codes import LoginCodes
from samedeal_server.store.player_reports import Reports
from samedeal_server.store.race_store import RaceStore
from samedeal_server.store.refused_names import RefusedNames
from samedeal_server.store.revocations import Revocations
from samedeal_server.work.stored_results import InProgress, StoredResults

NO_UPGRADE: Final = (
    "This URL is for WebSockets, but the request is not a WebSocket handshake. If a client of this server sent it, a"
    " proxy removed its Upgrade header: configure the proxy to forward WebSockets."
)
RETRY_S: Final = 0.2
"""How soon revoked tokens are read again after an error of the store."""

ANALYSIS_CPU_S: Final = 300
"""About twenty times what the analysis of a race takes."""
MEASURE_STORE_EVERY_S: Final = 60.0
PREPARE_EVERY_S: Final = 1.0
"""How often the server looks for new deals whose search for a winning line takes long."""


class Application(Starlette):
    """The HTTP application. WebSockets go directly to their endpoint, without middleware."""

    def __init__(
        self,
        request_log: RequestLog,
        admission: Admission,
        ws_endpoint: WebSocketEndpoint,
        root_path: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.router.redirect_slashes = False  # redirects would trust the Host header
        self._request_log, self._admission = request_log, admission
        self._ws_endpoint, self._root_path = ws_endpoint, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
            return
        if self._root_path:
            add_root_path(scope, self._root_path)
        await self._request_log(partial(self._admission, self._serve), scope, receive, send)

    async def serve_admin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that arrived on the admin socket, which only the server's user can open, without limits."""
        await super().__call__({**scope, CREDENTIAL: "socket"}, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not f"{route_path(scope)}/".startswith("/ws/"):
            await super().__call__(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._ws_endpoint(scope, receive, send)
        else:
            response = problem_response(Refused("unsupported-version", NO_UPGRADE))
            response.headers["Upgrade"] = "websocket"
            await response(scope, receive, send)


def create_app(settings: Settings, redis_url: str, keys: Keys) -> Application:
    """Create the application for a store that passed `check_store`.

    Calling `state.drain` refuses new players. `state.documented` has all endpoints except those for administrators. The
    endpoints find their `state.guests`, `state.renderings` and `state.settings`.
    """
    store = store_at(redis_url, diagnosis(settings.data_dir, redis_url))
    vital = store.sibling()  # a busy store delays neither health checks nor bans
    clock = Clock(store)
    admin_log = AdminLog(vital, clock, keys.master)
    archive = Archive(store, keys.signing, settings.replay_days, admin_log.hidden)
    live = LiveRaces(store, admin_log.hidden, admin_log.closed)
    races = RaceStore(RaceLog(GroupCommits(store)), archive, live, clock, Announcements(store), admin_log.closed)
    rate_limits = RateLimits(settings)
    registry = Registry(
        races,
        keys.master,
        rate_limits.requests,
        ready_s=settings.ready_seconds,
        open_races=settings.open_races,
    )
    dailies = Dailies(registry.fields, clock, registry.deal_finder, keys.master)
    check_name = RefusedNames(settings.refused_names).check
    guests = Guests(store, settings.guest_days, admin_log.bans, check_name, rate_limits.requests.remember)
    renderings = registry.renderings
    queues = [
        StoredResults(store),
        StoredResults(store, ANALYSIS_CPU_S, queue="analysis"),
    ]  # par must not wait for long searches
    pars, analyses = ParService(queues[0], registry), AnalysisService(queues[1], registry, settings.replay_days)
    verifications = Verifications(archive)
    quotas = Quotas(registry.opener, rate_limits, settings)
    rematches, challenges = Rematches(registry, quotas), Challenges(registry, quotas, keys.signing)
    page_files = PageFiles()
    codes, revocations = LoginCodes(store, guests), Revocations(vital)
    reports = Reports(store, clock)
    connections = Count(
        "connections_per_address", settings.connections_per_address, "Too many connections from this address."
    )
    ws_endpoint = WebSocketEndpoint(registry, rematches, guests, rate_limits, connections, settings)

    def take_effect(entry: Logged) -> None:
        """Do what this process has to do for an entry of the admin log."""
        match entry.command:
            case "kick" | "ban":
                ws_endpoint.expel(expulsion(entry), entry.subject, resigns=entry.command == "ban")
            case "close":
                registry.wake(entry.subject)
            case "erased":
                registry.forget_player(entry.subject)

    admin_log.listeners.append(take_effect)

    async def close_revoked() -> None:
        try:
            revoked = await revocations.news()
            rate_limits.requests.forget(revoked)
            ws_endpoint.close_revoked(revoked)
        except Refused:  # the store is unavailable, so nobody can play
            await asyncio.sleep(RETRY_S)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await registry.start()
        await admin_log.update()
        loops: list[tuple[str, Callable[[], Awaitable[None]], float]] = [
            ("following the admin log", admin_log.update, FOLLOW_EVERY_S),
            ("closing connections of revoked tokens", close_revoked, 0.0),
        ]
        if settings.search_ahead == "on":
            loops.append(("searching dealt deals", analyses.prepare, PREPARE_EVERY_S))
        if settings.metrics == "on":
            loops.append(("measuring the store", vital.measure, MEASURE_STORE_EVERY_S))
            loops.append(("sampling metrics", lambda: metrics.watch(registry.races, ws_endpoint.seat_count), 1.0))
        tasks = [asyncio.create_task(supervised(*each)) for each in loops]
        yield
        await cancelled(tasks)
        await asyncio.gather(analyses.stop(), *(queue.stop() for queue in queues))
        await verifications.jobs.stop()
        await registry.stop()
        await asyncio.gather(store.close(), vital.close())

    page = Page(registry, challenges, settings, page_files)

    async def http_exception(request: Request, error: HTTPException) -> Response:
        if error.status_code != 404:
            return _http_exception(error)
        return _without_slash(request) or page.not_found(request)

    async def refusal(request: Request, refused: Refused) -> Response:
        await delay_refusal(refused, request.receive)
        return page.refused(request, refused) if request.scope.get(HTML_REFUSALS) else problem_response(refused)

    resources = (
        Games(),
        Devices(guests, codes, revocations, renderings.jobs, rate_limits),
        Races(registry, rematches, challenges, quotas),
        ChallengeEndpoints(challenges),
        ClubEndpoints(Clubs(registry, check_name, keys.signing)),
        Events(registry, connections),
        Replays(registry),
        ParOfDeals(pars, registry, keys.signing),
        Analyses(analyses, registry, keys.signing),
        Sharing(registry, pars, analyses),
        DailyDeals(dailies),
        PlayerScores(Players(archive, clock)),
        PlayerReports(reports, registry),
        verifications,
        Service(registry, settings, vital),
        page,
        Documents(settings),
    )
    declared = [endpoint for resource in resources for endpoint in endpoints(resource)]
    erasure = Erasure(store, archive, guests, revocations, reports, registry.clubs)
    administration = endpoints(Administration(admin_log, registry, guests, revocations, reports, erasure))
    exception_handlers: dict[Any, Any] = {
        Refused: refusal,
        InProgress: _in_progress,
        HTTPException: http_exception,
        ClientDisconnect: _client_disconnected,
        Exception: _internal_error,
    }
    app = Application(
        RequestLog(settings),
        Admission(rate_limits, settings, admin_log.bans, page_files.is_current),
        ws_endpoint,
        settings.root_path,
        routes=[
            *starlette_routes(declared),
            *starlette_routes(administration, admin_check(rate_limits, settings)),
            page_files.route(),
        ],
        exception_handlers=exception_handlers,
        lifespan=lifespan,
    )
    app.state.guests, app.state.renderings, app.state.settings = guests, renderings, settings
    app.state.drain = registry.drain
    app.state.documented = declared
    return app


async def _in_progress(request: Request, computing: InProgress) -> Response:
    return json_response(computing.progress, 202, {"Retry-After": "1"})


def _without_slash(request: Request) -> Response | None:
    """Return a redirect to the same path without slashes at its end, if it has any."""
    path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
    if not path.strip("/") or not path.endswith("/"):
        return None
    target = f"/{quote(path.strip('/'))}"  # exactly one slash: what follows two is a host
    return RedirectResponse(f"{target}?{query}" if query else target)


def _http_exception(error: HTTPException) -> Response:
    response = problem_response(Refused("wrong-method" if error.status_code == 405 else "bad-request"))
    response.headers.update(error.headers or {})
    return response


async def _client_disconnected(request: Request, error: Exception) -> Response:
    return problem_response(Refused("bad-request"))  # never received, but not an internal error


async def _internal_error(request: Request, error: Exception) -> Response:
    return problem_response(Refused("internal"))  # the request log has the error
