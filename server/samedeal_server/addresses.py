"""Addresses: the networks of clients, trusted proxies between them and the server, and URLs as browsers write them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

import idna
from starlette.datastructures import Headers
from starlette.types import Scope

Address = IPv4Address | IPv6Address

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_NODE: Final = re.compile(r"\[([0-9a-f:.]+)\](?::\d{1,5})?|([\d.]+)(?::\d{1,5})?|([0-9a-f:.]+)", re.IGNORECASE)
"""An address with an optional port; IPv6 addresses with a port are in brackets."""


def is_private(address: str) -> bool:
    """Return whether an address is that of this machine or of a private network."""
    try:
        return ip_address(address.partition("%")[0]).is_private
    except ValueError:
        return True  # a Unix socket


@lru_cache(10_000)
def network(address: str) -> str:
    """Return the network that limits apply to: an IPv4 address, or the /64 prefix of an IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))


def normal_url(url: str) -> str:
    """Return an http or https URL as browsers write it: its scheme, host and port are the Origin of its pages.

    A default port and trailing dots and slashes are removed. Raises ValueError.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{ip_address(host)}]"
    else:
        host = (host if host.isascii() else idna.encode(host, uts46=True).decode()).removesuffix(".")
        if host.rpartition(".")[2].isdecimal():
            host = f"{ip_address(host)}"
    port = f":{parts.port}" if parts.port not in (None, DEFAULT_PORTS[parts.scheme]) else ""
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def is_forwarded(scope: Scope) -> bool:
    """Return whether a proxy passed on a request for its client."""
    return any(name in (b"forwarded", b"x-forwarded-for") for name, _ in scope["headers"])


class TrustedProxies:
    """The networks of the proxies in front of this server."""

    def __init__(self, text: str = "") -> None:
        """`text` lists IP networks, separated by commas. Raises ValueError."""
        self._networks = tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()

    def __str__(self) -> str:
        return ",".join(map(str, self._networks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrustedProxies) and self._networks == other._networks

    def trusts(self, host: str) -> bool:
        """Return whether a peer is a trusted proxy."""
        address = _parse(host) if self._networks else None
        return address is not None and self._contains(address)

    def resolve(self, scope: Scope) -> None:
        """Replace the peer of an ASGI connection with the client if it is a trusted proxy that names one.

        Reads `X-Forwarded-For` and `Forwarded` from the right, skipping trusted proxies. Ignores malformed headers and
        headers that disagree: proxies pass on the header that they do not write, so clients can forge it.
        `X-Forwarded-Proto` sets the scheme.
        """
        peer = scope.get("client")
        if peer is None or not self.trusts(peer[0]):
            return
        clients = set[Address | None]()
        if forwarded_for := _values(scope, "x-forwarded-for"):
            clients.add(self._client(forwarded_for))
        if forwarded := _values(scope, "forwarded"):
            clients.add(self._client([_for(element) for element in forwarded]))
        if len(clients) == 1 and (client := clients.pop()):
            scope["client"] = (str(client), 0)
        scheme = _values(scope, "x-forwarded-proto")[-1:]
        if scheme in (["http"], ["https"]):
            scope["scheme"] = scheme[0].replace("http", "ws") if scope["type"] == "websocket" else scheme[0]

    def _client(self, chain: Sequence[str]) -> Address | None:
        """Return the last untrusted address of a chain of hops, or the first address; None if a hop is malformed."""
        address = None
        for hop in reversed(chain):
            address = _parse(hop)
            if address is None or not self._contains(address):
                break
        return address

    def _contains(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _values(scope: Scope, name: str) -> list[str]:
    """Return the elements of a list header, which may span several lines."""
    return [element.strip() for line in Headers(scope=scope).getlist(name) for element in line.split(",")]


def _for(element: str) -> str:
    """Return the `for` parameter of an element of `Forwarded` (RFC 7239), or an empty string."""
    for parameter in element.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "for":
            return value.strip().removeprefix('"').removesuffix('"')
    return ""


def _parse(hop: str) -> Address | None:
    match = _NODE.fullmatch(hop)
    try:
        address = ip_address(match[match.lastindex or 0]) if match else None
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
