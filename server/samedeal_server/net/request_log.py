"""Requests: an id for each, the origins that may read the response, metrics, the access log, and failures."""

import logging
import re
import time
from secrets import token_hex
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected

from samedeal_server.net import metrics
from samedeal_server.net.logs import ACCESS_LOG, about_request
from samedeal_server.settings import Settings

logger = logging.getLogger(__name__)
access_logger = logging.getLogger(ACCESS_LOG)

ENDPOINT: Final = "samedeal.endpoint"
"""The key in the ASGI scope for the method and path of the endpoint that serves the request, as it is declared."""
REQUEST_ID: Final = "samedeal.request_id"
"""The key in the ASGI scope for the id of the request."""
OTHER: Final = "other"
"""The path of requests that reach no endpoint, in metrics and in the access log."""
HEADER: Final = "X-Request-ID"
_ID: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_STARTS: Final = frozenset({"http.response.start", "websocket.http.response.start", "websocket.accept"})


class RequestLog:
    """Gives each request an id, which the response contains, and records how it was served.

    Any origin may read the responses to GET requests. They say so to every client, so that they can be cached. Unless
    they say for how long, they are not stored: on the way back to a page, browsers would show the race as it was.
    """

    def __init__(self, settings: Settings) -> None:
        self._proxies, self._logs_access = settings.trusted_proxies, settings.access_log == "on"

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or WebSocket with the application."""
        request_id = scope[REQUEST_ID] = self._id(scope)
        started, status, waited_s = time.perf_counter(), 0, 0.0

        async def send_with_id(message: Message) -> None:
            nonlocal status, waited_s
            if message["type"] in _STARTS:
                status, waited_s = message.get("status", 101), time.perf_counter() - started
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                headers[HEADER] = request_id
                if scope.get("method") in ("GET", "HEAD"):
                    headers["Access-Control-Allow-Origin"] = "*"
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await app(scope, receive, send_with_id)
        except ClientDisconnected:
            raise
        except Exception:
            logger.exception("a request failed", extra=_about(scope))
            raise
        finally:
            endpoint: str = scope.get(ENDPOINT, OTHER)
            metrics.REQUESTS.labels(endpoint, f"{status or 'none'}").inc()
            if 200 <= status < 400:
                metrics.REQUEST_SECONDS.labels(endpoint).observe(waited_s)
            if self._logs_access:
                served = {
                    "method": scope.get("method", "GET"),  # handshakes are GET requests
                    "path": endpoint.rpartition(" ")[2],
                    "status": status or None,
                    "duration_ms": round(1000 * (time.perf_counter() - started), 1),
                }
                access_logger.info("served a request", extra=_about(scope) | served)

    def _id(self, scope: Scope) -> str:
        """Return the id that a trusted proxy has given to the request, or a new one."""
        peer = scope.get("client")
        given = Headers(scope=scope).get(HEADER, "") if peer and self._proxies.trusts(peer[0]) else ""
        return given if _ID.fullmatch(given) else token_hex(8)


def _about(scope: Scope) -> dict[str, Any]:
    client = scope.get("client")
    return about_request(scope[REQUEST_ID], client[0] if client else None)
