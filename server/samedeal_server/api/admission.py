"""Admission: limits that every request and handshake passes before any work is done for it."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from random import uniform
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from samedeal.errors import Refused
from samedeal_server.addresses import is_forwarded, is_private, network
from samedeal_server.api.administration import ADMIN
from samedeal_server.net.limits import REFUSAL_DELAY_S, TAKE, Count, RateLimits, Turns
from samedeal_server.net.requests import bearer_token, route_path, wait_for_disconnect
from samedeal_server.net.responses import problem_response
from samedeal_server.settings import Settings
from samedeal_server.store.bans import Bans
from samedeal_server.store.guest_tokens import digest

HEALTH_CHECKS: Final = ("/healthz", "/readyz")
"""Paths that are answered at once for private addresses: a proxy that gets no answer disconnects all clients."""
HANDSHAKE_COST: Final = 5
"""The request tokens of a WebSocket handshake. Other requests take one, plus the cost of their endpoint."""
LONG_PASS_S: Final = 0.001
"""How long a pass of the event loop may take before requests make room for moves."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing, which pages of any origin may use."""


class Admission:
    """Identifies the client of each request and enforces the limits of each client."""

    def __init__(
        self,
        rate_limits: RateLimits,
        settings: Settings,
        bans: Bans | None = None,
        is_file: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`is_file` returns whether a path is that of a current file of the page."""
        self._requests, self._files = rate_limits.requests, rate_limits.files
        self._settings, self._is_file = settings, is_file
        self._in_progress = Count(
            "http_connections_per_address",
            settings.http_connections_per_address,
            "Too many requests in progress from this address.",
        )
        self._starts, self._bans = Turns(queue="requests"), bans or Bans()

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection with the application, or refuse it."""
        path = route_path(scope) if scope.get("method") in ("GET", "HEAD") else ""
        if path in HEALTH_CHECKS and not is_forwarded(scope) and is_private(scope["client"][0]):
            await app(scope, receive, send)
            return
        self._settings.trusted_proxies.resolve(scope)
        host: str = scope["client"][0] if scope.get("client") else ""
        token, is_http = bearer_token(HTTPConnection(scope)), scope["type"] == "http"
        # Administrators can always lift a ban, also of their own address: they need the key, and can try few.
        is_admin = is_http and route_path(scope).startswith(f"{ADMIN}/")
        take = scope[TAKE] = partial(self._requests.take, host, digest(token) if token else "")
        try:
            uncount = self._in_progress.add(host) if is_http else lambda: None
        except Refused as refused:
            await problem_response(refused)(scope, receive, send)
            return
        try:
            delay_s = self._files.take(host) if self._is_file(path) else take(1 if is_http else HANDSHAKE_COST)
            if not is_admin:
                self._bans.check_address(host)
            check_origin(scope, self._settings.public_url)
        except Refused as refused:
            if is_http:
                await delay_refusal(refused, receive)
            await problem_response(refused)(scope, receive, send)
        else:
            await self._start(host, delay_s)
            await app(scope, receive, send)
        finally:
            uncount()

    async def _start(self, host: str, delay_s: float) -> None:
        """Wait until a request may start: after its delay, one per pass of the event loop, clients in rotation.

        After a long pass, nothing starts for as long again, so that moves are served in between, however many requests
        arrive at once.
        """
        await asyncio.sleep(delay_s)
        now_s = asyncio.get_running_loop().time
        with self._starts.place(network(host)) as place:
            async with place.turn():
                began_s = now_s()
                await asyncio.sleep(0)
                if (took_s := now_s() - began_s) > LONG_PASS_S:
                    await asyncio.sleep(took_s)


async def delay_refusal(refused: Refused, receive: Receive) -> None:
    """Delay a refusal by a rate limit, unless the client disconnects."""
    if refused.retry_after_s is None:
        return
    try:
        async with asyncio.timeout(uniform(*REFUSAL_DELAY_S)):  # noqa: S311 - not a secret
            await wait_for_disconnect(receive)
    except TimeoutError:
        pass


def check_origin(scope: Scope, public_url: str | None) -> None:
    """Accept handshakes and unsafe methods only from pages of this server and from programs.

    The origin of this server is that of the public URL (from ``normal_url``), or the URL of the request if its host is
    safe from DNS rebinding. Programs do not send `Origin`. Raises Refused("foreign-page").
    """
    if scope["type"] == "http" and scope["method"] in SAFE_METHODS:
        return
    headers = Headers(scope=scope)
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None or (public_url and origin == "/".join(public_url.split("/")[:3])):
        return
    if origin not in (f"http://{host}", f"https://{host}") or not _is_local(host):
        text = f"Pages of {origin} may use this server only if that is its public URL (SAMEDEAL_PUBLIC_URL)."
        raise Refused("foreign-page", text)


def _is_local(host: str) -> bool:
    """Return whether a host (with or without a port) is an IP address or local name, which has no public DNS record."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if not name or "." not in name or name.endswith((".localhost", ".local")) or name == socket.gethostname().lower():
        return bool(name)
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
