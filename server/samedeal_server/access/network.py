"""Addresses: how others reach this server, where it listens, and where they come from."""

import socket
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.requests import Request

from samedeal_server.settings import Settings, SettingsError


def base_of(request: Request, settings: Settings) -> str:
    """The server's own address without a slash at its end: the public one, or that of the request."""
    return (settings.public_url or str(request.base_url)).rstrip("/")


def listening(host: str, port: int, *, shared: bool = False, listen: bool = True) -> socket.socket:
    """A socket on an address, which listens unless it is only to keep the port.

    If it is shared, other processes may listen there too, and the kernel gives each connection to one of those that do.
    Raises SettingsError where that cannot be.
    """
    if shared and not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("This system lets no two workers listen on one port: SAMEDEAL_WORKERS has to be 1.")
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind((host, port))
        if listen:
            opened.listen()  # here, where a port that another server is about to take is an error and not a hang
    except OSError as error:
        opened.close()
        raise SettingsError(f"Nothing can listen on {host} port {port}: {error}") from error
    return opened


@lru_cache(10_000)
def network(address: str) -> str:
    """What is counted as one address: IPv4's own, and of IPv6 the half that its owner cannot choose."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return str(known)
    return str(known.ipv4_mapped or IPv6Address(int(known) >> 64 << 64))
