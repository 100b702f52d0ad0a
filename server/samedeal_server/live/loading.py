"""Loading: reads races from the store, live or finished, with everything else that their rooms need."""

import asyncio
from collections.abc import Callable

from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal_server.live.opening import RaceOpener
from samedeal_server.live.rematch_lobbies import RematchLobbies
from samedeal_server.live.room_parts import RaceState
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore
from samedeal_server.work import finished_race
from samedeal_server.work.pool import JobFailed
from samedeal_server.work.renderings import Renderings


class RaceLoader:
    """Loads races."""

    def __init__(
        self, store: RaceStore, opener: RaceOpener, renderings: Renderings, rematch_lobbies: RematchLobbies
    ) -> None:
        self._store, self._opener = store, opener
        self._renderings, self._rematch_lobbies = renderings, rematch_lobbies
        self._folding = asyncio.Lock()  # every thread that computes delays the event loop

    async def finished(self, race_id: str, client: str) -> Callable[[], RaceState] | None:
        """Return a function that decodes a race from the archive, if it is there. A long race takes 10 ms.

        `client` is the client's network or address, or empty.
        Raises Refused("too-many") if the client is already waiting for too many races.
        """
        if (stored := await self._store.archive.data(race_id)) is None:
            return None
        try:
            folded = await self._renderings.render(client, "finished-race", stored)
        except JobFailed as error:
            raise Refused("internal") from error
        rematch = await self._rematch_lobbies.successor(race_id, is_over=True)
        return lambda: RaceState(finished_race.decode(folded), archived=True, rematch=rematch)

    async def live(self, race_id: str) -> RaceState:
        """Return a race that is not in the archive. Raises Refused("not-found").

        Look in the archive first: a race there is over even if the store has lost the end of its log.
        """
        if (header := await self._store.log.field(race_id, "header", Header)) is None:
            raise Refused("not-found", "This race was not found.")
        entries, host = await self._store.log.read(race_id), await self._store.log.field(race_id, "host", Guest)
        if behind_ms := await self._store.live.behind_ms(race_id):
            await self._store.clock.measure()  # another process may have noticed first that the clock was set
        async with self._folding:
            race = await asyncio.to_thread(self._opener.opened(header).after_all, entries)  # a long log takes seconds
        if race.stage != "open":
            return RaceState(race, entries, behind_ms, host=host)
        if replacement := await self._rematch_lobbies.successor(race_id, is_over=False):
            return RaceState(race, entries, behind_ms, rematch=replacement)
        replaces = await self._store.log.field(race_id, "replaces", str)
        rejoining = await self._rematch_lobbies.rejoining(header, replaces)
        return RaceState(race, entries, behind_ms, host=host, rejoining=rejoining)
