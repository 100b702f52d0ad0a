"""Guests: players who have given a name, and the tokens that identify them, one for each of their devices."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import Final

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal_server.store.bans import Bans
from samedeal_server.store.connection import Store, Word

UNUSED_DAYS: Final = 7
"""How long the token of a new guest is stored unless it is used again or the guest takes a seat."""


class Guest(Struct, frozen=True):
    """A player who can join races."""

    player: str
    """The public id."""
    name: str


class Guests:
    """Guests by token. The store has only digests of the tokens."""

    def __init__(
        self,
        store: Store,
        days: int = 0,
        bans: Bans | None = None,
        check_name: Callable[[str], object] = normalised,
        seen: Callable[[str], object] = lambda _: None,
    ) -> None:
        """`days` is how long tokens are stored after they were last used, for a new guest at most UNUSED_DAYS; 0 keeps
        them forever. `check_name` raises Refused if a new guest may not have a name. `seen` is called with the digest
        of each valid token.
        """
        self._store, self._days, self.bans = store, days, bans or Bans()
        self.check_name, self._seen = check_name, seen

    async def create(self, name: str, admit: Callable[[], object] = lambda: None) -> tuple[Guest, str]:
        """Create a guest and a token. `admit` is called for a valid name, and raises Refused if there are too many.

        Raises Refused for an invalid, refused or banned name, Refused("store-unavailable").
        """
        self.check_name(name)
        admit()
        guest, token = Guest(token_hex(8), normalised(name)), new_token()
        self.bans.check_guest(guest.player, guest.name)
        await self.add_token(guest, token, min(self._days, UNUSED_DAYS))
        self.bans.check_guest(guest.player, guest.name)  # the name may have been banned meanwhile
        self._seen(digest(token))
        return guest, token

    async def add_token(self, guest: Guest, token: str, days: int | None = None) -> None:
        """Let a token identify a guest, at first for `days`. Safe to repeat. Raises Refused("store-unavailable")."""
        key = _key(digest(token))
        fields = ("HSET", key, "player", guest.player, "name", guest.name)
        await self._store.retry_all(fields, self._extension(key, days))

    async def authenticate(self, token: str) -> Guest:
        """Return the guest with a token. Raises Refused("bad-token") for an unknown token, Refused("banned")."""
        guest = await self.find(digest(token))
        if guest is None:
            raise Refused("bad-token")
        await self.extend(digest(token))
        self.bans.check_guest(guest.player, guest.name)  # last, because the ban can arrive at any time
        self._seen(digest(token))
        return guest

    async def extend(self, token_digest: str) -> None:
        """Restart the time for which a token is stored. Safe to repeat. Raises Refused("store-unavailable")."""
        await self._store.retry(*self._extension(_key(token_digest)))

    async def find(self, token_digest: str) -> Guest | None:
        """Return the guest with the token of a digest, if any. Raises Refused("store-unavailable")."""
        player, name = await self._store.ask("HMGET", _key(token_digest), "player", "name")
        return None if player is None or name is None else Guest(player.decode(), name.decode())

    async def remove_token(self, token: str) -> bool:
        """Remove a token. Return whether it was known. Safe to repeat. Raises Refused("store-unavailable")."""
        return bool(await self._store.retry("DEL", _key(digest(token))))

    async def revoke_all(self, player: str) -> list[str]:
        """Remove all tokens of a player, and return their digests. Reads all guests: about 1 s for 100,000 of them.

        Safe to repeat. Raises Refused("store-unavailable").
        """
        revoked = list[str]()
        async for keys in self._store.keys(_key("*")):
            names = [key.decode() for key in keys]
            players = await self._store.ask_all([("HGET", name, "player") for name in names])
            for name in (name for name, found in zip(names, players, strict=True) if found == player.encode()):
                await self._store.retry("DEL", name)
                revoked.append(name.partition(":")[2])
            await asyncio.sleep(0)  # serve moves in between
        return revoked

    def _extension(self, key: str, days: int | None = None) -> tuple[Word, ...]:
        """Return the command that restarts the time for which a token is stored."""
        days = self._days if days is None else days
        return ("EXPIRE", key, days * 86_400) if days else ("PERSIST", key)


def new_token() -> str:
    """Return a random token."""
    return f"sd_{token_urlsafe(24)}"


def digest(secret: str) -> str:
    """Return the digest under which the store knows a token or a login code."""
    return sha256(secret.encode()).hexdigest()


def _key(token_digest: str) -> str:
    return f"guest:{token_digest}"
