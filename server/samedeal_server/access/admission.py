"""Admission: limits that every request and handshake passes before any work is done for it."""

import asyncio
from random import uniform
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from samedeal.errors import Refused
from samedeal_server.access.limits import Count, RateLimits, Turns
from samedeal_server.access.network import network
from samedeal_server.access.origins import check_origin
from samedeal_server.http.requests import wait_for_disconnect
from samedeal_server.http.responses import problem_response
from samedeal_server.settings import Settings
from samedeal_server.store.bans import Bans

HANDSHAKE_COST: Final = 5
"""The request tokens of a WebSocket handshake. Other requests take one, plus the cost of their endpoint."""
REFUSAL_DELAY_S: Final = (0.5, 1.5)
"""The range of the random delay of a refusal by a rate limit. Slows down clients that retry in a loop, and spreads the
requests of many connections over time."""


class Admission:
    """Identifies the client of each request and enforces the limits of each client."""

    def __init__(self, rate_limits: RateLimits, settings: Settings, bans: Bans | None = None) -> None:
        self._requests, self._settings = rate_limits.requests, settings
        self._in_progress = Count(
            "http_connections_per_address",
            settings.http_connections_per_address,
            "Too many requests in progress from this address.",
        )
        self._starts, self._bans = Turns(queue="requests"), bans or Bans()

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection with the application, or refuse it."""
        self._settings.trusted_proxies.resolve(scope)
        host: str = scope["client"][0] if scope.get("client") else ""
        await self._start(network(host))
        if scope["type"] == "websocket":
            try:
                self._bans.check_address(host)
                check_origin(scope, self._settings.public_url)
                delay_s = self._requests.take(host, HANDSHAKE_COST)
            except Refused as refused:
                await WebSocket(scope, receive, send).send_denial_response(problem_response(refused))
            else:
                await asyncio.sleep(delay_s)
                await app(scope, receive, send)
            return
        try:
            uncount = self._in_progress.add(host)
        except Refused as refused:
            await problem_response(refused)(scope, receive, send)
            return
        try:
            await self._serve(app, scope, receive, send, host)
        finally:
            uncount()

    async def _start(self, client: str) -> None:
        """Wait until a request may start: one per pass of the event loop, clients in rotation.

        Moves are served in between, however many requests arrive at once.
        """
        with self._starts.place(client) as place:
            async with place.turn():
                await asyncio.sleep(0)

    async def _serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, host: str) -> None:
        try:
            delay_s = self._requests.take(host)
            self._bans.check_address(host)
            check_origin(scope, self._settings.public_url)
        except Refused as refused:
            await delay_refusal(refused, receive)
            await problem_response(refused)(scope, receive, send)
        else:
            await asyncio.sleep(delay_s)
            await app(scope, receive, send)


async def delay_refusal(refused: Refused, receive: Receive) -> None:
    """Delay a refusal by a rate limit, unless the client disconnects."""
    if refused.retry_after_s is None:
        return
    try:
        async with asyncio.timeout(uniform(*REFUSAL_DELAY_S)):  # noqa: S311 - not a secret
            await wait_for_disconnect(receive)
    except TimeoutError:
        pass
