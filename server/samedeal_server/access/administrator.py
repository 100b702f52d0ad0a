"""The administrator: who may use the admin endpoints."""

import hmac
from typing import Final, Literal

from starlette.requests import Request
from starlette.types import Scope

from samedeal.errors import Refused
from samedeal_server.access.limits import RateLimits
from samedeal_server.http.requests import bearer_token, client_network
from samedeal_server.settings import Settings

Credential = Literal["socket", "key"]
"""How an administrator is identified."""
CREDENTIAL: Final = "samedeal.credential"
"""The name in the ASGI scope of an administrator's Credential."""


def from_socket(scope: Scope) -> Scope:
    """Return the scope of a request that arrived on the admin socket, which only the server's user can open."""
    return {**scope, CREDENTIAL: "socket"}


def credential(request: Request) -> Credential:
    """Return how the administrator of a checked request is identified."""
    found: Credential = request.scope[CREDENTIAL]
    return found


class AdminCheck:
    """Checks that a request comes from the admin socket or has the admin key."""

    def __init__(self, rate_limits: RateLimits, settings: Settings) -> None:
        self._wrong, self._key = rate_limits.wrong_tokens, settings.admin_key

    def __call__(self, request: Request) -> None:
        """Raise Refused("not-found") if no key is set, Refused("bad-token") for another key, Refused("too-many")."""
        if CREDENTIAL in request.scope:
            return
        if self._key is None:
            raise Refused("not-found", "This server has no admin key: use its admin socket.")
        given = (bearer_token(request) or "").encode()
        if not hmac.compare_digest(given, self._key.encode()):
            self._wrong.take(client_network(request))
            raise Refused("bad-token", "The admin key is missing or wrong.")
        request.scope[CREDENTIAL] = "key"
