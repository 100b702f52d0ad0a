"""Addresses of servers, as people write them."""

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
        raise Misused(f"{text!r} is no server's address; it looks like {DEFAULT_SERVER}")
    return address


def is_local(server: str) -> bool:
    """Whether a server is on this machine, so that no proxy lies between."""
    return urlsplit(server).hostname in LOOPBACK
