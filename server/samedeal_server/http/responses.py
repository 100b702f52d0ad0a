"""Answers: what is said becomes an HTTP response, in the form that the client likes best."""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from msgspec import Struct, convert
from starlette.requests import Request
from starlette.responses import Response

from samedeal.errors import Refused
from samedeal.wire import codec

MEDIA: Final = {
    "json": "application/json",
    "msgpack": "application/vnd.msgpack",
    "ndjson": "application/x-ndjson",
    "svg": "image/svg+xml",
}
PROBLEM: Final = "application/problem+json"
TEXT: Final = "text/plain; charset=utf-8"
PAGE: Final = "text/html; charset=utf-8"
F = TypeVar("F", bound=str)


class Problem(Struct, frozen=True):
    """A refusal, as RFC 9457 has it. Nothing was changed."""

    type: str
    """An address that says what the code means."""
    title: str
    status: int
    code: str
    """What it is, for programs."""
    detail: str
    """What it is, for people."""


_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A struct or any other record as JSON."""
    return Response(codec.encode(content, "json"), status, headers, MEDIA["json"])


def problem_response(refused: Refused) -> Response:
    """A refusal."""
    problem = convert(refused.problem(), Problem)
    headers = {} if refused.retry_after_s is None else {"Retry-After": f"{refused.retry_after_s}"}
    return Response(codec.encode(problem, "json"), refused.status, headers, PROBLEM)


def liked(request: Request, forms: Mapping[F, tuple[str, ...]]) -> F:
    """The form that a client likes best, by the media types that each form goes by; the first if it likes all alike."""
    accepted = ",".join(request.headers.getlist("accept")) or "*/*"
    likings = {form: max(_liking(accepted, kind) for kind in kinds) for form, kinds in forms.items()}
    best = max(likings, key=lambda form: likings[form])
    if not likings[best]:
        raise Refused("not-acceptable", f"This is there as {' and '.join(kinds[0] for kinds in forms.values())}.")
    return best


def has(request: Request, tag: str) -> bool:
    """Whether the client says that it has what goes by this entity tag."""
    tags = {known.strip().removeprefix("W/") for known in request.headers.get("if-none-match", "").split(",")}
    return tag in tags or "*" in tags


def _liking(accepted: str, kind: str) -> float:
    """How much a client likes a media type, 0 to 1, by the nearest of the ranges that it accepts."""
    ranges = ("*/*", f"{kind.partition('/')[0]}/*", kind)
    near, liking = -1, 0.0
    for part in accepted.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        quality = next((piece.removeprefix("q=") for piece in parameters if piece.startswith("q=")), "1")
        if name in ranges and _QUALITY.fullmatch(quality) and ranges.index(name) >= near:
            near, liking = ranges.index(name), float(quality)
    return liking
