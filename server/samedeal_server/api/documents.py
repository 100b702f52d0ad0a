"""The API documents: OpenAPI, AsyncAPI and a page that shows both."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from msgspec import json
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from samedeal_server.api.asyncapi import CHANNEL, asyncapi
from samedeal_server.api.docs_page import docs_page
from samedeal_server.api.endpoint import Endpoint, ResponseSpec, endpoints, route
from samedeal_server.api.openapi import openapi
from samedeal_server.api.page_files import HEADERS
from samedeal_server.net.requests import base_url
from samedeal_server.net.responses import MEDIA, PAGE
from samedeal_server.net.root_path import below_root_path
from samedeal_server.settings import Settings


class Documents:
    """The endpoints that describe all endpoints, including themselves."""

    def __init__(self, others: Sequence[Endpoint], settings: Settings) -> None:
        self._endpoints = [*others, *endpoints(self)]
        self._settings = settings
        self._lock = asyncio.Lock()

    @cached_property
    def documents(self) -> tuple[bytes, dict[str, Any], str]:
        """The OpenAPI document as JSON, the AsyncAPI document without servers, and the page."""
        http, socket, root_path = openapi(self._endpoints), asyncapi(), self._settings.root_path
        servers = {"servers": [{"url": root_path}]} if root_path else {}
        return json.encode(http | servers), socket, below_root_path(docs_page(http, socket, CHANNEL), root_path)

    @route("GET", "/openapi.json", ResponseSpec(media=(MEDIA["json"],)), cost=10)
    async def openapi(self, request: Request) -> Response:
        """Describe the HTTP API in OpenAPI 3.1."""
        http, _, _ = await self._build()
        return Response(http, media_type=MEDIA["json"])

    @route("GET", "/asyncapi.json", ResponseSpec(media=(MEDIA["json"],)), cost=10)
    async def asyncapi(self, request: Request) -> Response:
        """Describe the WebSocket API in AsyncAPI 3."""
        _, socket, _ = await self._build()
        base = urlsplit(base_url(request, self._settings))
        here = {"host": base.netloc, "pathname": base.path, "protocol": "wss" if base.scheme == "https" else "ws"}
        return Response(json.encode({**socket, "servers": {"here": here}}), media_type=MEDIA["json"])

    @route("GET", "/docs", ResponseSpec(media=(PAGE,)), cost=10)
    async def docs(self, request: Request) -> Response:
        """Show both documents as a page."""
        _, _, page = await self._build()
        return HTMLResponse(page, headers=HEADERS)

    async def _build(self) -> tuple[bytes, dict[str, Any], str]:
        """Return the documents, built in a thread by the first request."""
        if "documents" not in vars(self):
            async with self._lock:
                await asyncio.to_thread(lambda: self.documents)
        return self.documents
