"""Login codes: each lets a guest log in on one more device, once."""

from secrets import choice
from typing import Final

from samedeal.errors import Refused
from samedeal_server.store.connection import Store
from samedeal_server.store.guest_tokens import Guest, Guests, digest, new_token
from samedeal_server.store.withdrawals import ERASED

EXPIRE_S: Final = 600
ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's Base32, without letters that look like others."""
LENGTH: Final = 12
"""The number of characters, of 5 random bits each."""
_GROUP: Final = 4
_AS_TYPED: Final = str.maketrans("OIL", "011", "- \t\r\n")
"""Corrects misread characters and removes what separates groups."""


class LoginCodes:
    """Login codes. A guest has at most one valid code. The store has only digests of the codes."""

    def __init__(self, store: Store, guests: Guests) -> None:
        self._store, self._guests = store, guests
        self._redeem = store.script("redeem.lua")

    async def create(self, token: str) -> str:
        """Return a new code for the guest with a token; it replaces the previous one. It dies with the token.

        Raises Refused("bad-token"), Refused("store-unavailable").
        """
        guest = await self._guests.authenticate(token)
        characters = "".join(choice(ALPHABET) for _ in range(LENGTH))
        code_digest = digest(characters)
        await self._store.retry_all(
            ("SET", _code_key(code_digest), digest(token), "EX", EXPIRE_S),
            ("SET", _player_key(guest.player), code_digest, "EX", EXPIRE_S),
        )
        return "-".join(characters[at : at + _GROUP] for at in range(0, LENGTH, _GROUP))

    async def redeem(self, code: str) -> tuple[Guest, str]:
        """Use up a code as a user typed it. Return its guest and a new token.

        Raises Refused("bad-code") if the code is wrong, used, replaced or expired, or if the device that created it has
        logged out. Raises Refused("store-unavailable"), after which the code may be used up.
        """
        code_digest, token = digest(code.upper().translate(_AS_TYPED)), new_token()
        creator: bytes | None = await self._store.ask("GET", _code_key(code_digest))
        guest = await self._guests.find(creator.decode()) if creator else None
        if guest is None or not await self._redeem.run([_player_key(guest.player)], [code_digest, digest(token)]):
            raise Refused("bad-code")
        if await self._store.ask("ZSCORE", ERASED, guest.player) is not None:
            raise Refused("bad-code")
        await self._guests.add_token(guest, token)
        return guest, token


def _code_key(code_digest: str) -> str:
    """Return the key of the digest of the token that created a code."""
    return f"login:code:{code_digest}"


def _player_key(player: str) -> str:
    """Return the key of the digest of a player's newest code."""
    return f"login:player:{player}"
