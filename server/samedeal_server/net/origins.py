"""Origins: the web pages that may create races and play on behalf of their users."""

import socket
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from samedeal.errors import Refused

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing, which pages of any origin may use."""


def check_origin(scope: Scope, public_url: str | None) -> None:
    """Accept handshakes and unsafe methods only from pages of this server and from programs.

    The origin of this server is that of the public URL (from ``normal_url``), or the URL of the request if its host is
    safe from DNS rebinding. Programs do not send `Origin`. Raises Refused("foreign-page").
    """
    if scope["type"] == "http" and scope["method"] in SAFE_METHODS:
        return
    headers = Headers(scope=scope)
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None or (public_url and origin == "/".join(public_url.split("/")[:3])):
        return
    if origin not in (f"http://{host}", f"https://{host}") or not _is_local(host):
        text = f"Pages of {origin} may use this server only if that is its public URL (SAMEDEAL_PUBLIC_URL)."
        raise Refused("foreign-page", text)


def _is_local(host: str) -> bool:
    """Return whether a host (with or without a port) is an IP address or local name, which has no public DNS record."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if not name or "." not in name or name.endswith((".localhost", ".local")) or name == socket.gethostname().lower():
        return bool(name)
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
