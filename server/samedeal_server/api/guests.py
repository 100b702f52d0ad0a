"""Guests: choosing a name, logging in on another device, and logging out."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal_server.api.endpoint import STORE_REFUSALS, V1, ResponseSpec, route
from samedeal_server.net.limits import RateLimits
from samedeal_server.net.requests import while_connected
from samedeal_server.store.guest_tokens import Guests, digest
from samedeal_server.store.login_codes import EXPIRE_S, LoginCodes
from samedeal_server.store.revocations import Revocations
from samedeal_server.work.pool import Jobs


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
    ) -> None:
        self._guests, self._codes, self._revocations = guests, codes, revocations
        self._jobs, self._rate_limits = jobs, rate_limits

    @route(
        "POST",
        f"{V1}/guests",
        ResponseSpec(201, LoggedIn),
        refuses=("bad-message", "name-refused", *STORE_REFUSALS),
        cost=5,
    )
    async def create(self, body: NewGuest, client: str) -> LoggedIn:
        """Create a guest, as `hello` with a name does. With the token, races can be opened and joined."""
        guest, token = await self._guests.create(body.name, partial(self._rate_limits.guests.take, client))
        return LoggedIn(guest.player, guest.name, token)

    @route("POST", f"{V1}/guests/pass", refuses=STORE_REFUSALS, cost=20)
    async def create_code(self, request: Request, token: str, base: str, client: str) -> LoginCode:
        """Create a code with which the guest of the token logs in on another device."""
        with self._counting(client):
            code = await self._codes.create(token)
        link = f"{base}/login#{code}"
        with self._jobs.turns.place(client) as place:  # not cached, because it contains the code
            qr = await while_connected(request, self._jobs.run(place, "qr", link.encode()))
        return LoginCode(code, link, decoder("json", tuple[str, ...]).decode(qr), EXPIRE_S)

    @route("POST", f"{V1}/guests/login", refuses=("bad-code", *STORE_REFUSALS), cost=5)
    async def log_in(self, body: Login, client: str) -> LoggedIn:
        """Exchange a code for a token of this device. If the response is lost, the code may be used up."""
        with self._counting(client):
            guest, token = await self._codes.redeem(body.code)
        return LoggedIn(guest.player, guest.name, token)

    @route("POST", f"{V1}/guests/logout", ResponseSpec(204, media=()), refuses=STORE_REFUSALS, cost=5)
    async def log_out(self, token: str, client: str) -> None:
        """Revoke the token, and close its connections. Other devices stay logged in. Safe to repeat."""
        if not await self._guests.remove_token(token):
            self._rate_limits.wrong_tokens.take(client)
        await self._revocations.announce(digest(token))

    @contextmanager
    def _counting(self, client: str) -> Iterator[None]:
        """Count unknown tokens and codes. Raises Refused("too-many")."""
        try:
            yield
        except Refused as refused:
            if refused.code in ("bad-token", "bad-code"):
                self._rate_limits.wrong_tokens.take(client)
            raise
