"""Guests: players who have given a name and received a token that identifies them."""

from hashlib import sha256
from secrets import token_hex, token_urlsafe

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal_server.store.connection import Store, Word


class Guest(Struct, frozen=True):
    """A player who can join races."""

    player: str
    """The public id."""
    name: str


class Guests:
    """Guests by token. The store has only digests of the tokens."""

    def __init__(self, store: Store, days: int = 0) -> None:
        """`days` is how long guests are stored after their last visit; 0 keeps them forever."""
        self._store, self._days = store, days

    async def create(self, name: str) -> tuple[Guest, str]:
        """Create a guest and a token. Raises Refused for an invalid name, Refused("store-unavailable")."""
        guest, token = Guest(token_hex(8), normalised(name)), f"sd_{token_urlsafe(24)}"
        creation = "HSET", _key(token), "player", guest.player, "name", guest.name
        await self._store.retry_all(creation, self._extension(token))
        return guest, token

    async def authenticate(self, token: str) -> Guest:
        """Return the guest with a token. Raises Refused("bad-token") for an unknown token."""
        player, name = await self._store.ask("HMGET", _key(token), "player", "name")
        if player is None or name is None:
            raise Refused("bad-token")
        await self._store.retry(*self._extension(token))
        return Guest(player.decode(), name.decode())

    def _extension(self, token: str) -> tuple[Word, ...]:
        """Return the command that restarts the time for which a guest is stored."""
        return ("EXPIRE", _key(token), self._days * 86_400) if self._days else ("PERSIST", _key(token))


def _key(token: str) -> str:
    return f"guest:{sha256(token.encode()).hexdigest()}"
