"""Network addresses: the server's URL, listening sockets and the networks of clients."""

import socket
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.requests import Request

from samedeal_server.settings import Settings, SettingsError


def base_url(request: Request, settings: Settings) -> str:
    """Return the server's URL without a trailing slash: the public URL, or the URL of the request."""
    return settings.public_url or str(request.base_url).rstrip("/")


def bind(host: str, port: int, *, shared: bool = False, listen: bool = True) -> socket.socket:
    """Return a socket bound to an address. With `listen` false, it only reserves the port.

    If it is shared, other processes may listen on the same port, and the kernel distributes connections among them.
    Raises SettingsError.
    """
    if shared and not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("This system does not support several workers on one port: SAMEDEAL_WORKERS must be 1.")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
        if listen:
            sock.listen()  # fails now if another server is about to listen on the same port
    except OSError as error:
        sock.close()
        raise SettingsError(f"Cannot listen on {host} port {port}: {error}") from error
    return sock


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
