"""Trusted proxies: which peers may name the client that they forward a request for, and which client they name."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from starlette.types import Scope

Address = IPv4Address | IPv6Address

_NODE: Final = re.compile(r"\[([0-9a-f:.]+)\](?::\d{1,5})?|([\d.]+)(?::\d{1,5})?|([0-9a-f:.]+)", re.IGNORECASE)
"""An address with or without a port; with a port, an IPv6 address is in brackets."""


class TrustedProxies:
    """The networks whose hosts are proxies in front of this server."""

    def __init__(self, text: str = "") -> None:
        """`text` lists IP networks, separated by commas. Raises ValueError."""
        self._networks = tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()

    def __str__(self) -> str:
        return ",".join(map(str, self._networks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrustedProxies) and self._networks == other._networks

    def __hash__(self) -> int:
        return hash(self._networks)

    def trusts(self, host: str) -> bool:
        """Whether a peer is one of the proxies."""
        address = _parsed(host) if self._networks else None
        return address is not None and self._includes(address)

    def resolve(self, scope: Scope) -> None:
        """Replaces the peer of an ASGI connection with the client, if the peer is a proxy and names one.

        `X-Forwarded-For` and `Forwarded` are read from the right, past other trusted proxies. A malformed header, or
        two that disagree, name no client: proxies pass on unchanged the header that they do not write, so a client can
        put anything there. `X-Forwarded-Proto` sets the scheme.
        """
        peer = scope.get("client")
        if peer is None or not self.trusts(peer[0]):
            return
        clients = set[Address | None]()
        if forwarded_for := _values(scope, b"x-forwarded-for"):
            clients.add(self._client(forwarded_for))
        if forwarded := _values(scope, b"forwarded"):
            clients.add(self._client([_for(element) for element in forwarded]))
        if len(clients) == 1 and (client := clients.pop()):
            scope["client"] = (str(client), 0)
        scheme = _values(scope, b"x-forwarded-proto")[-1:]
        if scheme in (["http"], ["https"]):
            scope["scheme"] = scheme[0].replace("http", "ws") if scope["type"] == "websocket" else scheme[0]

    def _client(self, chain: Sequence[str]) -> Address | None:
        """The last untrusted address of a chain of hops, or else its first; None if one on the way is malformed."""
        address = None
        for hop in reversed(chain):
            address = _parsed(hop)
            if address is None or not self._includes(address):
                break
        return address

    def _includes(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _values(scope: Scope, name: bytes) -> list[str]:
    """The elements of a header that is a list, however many lines it takes."""
    lines = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return [element.strip() for line in lines for element in line.split(",")]


def _for(element: str) -> str:
    """The `for` parameter of an element of `Forwarded` (RFC 7239), or an empty string."""
    for parameter in element.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "for":
            return value.strip().removeprefix('"').removesuffix('"')
    return ""


def _parsed(hop: str) -> Address | None:
    match = _NODE.fullmatch(hop)
    try:
        address = ip_address(match[match.lastindex or 0]) if match else None
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
