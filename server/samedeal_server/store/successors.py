"""Successors: which race follows a finished one. There is at most one at a time."""

from msgspec import DecodeError, Struct, json

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.wire.messages import Rematch
from samedeal_server.store.connection import Store
from samedeal_server.store.guest_tokens import Guest


class Successor(Struct, frozen=True):
    """A rematch: it may not have been opened yet if the process that chose it died."""

    header: Header
    by: str = ""
    """The name of the player who asked for it first; empty for a race that replaces a lobby, since erasing a player
    would not find it there."""
    player: str = ""
    """The player's public id, or empty."""

    @property
    def host(self) -> Guest | None:
        """The guest who hosts the rematch."""
        return Guest(self.player, self.by) if self.player else None

    @property
    def rematch(self) -> Rematch:
        return Rematch(race=self.header.race, game=self.header.game, by=self.by)


class Successors:
    """The successors of races. All methods raise Refused("store-unavailable")."""

    def __init__(self, store: Store, expire_s: int | None) -> None:
        """`expire_s` is how long they are stored, as for replays; None keeps them forever."""
        self._store, self._expire_s = store, expire_s
        self._put = store.script("successor.lua")

    async def get(self, race_id: str) -> Successor | None:
        """Return the successor of a race. Raises Refused("unsupported-version") if a newer version wrote it."""
        text = await self._store.ask("HGET", _key(race_id), "successor")
        return None if text is None else _decoded(race_id, text)

    async def put(self, race_id: str, successor: Successor, *, replacing: Successor | None) -> Successor:
        """Set the successor of a race if it is still `replacing`. Return the successor it has then. Safe to repeat."""
        old = replacing.header.race if replacing else ""
        arguments = old, successor.header.race, json.encode(successor), self._expire_s or 0
        return _decoded(race_id, await self._put.run([_key(race_id)], arguments))


def _decoded(race_id: str, text: bytes) -> Successor:
    try:
        return decoder("json", Successor).decode(text)
    except (DecodeError, UnicodeError) as error:
        why = f"The rematch of {race_id} cannot be read, perhaps because a newer version opened it: {error}."
        raise Refused("unsupported-version", why) from error


def _key(race_id: str) -> str:
    return f"successor:{{{race_id}}}"
