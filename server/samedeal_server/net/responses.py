"""Responses: JSON, problems (RFC 9457) and content negotiation."""

import asyncio
import gzip
import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Final, TypeVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal import codec
from samedeal.errors import Refused
from samedeal.version import VERSION

MEDIA: Final = {
    "json": "application/json",
    "msgpack": "application/vnd.msgpack",
    "ndjson": "application/x-ndjson",
    "svg": "image/svg+xml",
    "png": "image/png",
}
PROGRAM: Final = f"samedeal/{VERSION}"
"""The name and version of the program."""
PROBLEM: Final = "application/problem+json"
TEXT: Final = "text/plain; charset=utf-8"
PAGE: Final = "text/html; charset=utf-8"
F = TypeVar("F", bound=str)


class Problem(Struct, frozen=True):
    """A refused request (RFC 9457). Nothing was changed."""

    type: str
    """The path of a text that describes the code, relative to the address of the server."""
    title: str
    status: int
    code: str
    """The reason, for programs."""
    detail: str
    """The reason, for people."""


_DECOMPRESSING: Final = ThreadPoolExecutor(1)
"""One thread, because several would take the event loop's time. Long races have many megabytes."""
_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a struct as a JSON response."""
    return Response(codec.encode(content, "json"), status, headers, MEDIA["json"])


def problem_response(refused: Refused) -> Response:
    """Return a refusal as a problem response, in ASCII, because the detail can quote the request on a terminal."""
    headers = {} if refused.retry_after_s is None else {"Retry-After": f"{refused.retry_after_s}"}
    return Response(json.dumps(refused.problem(), separators=(",", ":")), refused.status, headers, PROBLEM)


def accepted_quality(request: Request, *media: str) -> float:
    """Return the quality (0 to 1) that the Accept header gives to the best of some media types."""
    qualities = _qualities(",".join(request.headers.getlist("accept")) or "*/*")
    ranges = ((each, f"{each.partition('/')[0]}/*", "*/*") for each in media)  # the most specific first
    return max(next((qualities[name] for name in names if name in qualities), 0.0) for names in ranges)


def negotiate(request: Request, forms: Mapping[F, tuple[str, ...]]) -> F:
    """Return the form that the Accept header prefers, the first of equals. `forms` maps forms to their media types.

    Raises Refused("not-acceptable").
    """
    qualities = {form: accepted_quality(request, *types) for form, types in forms.items()}
    best = max(qualities, key=lambda form: qualities[form])
    if not qualities[best]:
        raise Refused("not-acceptable", f"Available media types: {', '.join(types[0] for types in forms.values())}.")
    return best


def accepts_gzip(request: Request) -> bool:
    """Return whether a client accepts compressed responses, as every browser does."""
    return "gzip" in request.headers.get("accept-encoding", "")


async def gzip_response(request: Request, zipped: bytes, media: str, headers: Mapping[str, str]) -> Response:
    """Return compressed content, decompressed if the client does not accept it."""
    headers = {**headers, "Vary": "Accept-Encoding"}
    if accepts_gzip(request):
        return Response(zipped, media_type=media, headers=headers | {"Content-Encoding": "gzip"})
    content = await asyncio.get_running_loop().run_in_executor(_DECOMPRESSING, gzip.decompress, zipped)
    return Response(content, media_type=media, headers=headers)


def if_none_match_matches(request: Request, etag: str) -> bool:
    """Return whether the If-None-Match header matches this ETag."""
    etags = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    return etag in etags or "*" in etags


@lru_cache(128)
def _qualities(accept: str) -> Mapping[str, float]:
    """Return the quality (0 to 1) of each media range in an Accept header."""
    qualities = dict[str, float]()
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        quality = next((piece.removeprefix("q=") for piece in parameters if piece.startswith("q=")), "1")
        if _QUALITY.fullmatch(quality):
            qualities[name] = float(quality)
    return qualities
