"""The WebSocket endpoint: accepts connections within their limits, and runs a session for each."""

import asyncio
from collections.abc import Collection

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from samedeal.codec import Form
from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal.wire.decoding import SUBPROTOCOLS
from samedeal_server.live.registry import RACE_ID, Registry
from samedeal_server.live.rematches import Rematches
from samedeal_server.net import metrics
from samedeal_server.net.limits import Count, RateLimits
from samedeal_server.net.request_log import ENDPOINT, REQUEST_ID
from samedeal_server.net.requests import bearer_token, route_path
from samedeal_server.net.responses import problem_response
from samedeal_server.net.websocket_connection import CONNECTION
from samedeal_server.settings import Settings
from samedeal_server.socket.outbox import Socket
from samedeal_server.socket.session import Session, SessionServices
from samedeal_server.store.guest_tokens import Guests

MAX_ENTERING = 24
"""How many sessions may handle a hello at once, and how many a join or watch. The rest of the store's capacity is for
moves."""


class WebSocketEndpoint:
    """An ASGI application. Messages bypass Starlette's middleware."""

    def __init__(
        self,
        registry: Registry,
        rematches: Rematches,
        guests: Guests,
        rate_limits: RateLimits,
        connections: Count,
        settings: Settings,
    ) -> None:
        into_races = asyncio.Semaphore(MAX_ENTERING)
        entry_slots: dict[type, asyncio.Semaphore]
        entry_slots = {m.Hello: asyncio.Semaphore(MAX_ENTERING), m.Join: into_races, m.Watch: into_races}
        self._services = SessionServices(registry, rematches, guests, rate_limits, settings, entry_slots)
        self._connections = connections
        self._sessions = set[Session]()

    def close_revoked(self, token_digests: Collection[str]) -> None:
        """Close the connections that use revoked tokens."""
        for session in self._sessions:
            session.revoke(token_digests)

    def expel(self, why: Refused, subject: str, *, resigns: bool) -> None:
        """Close the connections of the clients that a subject means. The arguments are those of ``Session.expel``."""
        for session in self._sessions:
            session.expel(why, subject, resigns=resigns)

    def seat_count(self) -> int:
        """Return how many connections have a seat."""
        return sum(not session.is_watching for session in self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ENDPOINT] = "GET /ws"
        connection: Socket = scope["extensions"][CONNECTION]
        socket = WebSocket(scope, receive, send)
        address = socket.client.host if socket.client else ""
        offered: list[str] = scope.get("subprotocols", [])
        subprotocol = next((name for name in SUBPROTOCOLS if name in offered), None)
        try:
            self._services.registry.check_open()
            path = route_path(scope)
            if path != "/ws" and not RACE_ID.fullmatch(path.removeprefix("/ws/")):
                raise Refused("bad-request", "The URL is /ws, or /ws/ and the name of a race.")
            if offered and subprotocol is None:
                raise Refused("unsupported-version", f"Supported subprotocols: {', '.join(SUBPROTOCOLS)}.")
            uncount = self._connections.add(address)
        except Refused as refused:
            return await socket.send_denial_response(problem_response(refused))
        try:
            await socket.accept(subprotocol)
            bearer = bearer_token(HTTPConnection(scope))
            scope["headers"] = []  # they would take 1 KiB of memory
            await self._serve(socket, connection, SUBPROTOCOLS[subprotocol] if subprotocol else "json", bearer)
        finally:
            uncount()

    async def _serve(self, socket: WebSocket, connection: Socket, form: Form, bearer: str | None) -> None:
        session = Session(
            connection,
            form,
            self._services,
            address=socket.client.host if socket.client else "",
            request_id=socket.scope.get(REQUEST_ID, ""),
            bearer=bearer,
        )
        self._sessions.add(session)
        with metrics.Connected() as connected:
            try:
                connected.code = await session.run()
            finally:
                self._sessions.discard(session)
