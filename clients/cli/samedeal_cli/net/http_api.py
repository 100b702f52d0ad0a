"""The server's HTTP API: games, races, replays and other documents."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from http.client import HTTPException, HTTPResponse
from typing import Final, TypeVar
from urllib.error import URLError
from urllib.parse import quote, urlencode, urljoin
from urllib.request import HTTPErrorProcessor, OpenerDirector, ProxyHandler, Request, build_opener

import msgspec
from msgspec import Struct, structs

from samedeal.codec import decode_from_newer, decoder
from samedeal.errors import Malformed, Refused
from samedeal.race.race import Stage
from samedeal.scores.evening import Evening
from samedeal.wire.documents import (
    ChallengePage,
    Daily,
    GameDescription,
    GameList,
    Listed,
    OpenedRace,
    PlayerPage,
    RaceList,
)
from samedeal.wire.messages import View
from samedeal_cli.addresses import may_redirect
from samedeal_cli.failure import BadAnswer, Declined, Failure, Unreachable
from samedeal_cli.net.proxies import proxy_for, through
from samedeal_cli.sanitise import safe, safe_text

T = TypeVar("T")
Paged = TypeVar("Paged", Daily, ChallengePage)
Variants = Sequence[tuple[str, str | bool]]
"""Options of a game, with their values."""
Query = Mapping[str, object] | None
"""The query of a URL. Values of None are left out."""
BASE = "/api/v1"
DOCUMENT_BYTES: Final = 4 * 2**20
"""Maximum size of a JSON document or a picture."""
PROBLEM_BYTES: Final = 64 * 2**10
"""Maximum size of an error response."""
MAX_REDIRECTS: Final = 5
MAX_SUCCESSORS: Final = 20
"""How often a host may replace a race."""
REDIRECTS: Final = (301, 302, 303, 307, 308)
ISOLATES: Final = dict.fromkeys((0x2068, 0x2069))
"""The characters with which share texts surround names that are written from right to left."""


class ServerKey(Struct, frozen=True):
    """A current or former signing key of a server."""

    key: str
    """The public key in hexadecimal."""


class Limits(Struct, frozen=True):
    """The server's limits, as far as this program uses them."""

    away_seconds: float | None = None
    """How long a seat is held after a disconnect before the countdown (s)."""


class WellKnown(Struct, frozen=True):
    """What a server publishes about itself, as far as this program uses it."""

    keys: tuple[ServerKey, ...] = ()
    limits: Limits = Limits()


class LoginCode(Struct, frozen=True):
    """A code that logs in another device."""

    code: str
    link: str


class LoggedIn(Struct, frozen=True):
    """The player that this device plays as, and its new token."""

    player: str
    name: str
    token: str


class ParProgress(Struct, frozen=True):
    """The progress of computing a par."""

    done: int | None = None
    """The number of finished plays; None when the par is complete."""
    of: int = 0


class ProblemDocument(Struct, frozen=True):
    """Why a request was refused."""

    code: str
    title: str  # without one, another program answered
    detail: str = ""


class Api:
    """A client for one server's HTTP API. Its methods block.

    Error messages and the results of ``fetch`` are safe to print; the results of ``download`` are not.
    """

    def __init__(self, server: str, *, timeout: float = 10.0) -> None:
        self.server, self._timeout = server, timeout
        self._opener: OpenerDirector | None = None

    def games(self) -> Sequence[GameDescription]:
        return self.read(self.fetch("/games"), GameList).games

    def game(self, slug: str) -> GameDescription:
        return self.read(self.fetch(f"/games/{quote(slug, safe='')}"), GameDescription)

    def live_races(self, stage: Stage | None = None) -> Sequence[Listed]:
        """Return the newest listed races, perhaps only those in one stage."""
        return self.read(self.fetch("/races", query={"stage": stage}), RaceList).races

    def open_race(self, body: dict[str, object], token: str | None = None) -> OpenedRace:
        """Open a race, as the guest with a token if there is one. `body` is the body of the request."""
        return self.read(self.fetch("/races", body=body, token=token), OpenedRace)

    def successor(self, race_id: str) -> str | None:
        """Return the race with which the host has replaced one in the lobby, or None."""
        found: str | None = None
        with suppress(Failure):
            for _ in range(MAX_SUCCESSORS):
                view = self.read(self.fetch(f"/races/{quote(found or race_id, safe='')}"), View)
                if view.stage != "cancelled" or view.next is None:
                    break
                found = view.next.race
        return found

    def evening(self, race_id: str) -> Evening:
        """Return the scores over the finished races of a race's evening."""
        return self.read(self.fetch(f"/races/{quote(race_id, safe='')}/evening"), Evening)

    def player(self, player: str, token: str, races: int = 1) -> PlayerPage | None:
        """Return the scores and newest races of the player with an id and a token; None if the server has none."""
        with suppress(Declined):
            return self.read(self.fetch(f"/players/{player}", query={"limit": races}, token=token), PlayerPage)
        return None

    def challenge(self, challenge: str, token: str | None = None) -> ChallengePage:
        """Return what the guest with a token or, if the server does not know it, everybody may see of a challenge."""
        path = f"/challenges/{quote(challenge, safe='')}"
        try:
            page = self.read(self.fetch(path, token=token), ChallengePage)
        except Declined as declined:
            if declined.code != "bad-token" or token is None:
                raise
            return self.challenge(challenge)
        if {len(page.counts), len(page.yours), len(page.played)} != {len(page.header.deals)}:
            raise self._misunderstood(ValueError("the deals of the challenge do not match"))
        return page

    def with_all_results(self, page: Paged, path: str, token: str | None = None) -> Paged:
        """Return a document with the results on all of its pages."""
        while page.next is not None:
            later: Paged = self.read(self.fetch(path, query={"skip": page.next}, token=token), type(page))
            page = structs.replace(later, results=(*(page.results or ()), *(later.results or ())))
        return page

    def keys(self) -> tuple[str, ...]:
        """Return the public keys that the server publishes, if any."""
        with suppress(Declined):
            known = self.read(self.fetch("/.well-known/samedeal", base=""), WellKnown)
            return tuple(each.key for each in known.keys)
        return ()

    def share_text(self, race_id: str, seat: int | None) -> str:
        """Return a race as a line of text, with the result of a seat or all results, and its link on a second line."""
        data = self.download(f"/races/{race_id}/card.txt", query={"seat": seat}, most_bytes=PROBLEM_BYTES)
        text = data.decode("utf-8", "replace").translate(ISOLATES)  # terminals would show them as boxes
        return "\n".join(safe_text(line) for line in text.splitlines())

    def away_s(self) -> float | None:
        """Return how long a seat is held after a disconnect before the countdown, in seconds; None if it is unknown."""
        with suppress(Failure):
            return self.read(self.fetch("/.well-known/samedeal", base=""), WellKnown).limits.away_seconds
        return None

    def create_login_code(self, token: str) -> bytes:
        """Create a code that logs in another device of the guest with a token. Return a LoginCode as JSON."""
        return self.fetch("/guests/pass", body={}, token=token)

    def log_out(self, token: str) -> None:
        """Revoke a token."""
        self._request(f"{BASE}/guests/logout", None, PROBLEM_BYTES, b"", token)

    def fetch(
        self,
        path: str,
        *,
        body: object = None,
        query: Query = None,
        base: str = BASE,
        token: str | None = None,
        method: str | None = None,
    ) -> bytes:
        """Return the sanitised JSON response, perhaps an empty one. Raises Unreachable and Declined.

        The default method is GET or, with a body, POST. A guest's `token` is also sent after a redirect, which can only
        lead to the same host.
        """
        encoded = None if body is None else msgspec.json.encode(body)
        data = self._request(base + path, query, DOCUMENT_BYTES, encoded, token, method)
        try:
            return data and _safe_json(data)
        except (ValueError, RecursionError) as error:
            raise self._misunderstood(error) from error

    def download(
        self,
        path: str,
        *,
        query: Query = None,
        base: str = BASE,
        most_bytes: int = DOCUMENT_BYTES,
        token: str | None = None,
    ) -> bytes:
        """Return the exact bytes of the response to a GET; not safe to print. Raises Unreachable and Declined."""
        return self._request(base + path, query, most_bytes, token=token)

    def read(self, data: bytes, kind: type[T]) -> T:
        """Decode a document, ignoring fields that this version does not know. Raises Unreachable if it is invalid."""
        try:
            document: T = decode_from_newer(data, "json", kind)
        except (Malformed, Refused) as error:
            raise self._misunderstood(error) from error
        return document

    def _request(
        self,
        path: str,
        query: Query,
        most_bytes: int,
        body: bytes | None = None,
        token: str | None = None,
        method: str | None = None,
    ) -> bytes:
        """Return the body of the response, following allowed redirects. Only a GET is redirected."""
        url = f"{self.server}{path}"
        if given := {name: value for name, value in (query or {}).items() if value is not None}:
            url += f"?{urlencode(given)}"
        headers = {"Accept": "application/json"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        for _ in range(MAX_REDIRECTS + 1):
            request = Request(url, body, headers, method=method)  # noqa: S310 (http only, checked)
            opener = self._opener or _opener(proxy_for(url))
            try:
                with opener.open(request, timeout=self._timeout) as response:
                    location = response.headers.get("Location")
                    if response.status not in REDIRECTS or not location:
                        return self._body(response, most_bytes)
                    target = urljoin(url, location)
            except (OSError, HTTPException, ValueError) as error:
                raise Unreachable(self.server, plain(error), through(self.server)) from error
            if request.get_method() != "GET" or not may_redirect(url, target):
                raise BadAnswer(self.server, f"the redirect to {plain(target)} is not allowed")
            url = target
        raise BadAnswer(self.server, "too many redirects")

    def _body(self, response: HTTPResponse, most_bytes: int) -> bytes:
        """Return the body of a response. Raises BadAnswer if it is too large, and Declined for an error."""
        good = 200 <= response.status < 300
        most_bytes = most_bytes if good else PROBLEM_BYTES
        data = response.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise BadAnswer(self.server, f"the response is larger than {most_bytes} bytes")
        if good:
            return data
        try:
            problem = decoder("json", ProblemDocument).decode(_safe_json(data))
        except (ValueError, RecursionError) as error:
            status = f"status {response.status}{through(self.server)}"
            away = 502 <= response.status <= 504
            text = f"{self.server} answered with {status}; {'try again later' if away else 'is it a Same Deal server?'}"
            raise Declined("", text) from error
        text = (problem.detail or problem.title).rstrip(".")
        where = f" on {self.server}" if text.endswith("not found") else ""
        raise Declined(problem.code, text + where)

    def _misunderstood(self, error: Exception) -> Unreachable:
        return Unreachable(self.server, f"not a valid Same Deal response: {plain(error)}")


class AnyStatus(HTTPErrorProcessor):
    """Returns every response. Otherwise, urllib follows redirects to any server, and reads their whole bodies."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response

    https_response = http_response


@cache
def _opener(proxy: str | None) -> OpenerDirector:
    return build_opener(ProxyHandler(dict.fromkeys(("http", "https"), proxy) if proxy else {}), AnyStatus)


def _safe_json(data: bytes) -> bytes:
    """Sanitise the strings of a JSON document. Raises ValueError or RecursionError if it is invalid."""
    return msgspec.json.encode(safe(decoder("json", object).decode(data)))


def plain(reason: object) -> str:
    """Describe an error in words that are safe to print, without error numbers and addresses."""
    if isinstance(reason, URLError):
        reason = reason.reason
    if isinstance(reason, ConnectionError) and reason.errno:
        return os.strerror(reason.errno)
    if isinstance(reason, OSError) and reason.strerror:
        return safe_text(reason.strerror)
    if isinstance(reason, TimeoutError):
        return "the request timed out"
    if str(reason).startswith("Multiple exceptions"):
        return "Connection refused"
    return safe_text(str(reason)) or type(reason).__name__


def race_request(
    game: str, seed: str | None, options: Mapping[str, object], *, daily: bool = False, variants: Variants = ()
) -> dict[str, object]:
    """Return the body of a request for a race. Options that are None are left out."""
    given = {option: value for option, value in options.items() if value is not None}
    body: dict[str, object] = {"game": game, "variant": dict(variants), "options": given}
    return body | ({} if seed is None else {"seed": seed}) | ({"daily": True} if daily else {})


def ghost_request(race_id: str) -> dict[str, object]:
    """Return the body of a request for a race for one against the racers of a finished race."""
    return {"ghosts": [race_id], "options": {"max_racers": 1, "unlisted": True, "start_delay_ms": 0}}


def heat_request(challenge: str, deal: int, max_racers: int = 1) -> dict[str, object]:
    """Return the body of a request for a race on a deal of a challenge."""
    return {"challenge": challenge, "deal": deal, "options": {"max_racers": max_racers}}


def rematch_request(race_id: str, game: str | None = None) -> dict[str, object]:
    """Return the body of a request for a rematch, perhaps with another game."""
    return {"again": race_id, **({"game": game} if game else {})}
