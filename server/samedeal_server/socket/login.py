"""Login: who the client of a connection is, from its hello."""

import logging
from collections.abc import Collection
from functools import partial

from samedeal.errors import Refused
from samedeal.wire.messages import Hello, Welcome
from samedeal_server.net.limits import RateLimits
from samedeal_server.net.logs import about
from samedeal_server.net.responses import PROGRAM
from samedeal_server.store.bans import covers
from samedeal_server.store.guest_tokens import Guest, Guests, digest

logger = logging.getLogger(__name__)


class Login:
    """The guest who uses a connection."""

    def __init__(self, guests: Guests, rate_limits: RateLimits, connection: str, address: str, bearer: str | None):
        """`bearer` is the token from the handshake's Authorization header."""
        self._guests, self._bans, self._rate_limits = guests, guests.bans, rate_limits
        self.connection, self._address, self._bearer = connection, address, bearer
        self._token_digest = ""
        self._is_new = False
        self.guest: Guest | None = None
        """None before the hello."""
        self.features = frozenset[str]()
        self.format = 1
        """The newest race format that the client reads."""
        self.waits_for_store = False
        """Whether the store, not the client, delays the hello."""

    def uses(self, token_digests: Collection[str]) -> bool:
        """Return whether the guest's token is among those with these digests."""
        return self._token_digest in token_digests

    def is_meant_by(self, subject: str) -> bool:
        """Return whether a subject of a ban means the client, see ``subject_of``."""
        player, name = (self.guest.player, self.guest.name) if self.guest else ("", "")
        return covers(subject, player=player, name=name, address=self._address)

    def check_reads(self, race_format: int) -> None:
        """Raise Refused("unsupported-version") if the client cannot read races of a format."""
        if race_format > self.format:
            text = f"This race needs race format {race_format}; this client reads format {self.format}."
            raise Refused("unsupported-version", f"{text} Update the client.")

    async def hello(self, hello: Hello) -> Welcome:
        """Identify the guest, or create one. Raises Refused."""
        if self.guest is not None:
            raise Refused("bad-message", "Hello can be sent only once.")
        self.waits_for_store = True
        try:
            guest, new_token = await self._guest(hello)
            self._bans.check_address(self._address)  # it may have been banned after the handshake
        except Refused as refused:
            self.waits_for_store = refused.code == "store-unavailable"
            raise
        self.guest, self.format, self.features = guest, hello.format, frozenset(hello.features)
        logger.debug("%s says hello with %r", guest.player, hello.client, extra=about(connection=self.connection))
        return Welcome(re=hello.id, player=guest.player, name=guest.name, token=new_token, server=PROGRAM)

    async def keep(self) -> None:
        """Store a new guest who is about to take a seat for as long as others. Raises Refused("store-unavailable")."""
        if self._is_new:
            await self._guests.extend(self._token_digest)
            self._is_new = False

    async def _guest(self, hello: Hello) -> tuple[Guest, str | None]:
        """Return the guest, and the token if it is a new one."""
        token = hello.token or (self._bearer if hello.name is None else None)
        if token is not None:
            self._token_digest = digest(token)  # before it is looked up: it can be revoked at any time
            try:
                return await self._guests.authenticate(token), None
            except Refused as refused:
                if refused.code == "bad-token":
                    self._rate_limits.wrong_tokens.take(self._address)
                raise
        if hello.name is None:
            raise Refused("bad-message", "Hello needs a name or a token.")
        guest, new_token = await self._guests.create(hello.name, partial(self._rate_limits.guests.take, self._address))
        self._token_digest, self._is_new = digest(new_token), True
        return guest, new_token
