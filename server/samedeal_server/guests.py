"""Guests: a name gives a token, and whoever has the token is that guest."""

from hashlib import sha256
from secrets import token_hex, token_urlsafe

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal_server.store import Store


class Guest(Struct, frozen=True):
    """Somebody who may take seats."""

    player: str
    """The public id."""
    name: str


class Guests:
    """Everybody who was ever given a token. The store keeps only the tokens' digests."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def welcome(self, name: str) -> tuple[Guest, str]:
        """A new guest and the token. Raises Refused for a bad name, or if the store is away."""
        guest, token = Guest(token_hex(8), normalised(name)), f"sd_{token_urlsafe(24)}"
        await self._store.insist("HSET", _key(token), "player", guest.player, "name", guest.name)
        return guest, token

    async def known(self, token: str) -> Guest:
        """The guest whose token this is. Raises Refused("bad-token") if there is none."""
        player, name = await self._store.ask("HMGET", _key(token), "player", "name")
        if player is None or name is None:
            raise Refused("bad-token")
        return Guest(player.decode(), name.decode())


def _key(token: str) -> str:
    return f"guest:{sha256(token.encode()).hexdigest()}"
