"""Guests: a name gives a token, and whoever has the token is that guest."""

from hashlib import sha256
from secrets import token_hex, token_urlsafe

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal_server.store import Store, Word


class Guest(Struct, frozen=True):
    """Somebody who may take seats."""

    player: str
    """The public id."""
    name: str


class Guests:
    """Everybody who was given a token and did not stay away too long. The store keeps only the tokens' digests."""

    def __init__(self, store: Store, days: int = 0) -> None:
        """`days` is how long one who does not come is remembered; 0 is for ever."""
        self._store, self._days = store, days

    async def welcome(self, name: str) -> tuple[Guest, str]:
        """A new guest and the token. Raises Refused for a bad name, or if the store is away."""
        guest, token = Guest(token_hex(8), normalised(name)), f"sd_{token_urlsafe(24)}"
        written = "HSET", _key(token), "player", guest.player, "name", guest.name
        await self._store.insist_all(written, self._remembered(token))
        return guest, token

    async def known(self, token: str) -> Guest:
        """The guest whose token this is. Raises Refused("bad-token") if there is none."""
        player, name = await self._store.ask("HMGET", _key(token), "player", "name")
        if player is None or name is None:
            raise Refused("bad-token")
        await self._store.insist(*self._remembered(token))
        return Guest(player.decode(), name.decode())

    def _remembered(self, token: str) -> tuple[Word, ...]:
        """The command that begins the time anew for which a guest is remembered."""
        return ("EXPIRE", _key(token), self._days * 86_400) if self._days else ("PERSIST", _key(token))


def _key(token: str) -> str:
    return f"guest:{sha256(token.encode()).hexdigest()}"
