"""Guests: choosing a name, logging in on another device, and logging out."""

from functools import partial
from typing import Annotated, Final

from msgspec import Meta, Struct, json
from starlette.requests import Request
from starlette.responses import Response

from samedeal.errors import Refused
from samedeal_server.api.endpoint import V1, BodySpec, ResponseSpec, route
from samedeal_server.net.limits import RateLimits
from samedeal_server.net.requests import base_url, bearer_token, client_network, read_json, while_connected
from samedeal_server.net.responses import json_response
from samedeal_server.settings import Settings
from samedeal_server.store.guest_tokens import Guests, digest
from samedeal_server.store.login_codes import EXPIRE_S, LoginCodes
from samedeal_server.store.revocations import Revocations
from samedeal_server.work.pool import Jobs

MAX_BYTES: Final = 1024


class NewGuest(Struct, frozen=True, forbid_unknown_fields=True):
    """A guest to create."""

    name: Annotated[str, Meta(max_length=64)]
    """1 to 24 characters. The server may refuse it."""


class LoginCode(Struct, frozen=True):
    """A code that logs in one more device of the guest, once. The guest's previous code is no longer valid."""

    code: str
    link: str
    """The page that asks whether to log in. The code is in the fragment, which browsers do not send."""
    qr: tuple[str, ...]
    """The link as a QR code without its quiet zone: rows of modules, `1` for dark."""
    expires_in_s: int


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """A login code."""

    code: Annotated[str, Meta(max_length=64)]
    """Case, spaces and hyphens do not matter."""


class LoggedIn(Struct, frozen=True):
    """The player that a device now plays as."""

    player: str
    name: str
    token: str
    """The device's own token, which must be kept secret."""


class Devices:
    """The endpoints that create guests, and add and remove their devices."""

    def __init__(
        self,
        guests: Guests,
        codes: LoginCodes,
        revocations: Revocations,
        jobs: Jobs,
        rate_limits: RateLimits,
        settings: Settings,
    ) -> None:
        self._guests, self._codes, self._revocations = guests, codes, revocations
        self._jobs, self._rate_limits, self._settings = jobs, rate_limits, settings

    @route(
        "POST",
        f"{V1}/guests",
        ResponseSpec(201, LoggedIn),
        body=BodySpec(NewGuest),
        refuses=("bad-message", "name-refused", "foreign-page", "store-unavailable"),
        cost=5,
    )
    async def create(self, request: Request) -> Response:
        """Create a guest, as `hello` with a name does. With the token, races can be opened and joined."""
        new = await read_json(request, NewGuest, MAX_BYTES)
        admit = partial(self._rate_limits.guests.take, client_network(request))
        guest, token = await self._guests.create(new.name, admit)
        return json_response(LoggedIn(guest.player, guest.name, token), 201)

    @route(
        "POST",
        f"{V1}/guests/pass",
        refuses=("bad-token", "foreign-page", "store-unavailable"),
        cost=20,
    )
    async def create_code(self, request: Request) -> LoginCode:
        """Create a code with which the guest of the token logs in on another device."""
        try:
            code = await self._codes.create(_token(request))
        except Refused as refused:
            raise self._counted(request, refused) from None
        link = f"{base_url(request, self._settings)}/login#{code}"
        with self._jobs.turns.place(client_network(request)) as place:  # not cached, because it contains the code
            qr = await while_connected(request, self._jobs.run(place, "qr", link.encode()))
        return LoginCode(code, link, json.decode(qr, type=tuple[str, ...]), EXPIRE_S)

    @route(
        "POST",
        f"{V1}/guests/login",
        ResponseSpec(kind=LoggedIn),
        body=BodySpec(Login),
        refuses=("bad-code", "foreign-page", "store-unavailable"),
        cost=5,
    )
    async def log_in(self, request: Request) -> LoggedIn:
        """Exchange a code for a token of this device. If the response is lost, the code may be used up."""
        login = await read_json(request, Login, MAX_BYTES)
        try:
            guest, token = await self._codes.redeem(login.code)
        except Refused as refused:
            raise self._counted(request, refused) from None
        return LoggedIn(guest.player, guest.name, token)

    @route(
        "POST",
        f"{V1}/guests/logout",
        ResponseSpec(204, media=()),
        refuses=("bad-token", "foreign-page", "store-unavailable"),
        cost=5,
    )
    async def log_out(self, request: Request) -> Response:
        """Revoke the token, and close its connections. Other devices stay logged in. Safe to repeat."""
        token = _token(request)
        if not await self._guests.remove_token(token):
            self._rate_limits.wrong_tokens.take(client_network(request))
        await self._revocations.announce(digest(token))
        return Response(status_code=204)

    def _counted(self, request: Request, refused: Refused) -> Refused:
        """Return a refusal, counting unknown tokens and codes. Raises Refused("too-many")."""
        if refused.code in ("bad-token", "bad-code"):
            self._rate_limits.wrong_tokens.take(client_network(request))
        return refused


def _token(request: Request) -> str:
    if token := bearer_token(request):
        return token
    raise Refused("bad-token")
