"""Origins: which pages may open a race or play here in the name of the person who looks at them."""

import socket
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from samedeal.errors import Refused

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing; pages of any site may send them."""


def check_origin(scope: Scope, public_url: str | None) -> None:
    """Accepts a handshake, or a request with an unsafe method, from a page of this server or from a program.

    A page is of this server if its origin is the public URL, or the address that the request was sent to; the latter
    counts only where DNS cannot rebind its host. Programs send no `Origin`. Raises Refused("foreign-page").
    """
    if scope["type"] == "http" and scope["method"] in SAFE_METHODS:
        return
    headers = Headers(scope=scope)
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None or (public_url and origin == public_url.lower()):
        return
    if not host or origin not in (f"http://{host}", f"https://{host}"):
        raise Refused("foreign-page", f"Pages of {origin} may not act here.")
    if not _is_local(host):
        text = f"Pages of {origin} may act here only if that is the server's public URL (SAMEDEAL_PUBLIC_URL)."
        raise Refused("foreign-page", text)


def _is_local(host: str) -> bool:
    """Whether nobody can publish a DNS record for a host (with or without a port): an address, or a local name."""
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
