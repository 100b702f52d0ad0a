"""Server addresses: parsing and comparison."""

import re
import socket
from contextlib import suppress
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from samedeal_cli.failure import Misused

DEFAULT_SERVER = "http://127.0.0.1:8640"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_AROUND = " \t\r\n\u200b\u2060\ufeff<>()[]{}\"'`.,;:!?"
"""What chats and mails put around links, and people around what they copy."""
_LINK = r"(?:(.+?)(?:/api/v1)?/(?:{kinds})/)?([a-z0-9][a-z0-9-]{{0,63}})(?(1)(?:\.\w+)?/?)"
"""An id, or the link of a page or a file of some kinds."""


def server_address(text: str) -> str:
    """Parse a server's address as typed by a user. Raises Misused."""
    address = (text if "://" in text else f"http://{text}").rstrip("/")
    with suppress(ValueError):
        parts = urlsplit(address)
        is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if is_web and not (parts.query or parts.fragment):
            return address
    raise Misused(f"{text!r} is not a valid server address (try {DEFAULT_SERVER})")


def unwrapped(link: str) -> str:
    """Return a link or an id without what surrounds it in a text."""
    return link.strip(_AROUND)


def race_link(text: str, kinds: str = "r|w|o|replays?|solution") -> tuple[str | None, str] | None:
    """Return the server, None without one, and the race id of a link or an id; None for other texts."""
    link = unwrapped(text).partition("#")[0].partition("?")[0]
    match = re.fullmatch(_LINK.format(kinds=kinds), link, re.IGNORECASE)
    return (match[1], match[2].lower()) if match else None


def challenge_link(text: str) -> tuple[str | None, str] | None:
    """Return the same for a challenge."""
    return race_link(text, "c|challenges")


class ClubName(NamedTuple):
    """What a user calls a club: its link, or its id or name on some server."""

    server: str | None
    """None without a link."""
    club: str
    """The id or, without a link, the name."""
    invitation: str | None = None
    """The token in the link of an invitation."""


def club_name(text: str) -> ClubName:
    """Parse a club as typed by a user. Raises Misused."""
    link = race_link(text, "g|clubs")
    if link and link[0]:
        return ClubName(server_address(link[0]), link[1], unwrapped(text).partition("#")[2] or None)
    if "://" in text or not text.strip():
        raise Misused(f"{text!r} is not a valid club; use its link (http://host:8640/g/ID), its id or its name")
    return ClubName(None, text.strip())


def is_local(server: str) -> bool:
    """Return whether a server is on this machine. It is reached without a proxy."""
    return urlsplit(server).hostname in LOOPBACK


def origin(url: str) -> tuple[str, str, int]:
    """Return the scheme, host and port of a URL for comparison; ws counts as http. Raises ValueError for a bad port."""
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    return scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(scheme, 0)


def may_redirect(url: str, target: str) -> bool:
    """Return whether to follow a redirect: within one origin, or from http to https on one host and default ports."""
    with suppress(ValueError):
        (scheme, host, port), target_origin = origin(url), origin(target)
        return target_origin in ((scheme, host, port), ("https", host, 443) if (scheme, port) == ("http", 80) else ())
    return False


def canonical_address(server: str) -> str:
    """Return the same address for all addresses of a server on this machine, and any other address unchanged."""
    parts = urlsplit(server)
    if parts.hostname not in LOOPBACK and parts.hostname not in own_addresses():
        return server
    return f"{parts.scheme}://{LOOPBACK[0]}" + (f":{parts.port}" if parts.port else "") + parts.path


def same_server(one: str, other: str) -> bool:
    """Return whether two addresses are of the same server, without contacting it."""
    one, other = canonical_address(one), canonical_address(other)
    return origin(one) == origin(other) and urlsplit(one).path == urlsplit(other).path


@cache
def own_addresses() -> tuple[str, ...]:
    """Return the addresses of this machine, starting with the one that is used on its network."""
    addresses: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("198.51.100.1", 9))  # any remote address; this sends nothing
        addresses.append(str(probe.getsockname()[0]))
    with suppress(OSError):
        addresses += socket.gethostbyname_ex(socket.gethostname())[2]
    return tuple(addresses)
