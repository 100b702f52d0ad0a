"""The interface itself over HTTP: its OpenAPI and AsyncAPI documents, and both as a page to read."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from msgspec import json
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from samedeal_server.access.network import base_of
from samedeal_server.http.asyncapi import CHANNEL, asyncapi
from samedeal_server.http.docs_page import docs_page
from samedeal_server.http.endpoint import Answer, Endpoint, at, endpoints
from samedeal_server.http.openapi import openapi
from samedeal_server.http.page import HEADERS
from samedeal_server.http.responses import MEDIA, PAGE
from samedeal_server.settings import Settings


class Documents:
    """The endpoints that tell of all endpoints, themselves included."""

    def __init__(self, others: Sequence[Endpoint], settings: Settings) -> None:
        self._endpoints = [*others, *endpoints(self)]
        self._settings = settings
        self._building = asyncio.Lock()

    @cached_property
    def built(self) -> tuple[bytes, dict[str, Any], str]:
        """The OpenAPI document as JSON, the AsyncAPI document without its servers, and the page."""
        http, socket = openapi(self._endpoints), asyncapi()
        return json.encode(http), socket, docs_page(http, socket, CHANNEL)

    @at("GET", "/openapi.json", Answer(media=(MEDIA["json"],)), cost=10)
    async def openapi(self, request: Request) -> Response:
        """Everything over HTTP, as OpenAPI 3.1 has it."""
        http, _, _ = await self._told()
        return Response(http, media_type=MEDIA["json"])

    @at("GET", "/asyncapi.json", Answer(media=(MEDIA["json"],)), cost=10)
    async def asyncapi(self, request: Request) -> Response:
        """Everything over the socket, as AsyncAPI 3 has it."""
        _, socket, _ = await self._told()
        base = urlsplit(base_of(request, self._settings))
        here = {"host": base.netloc, "pathname": base.path, "protocol": "wss" if base.scheme == "https" else "ws"}
        return Response(json.encode({**socket, "servers": {"here": here}}), media_type=MEDIA["json"])

    @at("GET", "/docs", Answer(media=(PAGE,)), cost=10)
    async def docs(self, request: Request) -> Response:
        """Both documents as a page to read."""
        _, _, page = await self._told()
        return HTMLResponse(page, headers=HEADERS)

    async def _told(self) -> tuple[bytes, dict[str, Any], str]:
        """What is built, once, in a thread since it takes a while, when it is first requested."""
        if "built" not in vars(self):
            async with self._building:
                await asyncio.to_thread(lambda: self.built)
        return self.built
