"""Checks of the public URL: that pages can play there, through trusted proxies, with a valid certificate."""

import http.client
import socket
import ssl
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from msgspec import DecodeError, Struct, ValidationError
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from samedeal.codec import decoder
from samedeal.wire.decoding import SUBPROTOCOLS
from samedeal_cli.findings import Finding
from samedeal_server.settings import Settings

TIMEOUT_S: Final = 5.0
_MOST: Final = 10**6  # bytes
LEAST_PART: Final = 1 / 6
"""Certificates are renewed while more than this part of their validity is left: Caddy and certbot do at a third."""


class ProblemError(Exception):
    """A server cannot be reached, or is not one of this program; the text says why."""


class PublicKey(Struct):
    key: str


class Info(Struct):
    """What a server publishes at ``/.well-known/samedeal``, in part."""

    server: str
    keys: tuple[PublicKey, ...]


class _Problem(Struct):
    detail: str


def fetch(url: str) -> Info:
    """Return what the server at a URL publishes. Raises ProblemError."""
    try:
        with build_opener(ProxyHandler({})).open(
            f"{url.rstrip('/')}/.well-known/samedeal", timeout=TIMEOUT_S
        ) as answer:
            return decoder("json", Info).decode(answer.read(_MOST))
    except (DecodeError, ValidationError) as error:
        raise ProblemError(f"{url} is served by another program") from error
    except HTTPError as error:
        detail = error.reason
        with suppress(DecodeError, ValidationError):
            detail = decoder("json", _Problem).decode(error.read(_MOST)).detail
        raise ProblemError(f"{url} answered with status {error.code}: {detail}") from error
    except URLError as error:
        raise ProblemError(
            f"{url} cannot be reached: {getattr(error.reason, 'strerror', None) or error.reason or error}"
        ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ProblemError(f"{url} cannot be reached: {error}") from error


def public_url(settings: Settings, own_keys: Collection[str]) -> Iterator[Finding]:
    """Check the public URL, if it is set. `own_keys` are the public keys of the store's servers, if known."""
    part, url = "public URL", settings.public_url
    if url is None:
        yield Finding(part, "address", None)
        return
    yield Finding(part, "address", settings.redacted()["SAMEDEAL_PUBLIC_URL"])
    try:
        info = fetch(url)
    except ProblemError as error:
        yield Finding(part, "answers", False, f"{error}")
    else:
        ours = not own_keys or any(key.key in own_keys for key in info.keys)
        yield Finding(part, "answers", True)
        yield Finding(part, "this server", ours, "" if ours else f"{url} leads to a server with another store")
        wrong = _websocket(url)
        yield Finding(part, "WebSockets", not wrong, wrong)
    if url.startswith("https://"):
        yield _certificate(url)
        no_proxy = "the server has no TLS of its own, but trusts no proxy: set SAMEDEAL_TRUSTED_PROXIES"
        trusted = str(settings.trusted_proxies)
        yield Finding(part, "trusted proxies", trusted or None, "" if trusted else no_proxy)


class Problem(Struct):
    detail: str


def _websocket(url: str) -> str:
    """Open a WebSocket as a page of the server does, and return why that fails, or an empty string."""
    try:
        with connect(
            f"ws{url.removeprefix('http')}/ws/doctor",
            origin=Origin("/".join(url.split("/")[:3])),
            subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
            open_timeout=TIMEOUT_S,
            close_timeout=TIMEOUT_S,
            proxy=None,
        ):
            return ""
    except InvalidStatus as error:
        reason = f"HTTP {error.response.status_code}"
        with suppress(DecodeError, ValidationError):
            reason += f". {decoder('json', Problem).decode(error.response.body or b'').detail}"
    except (OSError, WebSocketException) as error:
        reason = f"{error}"
    return f"nobody can play, because pages at {url} cannot open a WebSocket: {reason}"


def _certificate(url: str) -> Finding:
    """Check how long the certificate is valid."""
    part, name, parts = "public URL", "certificate days", urlsplit(url)
    host = parts.hostname or ""
    try:
        with (
            socket.create_connection((host, parts.port or 443), TIMEOUT_S) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secure,
        ):
            certificate = secure.getpeercert() or {}
            starts, expires = (ssl.cert_time_to_seconds(str(certificate[end])) for end in ("notBefore", "notAfter"))
    except (OSError, ValueError, KeyError) as error:
        return Finding(part, name, None, f"the certificate of {host} cannot be checked: {error}")
    left = expires - time.time()
    days = round(left / 86_400, 1)
    late = left < LEAST_PART * (expires - starts)
    return Finding(
        part, name, days, f"the certificate of {host} expires in {days} days: check its renewal" if late else ""
    )
