"""The dealer: finds which deal of a root is dealt, in a process beside the server, so that no player waits for it."""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Final

from msgspec import msgpack

from samedeal.catalogue import GAMES
from samedeal.friendly import usual_filter
from samedeal.game import Game, Variant
from samedeal.log import Header
from samedeal.race import Race
from samedeal_server.jobs import Jobs
from samedeal_server.log_lines import about
from samedeal_server.turns import Place

logger = logging.getLogger(__name__)

MAX_SEARCHES: Final = 96
"""How many searches and pars may be in the queue of this process. A search takes 0.3 s on average."""
MAX_SEARCHES_PER_ADDRESS: Final = 8
"""How many of them from one address: at 0.3 s each they all end within the usual countdown of 5 s."""
FULL: Final = "Too many races are waiting for their deal; wait a few seconds and try again."
SETTLE_S: Final = 0.5
"""How long a search waits for further nonces when some are late, so that they do not start one each."""
MAX_RETRY_S: Final = 60.0
MOST_KNOWN: Final = 1_000
"""How many daily deals are remembered."""


class Dealer:
    """Looks for numbers of deals, and for that of a daily deal once, however many races have it."""

    def __init__(self) -> None:
        self.jobs = Jobs(MAX_SEARCHES, MAX_SEARCHES_PER_ADDRESS, FULL, when_idle=True)
        """The queue of the searches; pars are in it too."""
        self._daily: dict[tuple[str, str], asyncio.Task[int]] = {}  # by root and filter

    async def stop(self) -> None:
        """Ends the searches for daily deals, and the process."""
        for search in self._daily.values():
            search.cancel()
        await asyncio.gather(*self._daily.values(), return_exceptions=True)
        await self.jobs.stop()

    def check(self, game: type[Game], name: str, address: str) -> None:
        """Raises Refused("too-many") if a search by a filter for a client address would not get a place now."""
        if _filters(game, name):
            self.jobs.turns.check(address)

    async def number(self, race: Race, place: Place) -> int:
        """The number of the deal that the root of a race and its filter lead to."""
        question = race.header.game, race.root or "", race.header.variant, race.options.filter
        return await self._searched(place, *question, race=race.id)

    def daily(self, game: type[Game], root: str, name: str) -> asyncio.Task[int]:
        """The search for the number of a daily deal by a filter."""
        search = self._daily.get((root, name))
        if search is None or search.cancelled():
            search = asyncio.get_running_loop().create_task(self._daily_number(game, root, name))
            self._daily[root, name] = search
            for known in [known for known, search in self._daily.items() if search.done()][:-MOST_KNOWN]:
                del self._daily[known]
        return search

    def leisure(self, root: str, name: str) -> bool:
        """Whether a search for a daily deal would be the only one, or is none because its number is known."""
        return (root, name) in self._daily or all(search.done() for search in self._daily.values())

    async def _daily_number(self, game: type[Game], root: str, name: str) -> int:
        if not _filters(game, name):
            return 0
        with self.jobs.turns.place("", always=True) as place:
            return await self._searched(place, game.slug, root, {}, name)

    async def _searched(
        self, place: Place, game: str, root: str, variant: Variant, name: str, *, race: str | None = None
    ) -> int:
        """The answer of a search, which is tried again, ever more seldom, when it fails."""
        question = msgpack.encode((game, root, variant, name))
        for failures in count():
            try:
                return int(await self.jobs.run(place, "deal", question))
            except Exception as error:
                pause_s = min(MAX_RETRY_S, 2.0**failures)
                failed = f"the search for a deal of {game} failed and is tried again in {pause_s:g} s"
                logger.error("%s: %s", failed, error, extra=about(race=race))
                await asyncio.sleep(pause_s)
        raise AssertionError("it is tried without end")


class DealSearch:
    """The search for one race's deal: at most one at a time, for the root as it stands."""

    def __init__(self, dealer: Dealer, found: Callable[[], object]) -> None:
        """`found` is called when there is a number."""
        self._dealer, self._found = dealer, found
        self._address = ""
        self._place: Place | None = None
        self._root: str | None = None
        self._search: asyncio.Task[int] | None = None

    def reserve(self, race: Race, address: str) -> None:
        """Takes a place in the queue for a race that is about to begin its countdown, if it needs one.

        `address` is the client's, empty if it is unknown. Raises Refused("too-many") if the queue is full.
        """
        self._address = address
        if race.set_to_go and self._place is None and is_searched(race.header) and not race.header.daily:
            self._place = self._dealer.jobs.turns.place(address)

    def number(self, race: Race) -> int | None:
        """Which deal of the root is dealt, or None while that is being found out.

        A search for another root is cancelled. While nonces are missing, it begins when none has come for SETTLE_S.
        """
        if race.root is None or not is_searched(race.header):
            return 0
        if self._search is None or self._root != race.root:
            delay_s = 0.0 if race.nonces_in else SETTLE_S
            self._cancel()
            self._root = race.root
            self._search = asyncio.get_running_loop().create_task(self._find(race, delay_s))
            self._search.add_done_callback(lambda _: self._found())
        return self._search.result() if self._search.done() else None

    def end(self) -> None:
        """Cancels the search and gives up the place: nobody needs a deal any more."""
        self._cancel()
        self._root = self._search = None
        self._release()

    async def close(self) -> None:
        """The same, and waits until the search has ended."""
        search = self._search
        self.end()
        if search:
            await asyncio.gather(search, return_exceptions=True)

    async def _find(self, race: Race, delay_s: float) -> int:
        await asyncio.sleep(delay_s)
        if race.header.daily:
            return await asyncio.shield(self._dealer.daily(race.game, race.root or "", race.options.filter))
        # The race is in its countdown: it gets a place in any case, even if none was reserved in this process.
        self._place = self._place or self._dealer.jobs.turns.place(self._address, always=True)
        number = await self._dealer.number(race, self._place)
        self._release()
        return number

    def _cancel(self) -> None:
        if self._search:
            self._search.cancel()

    def _release(self) -> None:
        if self._place:
            self._place.release()
            self._place = None


def is_searched(header: Header) -> bool:
    """Whether a race's deal has to be looked for: not if the deal is open, or if any deal will do."""
    return header.seed is None and header.game in GAMES and _filters(GAMES[header.game], header.options.filter)


def _filters(game: type[Game], name: str) -> bool:
    """Whether a filter lets only some deals of a game pass."""
    return name != "any" and usual_filter(game) != "any"
