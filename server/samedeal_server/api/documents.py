"""The API documents: OpenAPI, AsyncAPI and a page that shows both.

``make generate`` writes their files.
"""

from functools import cached_property
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import json
from starlette.responses import HTMLResponse, Response

from samedeal.codec import decoder
from samedeal.version import VERSION
from samedeal_server.api.endpoint import ResponseSpec, route
from samedeal_server.api.page_files import HEADERS
from samedeal_server.net.requests import below_root_path
from samedeal_server.net.responses import MEDIA, PAGE
from samedeal_server.settings import Settings

FOLDER: Final = files("samedeal_server") / "api"


class Documents:
    """The endpoints that describe all endpoints, including themselves."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @route("GET", "/openapi.json", ResponseSpec(media=(MEDIA["json"],)), cost=12)
    async def openapi(self) -> Response:
        """Describe the HTTP API in OpenAPI 3.1."""
        return Response(self._http, media_type=MEDIA["json"])

    @route("GET", "/asyncapi.json", ResponseSpec(media=(MEDIA["json"],)), cost=10)
    async def asyncapi(self, base: str) -> Response:
        """Describe the WebSocket API in AsyncAPI 3."""
        url = urlsplit(base)
        here = {"host": url.netloc, "pathname": url.path, "protocol": "wss" if url.scheme == "https" else "ws"}
        return Response(json.encode({**self._socket, "servers": {"here": here}}), media_type=MEDIA["json"])

    @route("GET", "/docs", ResponseSpec(media=(PAGE,)), cost=10)
    async def docs(self) -> Response:
        """Show both documents as a page."""
        return HTMLResponse(self._page, headers=HEADERS)

    @cached_property
    def _http(self) -> bytes:
        root_path = self._settings.root_path
        return json.encode(_read("openapi.json") | ({"servers": [{"url": root_path}]} if root_path else {}))

    @cached_property
    def _socket(self) -> dict[str, Any]:
        return _read("asyncapi.json")

    @cached_property
    def _page(self) -> str:
        return below_root_path((FOLDER / "docs.html").read_text(encoding="utf-8"), self._settings.root_path)


def _read(name: str) -> dict[str, Any]:
    """Return a document with the version of this program. It has no servers."""
    document = decoder("json", dict[str, Any]).decode((FOLDER / name).read_bytes())
    document["info"]["version"] = VERSION
    return document
