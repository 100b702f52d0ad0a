"""The deal finder: searches, in a separate process, for the first deal of a root that passes a filter."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from msgspec import msgpack

from samedeal.computer.deal_filters import has_filter
from samedeal.game import Game, Variant
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header
from samedeal.race.race import Race
from samedeal_server.net.limits import Place
from samedeal_server.net.logs import about
from samedeal_server.work.pool import Jobs

logger = logging.getLogger(__name__)

MAX_SEARCHES: Final = 96
"""Maximum number of searches in the queue of this process. A search takes 0.3 s on average."""
MAX_SEARCHES_PER_ADDRESS: Final = 8
"""Maximum per address. At 0.3 s each they all finish within the usual countdown of 5 s."""
FULL: Final = "Too many races are waiting for their deal; wait a few seconds and try again."
SETTLE_S: Final = 0.5
"""How long a search waits for more nonces while some are missing, so that not every late one restarts it (s)."""
MAX_RETRY_S: Final = 60.0
SEARCH_TIMEOUT_S = 2.0
"""How long a response waits for the search for a deal that nobody has played (s)."""
MAX_KNOWN: Final = 1_000
"""Maximum number of cached common deals."""
NO_VARIANT: Final[Variant] = {}


class DealFinder:
    """Searches for the numbers of deals; only once for each common deal, however many races are on it."""

    def __init__(self) -> None:
        self.jobs = Jobs(MAX_SEARCHES, MAX_SEARCHES_PER_ADDRESS, FULL, queue="deals")
        """The queue of searches."""
        self._common: dict[tuple[str, str], asyncio.Task[int]] = {}  # by root and filter

    async def stop(self) -> None:
        """Stop the searches for common deals, and the process."""
        for search in self._common.values():
            search.cancel()
        await asyncio.gather(*self._common.values(), return_exceptions=True)
        await self.jobs.stop()

    def check(self, game: type[Game], name: str, address: str) -> None:
        """Raise Refused("too-many") if the queue has no place for a search of a client address."""
        if has_filter(game, name):
            self.jobs.turns.check(address)

    async def number(self, race: Race, place: Place) -> int:
        """Return the number of the deal that a race's root and filter lead to."""
        query = race.header.game, race.root or "", race.header.variant, race.options.filter
        return await self._search(place, *query, race_id=race.id)

    def common(
        self, game: type[Game], root: str, name: str, variant: Variant = NO_VARIANT, address: str = ""
    ) -> asyncio.Task[int]:
        """Return the search for the number of a deal that is common to several races. It may already be done.

        `address` is that of the client who causes it, empty if unknown.
        """
        search = self._common.get((root, name))
        if search is None or search.cancelled():
            search = asyncio.get_running_loop().create_task(self._common_number(game, root, name, variant, address))
            self._common[root, name] = search
            for key in [key for key, search in self._common.items() if search.done()][:-MAX_KNOWN]:
                del self._common[key]
        return search

    def knows(self, race: Race) -> bool:
        """Return whether the common deal of a race has been searched for."""
        return (race.root or "", race.options.filter) in self._common

    async def code(self, game: type[Game], root: str, name: str, variant: Variant = NO_VARIANT) -> str | None:
        """Return the code of a common deal, or None if the search takes too long.

        Only one search runs at a time, so that requests keep no more than one processor busy.
        """
        if (root, name) not in self._common and not all(search.done() for search in self._common.values()):
            return None
        search = self.common(game, root, name, variant)
        await asyncio.wait((search,), timeout=SEARCH_TIMEOUT_S)
        if not search.done():
            return None
        if error := search.exception():
            logger.error("the search for a deal of %s failed: %s", game.slug, error)
            return None
        return f"{game.slug}:{root}.{search.result()}"

    async def _common_number(self, game: type[Game], root: str, name: str, variant: Variant, address: str) -> int:
        if not has_filter(game, name):
            return 0
        with self.jobs.turns.place(address, always=True) as place:
            return await self._search(place, game.slug, root, variant, name)

    async def _search(
        self, place: Place, game: str, root: str, variant: Variant, name: str, *, race_id: str | None = None
    ) -> int:
        """Return the result of a search. Failures are retried with exponential backoff."""
        query, pause_s = msgpack.encode((game, root, variant, name)), 1.0
        while True:
            try:
                return int(await self.jobs.run(place, "deal", query))
            except Exception as error:
                message = f"the search for a deal of {game} failed; retrying in {pause_s:g} s"
                logger.error("%s: %s", message, error, extra=about(race=race_id))
                await asyncio.sleep(pause_s)
                pause_s = min(MAX_RETRY_S, 2 * pause_s)


class DealSearch:
    """The search for one race's deal: at most one at a time, for the current root."""

    def __init__(self, deal_finder: DealFinder, on_done: Callable[[], object]) -> None:
        """`on_done` is called when the number is known."""
        self._finder, self._on_done = deal_finder, on_done
        self._address = ""
        self._place: Place | None = None
        self._root: str | None = None
        self._search: asyncio.Task[int] | None = None

    def reserve(self, race: Race, address: str) -> None:
        """Reserve a place in the queue for a race that is about to start its countdown, if it needs one.

        `address` is the client's, empty if unknown. Raises Refused("too-many") if the queue is full.
        """
        self._address = address
        if not race.ready_to_start or self._place or not is_searched(race.header):
            return
        if race.header.heat and not self._finder.knows(race):
            self._finder.jobs.turns.check(address)
        elif not race.header.is_common:
            self._place = self._finder.jobs.turns.place(address)

    def number(self, race: Race) -> int | None:
        """Return which deal of the root to deal, or None while the search is running.

        Cancels a search for another root. While nonces are missing, a search starts after SETTLE_S without new ones.
        """
        if race.root is None or not is_searched(race.header):
            return 0
        if self._search is None or self._root != race.root:
            delay_s = 0.0 if race.has_all_nonces else SETTLE_S
            if self._search:
                self._search.cancel()
            self._root = race.root
            self._search = asyncio.get_running_loop().create_task(self._find(race, delay_s))
            self._search.add_done_callback(lambda _: self._on_done())
        return self._search.result() if self._search.done() else None

    def end(self) -> None:
        """Cancel the search and release the place in the queue."""
        if self._search:
            self._search.cancel()
        if self._place:
            self._place.release()
        self._root = self._search = self._place = None

    async def close(self) -> None:
        """Do the same as ``end``, and wait until the search has ended."""
        search = self._search
        self.end()
        if search:
            await asyncio.gather(search, return_exceptions=True)

    async def _find(self, race: Race, delay_s: float) -> int:
        await asyncio.sleep(delay_s)
        if race.header.is_common:
            query = race.game, race.root or "", race.options.filter, race.header.variant
            search = self._finder.common(*query, self._address)
            return await asyncio.shield(search)
        # A race in its countdown always gets a place, even if none was reserved in this process.
        place = self._place = self._place or self._finder.jobs.turns.place(self._address, always=True)
        number = await self._finder.number(race, place)
        place.release()
        self._place = None
        return number


def is_searched(header: Header) -> bool:
    """Return whether a race's deal requires a search: not if the deal is open or has no filter."""
    return header.seed is None and header.game in GAMES and has_filter(GAMES[header.game], header.options.filter)
