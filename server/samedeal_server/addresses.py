"""Addresses: how others reach this server."""

from starlette.requests import Request

from samedeal_server.settings import Settings


def base_of(request: Request, settings: Settings) -> str:
    """The server's own address without a slash at its end: the public one, or that of the request."""
    return (settings.public_url or str(request.base_url)).rstrip("/")
