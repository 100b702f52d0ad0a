"""The server's HTTP API: games, races, replays and other documents."""

import os
from collections.abc import Sequence
from http.client import HTTPException
from typing import IO, Any, Final, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urljoin
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import msgspec
from msgspec import Struct

from samedeal.errors import Malformed, Refused
from samedeal.scores.evening import Evening
from samedeal.wire.codec import decode_from_newer
from samedeal.wire.documents import GameDescription, GameList, Opened
from samedeal_cli.failure import BadAnswer, Declined, Failure, Unreachable
from samedeal_cli.net.addresses import is_local, may_redirect
from samedeal_cli.net.sanitise import safe, safe_text

T = TypeVar("T")
BASE = "/api/v1"
DOCUMENT_BYTES: Final = 4 * 2**20
"""Maximum size of a JSON document or a picture."""
PROBLEM_BYTES: Final = 64 * 2**10
"""Maximum size of an error response."""
MAX_REDIRECTS: Final = 5
ISOLATES: Final = dict.fromkeys((0x2068, 0x2069))
"""The characters with which share texts surround names that are written from right to left."""


class ServerKey(Struct, frozen=True):
    """A current or former signing key of a server."""

    key: str
    """The public key in hexadecimal."""


class Limits(Struct, frozen=True):
    """The server's limits, as far as this program uses them."""

    away_seconds: float | None = None
    """How long a seat is held after a disconnect before the countdown. Older servers do not publish it."""


class WellKnown(Struct, frozen=True):
    """What a server publishes about itself, as far as this program uses it."""

    keys: tuple[ServerKey, ...] = ()
    limits: Limits = Limits()


class LoginCode(Struct, frozen=True):
    """A code that logs in another device."""

    code: str
    link: str


class LoggedIn(Struct, frozen=True):
    """The player that a login code was for, and the new token of this device."""

    player: str
    name: str
    token: str


class ParProgress(Struct, frozen=True):
    """The progress of computing a par."""

    done: int | None = None
    """The number of finished plays; None when the par is complete."""
    of: int = 0


class _Problem(Struct, frozen=True):
    code: str
    title: str
    detail: str = ""


class Api:
    """A client for one server's HTTP API. Its methods block.

    Error messages and the results of ``fetch`` are safe to print; the results of ``download`` are not.
    """

    def __init__(self, server: str, *, timeout: float = 10.0) -> None:
        self.server = server
        self._timeout = timeout

    def answers(self) -> bool:
        """Return whether the server responds."""
        try:
            self.download("/healthz", base="")
        except Failure:
            return False
        return True

    def games(self) -> Sequence[GameDescription]:
        return self.read(self.fetch("/games"), GameList).games

    def game(self, slug: str) -> GameDescription:
        return self.read(self.fetch(f"/games/{quote(slug, safe='')}"), GameDescription)

    def open_race(self, body: dict[str, object], token: str | None = None) -> Opened:
        """Open a race, as the guest with a token if there is one. `body` is the body of the request."""
        return self.read(self.fetch("/races", body=body, token=token), Opened)

    def evening(self, race_id: str) -> Evening:
        """Return the scores over the finished races of a race's evening."""
        return self.read(self.fetch(f"/races/{quote(race_id, safe='')}/evening"), Evening)

    def keys(self) -> tuple[str, ...]:
        """Return the public keys that the server publishes, if any."""
        try:
            data = self.fetch("/.well-known/samedeal", base="")
        except Declined:
            return ()
        return tuple(known.key for known in self.read(data, WellKnown).keys)

    def share_text(self, race_id: str, seat: int | None) -> str:
        """Return a race as a line of text, with the result of a seat or all results, and its link on a second line."""
        data = self.download(f"/races/{race_id}/card.txt", query={"seat": seat}, most_bytes=PROBLEM_BYTES)
        text = data.decode("utf-8", "replace").translate(ISOLATES)  # terminals would show them as boxes
        return "\n".join(safe_text(line) for line in text.splitlines())

    def away_s(self) -> float | None:
        """Return how long a seat is held after a disconnect before the countdown, in seconds; None if it is unknown."""
        try:
            return self.read(self.fetch("/.well-known/samedeal", base=""), WellKnown).limits.away_seconds
        except Failure:
            return None

    def create_login_code(self, token: str) -> bytes:
        """Create a code that logs in another device of the guest with a token. Return a LoginCode as JSON."""
        return self.fetch("/guests/pass", body={}, token=token)

    def log_in(self, code: str) -> LoggedIn:
        """Use up a code. If this raises Unreachable, it may be used up, too."""
        return self.read(self.fetch("/guests/login", body={"code": code}), LoggedIn)

    def log_out(self, token: str) -> None:
        """Revoke a token."""
        self._request(f"{self.server}{BASE}/guests/logout", b"", PROBLEM_BYTES, token)

    def fetch(
        self,
        path: str,
        *,
        body: object = None,
        query: dict[str, object] | None = None,
        base: str = BASE,
        token: str | None = None,
    ) -> bytes:
        """Return the sanitised JSON response to a GET or, with a body, a POST. Raises Unreachable and Declined.

        A guest's `token` is also sent after a redirect, which can only lead to the same host.
        """
        url = _url(f"{self.server}{base}{path}", query)
        data = self._request(url, None if body is None else msgspec.json.encode(body), DOCUMENT_BYTES, token)
        try:
            return _safe_json(data)
        except (ValueError, RecursionError) as error:
            raise self._misunderstood(error) from error

    def download(
        self,
        path: str,
        *,
        query: dict[str, object] | None = None,
        base: str = BASE,
        most_bytes: int = DOCUMENT_BYTES,
    ) -> bytes:
        """Return the exact bytes of the response to a GET; not safe to print. Raises Unreachable and Declined."""
        return self._request(_url(f"{self.server}{base}{path}", query), None, most_bytes)

    def read(self, data: bytes, kind: type[T]) -> T:
        """Decode a document, ignoring fields that this version does not know. Raises Unreachable if it is invalid."""
        try:
            document: T = decode_from_newer(data, "json", kind)
        except (Malformed, Refused) as error:
            raise self._misunderstood(error) from error
        return document

    def _request(self, url: str, body: bytes | None, most_bytes: int, token: str | None = None) -> bytes:
        """Return the body of the response, following allowed redirects. A POST is never redirected."""
        for _ in range(MAX_REDIRECTS + 1):
            request = Request(url, data=body, headers={"Accept": "application/json"})  # noqa: S310 (http only, checked)
            if body is not None:
                request.add_header("Content-Type", "application/json")
            if token:
                request.add_header("Authorization", f"Bearer {token}")
            try:
                with self._opener().open(request, timeout=self._timeout) as response:
                    return self._read_bounded(response, most_bytes)
            except HTTPError as error:
                with error:
                    if not (target := _redirect(url, error)):
                        raise self._refused(error.code, self._read_bounded(error, PROBLEM_BYTES)) from error
                if body is not None or not may_redirect(url, target):
                    raise BadAnswer(self.server, f"the redirect to {plain(target)} is not allowed") from error
                url = target
            except URLError as error:
                raise Unreachable(self.server, plain(error.reason)) from error
            except (OSError, HTTPException, ValueError) as error:
                raise Unreachable(self.server, plain(error)) from error
        raise BadAnswer(self.server, "too many redirects")

    def _read_bounded(self, response: IO[bytes], most_bytes: int) -> bytes:
        try:
            data = response.read(most_bytes + 1)
        except (OSError, HTTPException) as error:
            raise Unreachable(self.server, plain(error)) from error
        if len(data) > most_bytes:
            raise BadAnswer(self.server, f"the response is larger than {most_bytes} bytes")
        return data

    def _misunderstood(self, error: Exception) -> Unreachable:
        return Unreachable(self.server, f"not a valid Same Deal response: {plain(error)}")

    def _opener(self) -> OpenerDirector:
        proxies = [ProxyHandler({})] if is_local(self.server) else []
        return build_opener(*proxies, _NoRedirects)

    def _refused(self, status: int, data: bytes) -> Failure:
        try:
            problem = msgspec.json.decode(_safe_json(data), type=_Problem)
        except (ValueError, RecursionError):
            return Declined("", f"{self.server} answered with status {status}; is it a Same Deal server?")
        text = (problem.detail or problem.title).rstrip(".")
        where = f" on {self.server}" if text.endswith("not found") else ""
        return Declined(problem.code, text + where)


class _NoRedirects(HTTPRedirectHandler):
    """Disables urllib's redirects, which go to any server and read whole bodies."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _url(address: str, query: dict[str, object] | None) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return address + (f"?{urlencode(given)}" if given else "")


def _redirect(url: str, error: HTTPError) -> str | None:
    """Return the target of a redirect, if the response is one."""
    location = error.headers.get("Location")
    return urljoin(url, location) if error.code in (301, 302, 303, 307, 308) and location else None


def _safe_json(data: bytes) -> bytes:
    """Sanitise the strings of a JSON document. Raises ValueError or RecursionError if it is invalid."""
    return msgspec.json.encode(safe(msgspec.json.decode(data)))


def plain(reason: object) -> str:
    """Describe an error in words that are safe to print, without error numbers and addresses."""
    if isinstance(reason, ConnectionError) and reason.errno:
        return os.strerror(reason.errno)
    if isinstance(reason, OSError) and reason.strerror:
        return safe_text(reason.strerror)
    if isinstance(reason, TimeoutError):
        return "the request timed out"
    if str(reason).startswith("Multiple exceptions"):
        return "Connection refused"
    return safe_text(str(reason)) or type(reason).__name__
