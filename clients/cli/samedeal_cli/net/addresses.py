"""Addresses of servers, as people write them."""

import socket
from contextlib import suppress
from functools import cache
from urllib.parse import urlsplit

from samedeal_cli.failure import Misused

DEFAULT_SERVER = "http://127.0.0.1:8640"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def server_address(text: str) -> str:
    """A server's address as given by a person. Raises Misused for what cannot be one."""
    address = (text if "://" in text else f"http://{text}").rstrip("/")
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not parts.query
    except ValueError:
        good = False
    if not good:
        raise Misused(f"{text!r} is not a valid server address (try {DEFAULT_SERVER})")
    return address


def is_local(server: str) -> bool:
    """Whether a server is on this machine, so that no proxy lies between."""
    return urlsplit(server).hostname in LOOPBACK


def origin(url: str) -> tuple[str, str, int]:
    """The scheme, host and port of a URL, for comparison; ws counts as http. Raises ValueError for a bad port."""
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    return scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(scheme, 0)


def may_redirect(url: str, target: str) -> bool:
    """Whether a redirect may be followed: within one origin, or from http to https on one host and default ports."""
    try:
        (scheme, host, port), there = origin(url), origin(target)
    except ValueError:
        return False
    return there == (scheme, host, port) or (scheme == "http" and port == 80 and there == ("https", host, 443))


def settled(server: str) -> str:
    """One address for each server: one on this machine has many, such as that which others in the network know."""
    parts = urlsplit(server)
    if parts.hostname not in LOOPBACK and parts.hostname not in own_addresses():
        return server
    return f"{parts.scheme}://{LOOPBACK[0]}" + (f":{parts.port}" if parts.port else "")


def same_server(one: str, other: str) -> bool:
    """Whether two addresses of servers lead to the same one, as far as can be told without asking it."""
    one, other = settled(one), settled(other)
    return origin(one) == origin(other) and urlsplit(one).path == urlsplit(other).path


@cache
def own_addresses() -> tuple[str, ...]:
    """The addresses of this machine as far as they are easily found, the one that others will know first."""
    found: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("198.51.100.1", 9))  # somewhere far away; sends nothing
        found.append(str(probe.getsockname()[0]))
    with suppress(OSError):
        found += socket.gethostbyname_ex(socket.gethostname())[2]
    return tuple(found)
