"""Par results: the computed par of each deal, stored for a month."""

from typing import Final

from samedeal.computer.bots import BOTS
from samedeal.computer.par import Par
from samedeal.game import Game, Variant
from samedeal.wire import codec
from samedeal_server.store.connection import Store

EXPIRE_S: Final = 30 * 86_400
"""Computing a par again takes about a second."""


class ParResults:
    """Stored pars by ``key``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, key: str) -> Par | None:
        """Return a stored par, or None."""
        data = await self._store.ask("GET", key)
        return None if data is None else codec.decode(data, "json", Par)

    async def has(self, key: str) -> bool:
        """Return whether a par is stored."""
        return bool(await self._store.ask("EXISTS", key))

    async def put(self, key: str, par: bytes) -> None:
        """Store a par, given as JSON. Safe to repeat."""
        await self._store.retry("SET", key, par, "EX", EXPIRE_S)


def key(game: type[Game], seed: str, variant: Variant) -> str:
    """Return the key of a deal's par. It names the bot, so that a new bot computes the par again."""
    return f"par:{BOTS[game.slug].name}:{codec.encode(variant, 'json').decode()}:{seed}"
