"""Daily deals: what is public about them and when."""

import asyncio
import logging
from typing import Annotated, Final

from msgspec import Meta, Struct

from samedeal import commitments
from samedeal.computer.deal_filters import daily_filter
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.events import daily_reveals_at
from samedeal.wire.documents import Daily
from samedeal_server.live.days import Days
from samedeal_server.live.deal_finder import DealFinder
from samedeal_server.store.clock import Clock
from samedeal_server.store.guest_tokens import Guest

logger = logging.getLogger(__name__)

DAYS_AHEAD = 366
"""How many days ahead the commitments to daily deals are public."""
SEARCH_TIMEOUT_S = 2.0
"""How long a response waits for the search for a deal that nobody has played (s)."""


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """A page of results."""

    skip: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """How many results to skip."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 100


FIRST_PAGE: Final = Page()


class Dailies:
    """The daily deals of a server, derived from its master key."""

    def __init__(self, days: Days, clock: Clock, deal_finder: DealFinder, master_key: bytes) -> None:
        self._days, self._clock, self._finder, self._master_key = days, clock, deal_finder, master_key

    @property
    def today(self) -> Day:
        return Day.at(self._clock.now())

    async def get(self, game: type[Game], day: Day, page: Page = FIRST_PAGE, viewer: Guest | None = None) -> Daily:
        """Return the deal of a game on a day, with a page of the results and that of the viewer.

        Raises Refused("bad-request") for a day that is too far ahead, Refused("store-unavailable").
        """
        now = self._clock.now()
        today, reveals_at = Day.at(now), daily_reveals_at(day)
        if day.number > today.number + DAYS_AHEAD:
            text = f"Daily deals are available up to {DAYS_AHEAD} days ahead, and {day.date} is later."
            raise Refused("bad-request", text)
        secret = commitments.daily_secret(self._master_key, game.slug, day.date)
        commitment = commitments.daily_commitment(game.slug, day.date, secret)
        day_results = await self._days.results(commitment)
        table, after = day_results.table, page.skip + page.limit
        revealed = now >= reveals_at
        return Daily(
            game=game.slug,
            date=day.date,
            commitment=commitment,
            stage="upcoming" if day > today else "today" if day == today else "revealed" if revealed else "sealed",
            reveals_at=reveals_at,
            deal=await self._deal(game, day, commitments.root(secret, ()), day_results.deal) if revealed else None,
            secret=secret.hex() if revealed else None,
            results=table[page.skip : after],
            players=len(table),
            next=after if after < len(table) else None,
            yours=day_results.of(viewer.player) if viewer else None,
        )

    async def _deal(self, game: type[Game], day: Day, root: str, known: str | None) -> str | None:
        """Return the code of the deal, from a race on it or from a search; None if the search takes too long.

        Only one search runs at a time, so that requests keep no more than one processor busy.
        """
        if known:
            return known
        name = daily_filter(game, day.date)
        if not self._finder.can_search_daily(root, name):
            return None
        search = self._finder.daily(game, root, name)
        await asyncio.wait((search,), timeout=SEARCH_TIMEOUT_S)
        if not search.done():
            return None
        if error := search.exception():
            logger.error("the search for the daily deal of %s failed: %s", game.slug, error)
            return None
        return f"{game.slug}:{root}.{search.result()}"


def day_of(date: str) -> Day:
    """Parse a date such as 2026-11-21. Raises Refused("bad-request")."""
    try:
        return Day.of(date)
    except ValueError:
        raise Refused("bad-request", f"{date!r} is not a valid date (try 2026-11-21).") from None
