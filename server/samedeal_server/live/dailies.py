"""Daily deals: what is public about them and when, and their results, those of each player's first race."""

import asyncio
import logging
from itertools import groupby
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from samedeal import commitments
from samedeal.computer.deal_filters import daily_filter
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.events import daily_reveals_at
from samedeal.race.standings import Standing
from samedeal.wire.documents import Daily, Result
from samedeal_server.live.deal_finder import DealFinder
from samedeal_server.store.clock import Clock
from samedeal_server.store.daily_results import DailyRace, DailyResults
from samedeal_server.store.guest_tokens import Guest

logger = logging.getLogger(__name__)

FRESH_S = 1.0
"""How long the results of a day are cached (s)."""
MAX_DAYS = 64
"""Maximum number of days whose results are cached."""
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


class DayResults:
    """The results of one daily deal, updated with each finished race on it."""

    def __init__(self) -> None:
        self.races = set[str]()
        self.hidden = set[str]()
        """The races that are left out."""
        self.deal: str | None = None
        self.checked_at_s = float("-inf")
        self.updating = asyncio.Lock()
        self._first: dict[str, tuple[Standing, DailyRace]] = {}
        self._table: tuple[Result, ...] | None = ()
        self._by_player = dict[str, Result]()

    def add(self, race: DailyRace) -> None:
        """Add a race. Only a player's earliest deal counts: in later races, the player has already seen the cards."""
        self.deal, self._table = race.deal, None
        for player, standing in race.racers:
            _, first = self._first.get(player, (standing, race))
            if (race.started_at, race.race) <= (first.started_at, first.race):
                self._first[player] = standing, race

    @property
    def table(self) -> tuple[Result, ...]:
        """All players, best first; ties share a place."""
        if self._table is None:
            results: dict[str, Result] = {}
            ranked = sorted(self._first.items(), key=lambda item: _order(item[1]))
            for _, equals in groupby(ranked, key=lambda item: _rank(item[1])):
                place = len(results) + 1
                results |= {player: _result(place, *first) for player, first in equals}
            self._table, self._by_player = tuple(results.values()), results
        return self._table

    def of(self, player: str) -> Result | None:
        """Return the result of a player, for this player only: it names the race even if it is unlisted."""
        if not self.table or player not in self._first:
            return None
        _, race = self._first[player]
        return replace(self._by_player[player], race=race.race)

    def ranked(self) -> list[tuple[Standing, DailyRace]]:
        """Return what counts for each player, best first."""
        return sorted(self._first.values(), key=_order)


class Days:
    """The results of the days that were asked for last."""

    def __init__(self, stored: DailyResults) -> None:
        self._stored = stored
        self._results = dict[str, DayResults]()  # by commitment, least recently used first

    def clear(self) -> None:
        """Read all results again, because some were removed."""
        self._results.clear()

    async def results(self, commitment: str) -> DayResults:
        """Return the results of a day, at most FRESH_S old. Reads only the races that ended since the last call.

        Raises Refused("store-unavailable").
        """
        results = self._results.pop(commitment, DayResults())
        if not results.races.isdisjoint(self._stored.hidden):
            results = DayResults()
        self._results[commitment] = results
        if len(self._results) > MAX_DAYS:
            del self._results[next(iter(self._results))]
        now_s = asyncio.get_running_loop().time
        async with results.updating:
            if now_s() >= results.checked_at_s + FRESH_S:
                results.hidden.intersection_update(self._stored.hidden)
                known = results.races | results.hidden
                if await self._stored.count(commitment) != len(known):
                    async for race_id, race in self._stored.races(commitment, known):
                        if race_id in self._stored.hidden:
                            results.hidden.add(race_id)
                            continue
                        results.races.add(race_id)
                        if race:
                            results.add(race)
                results.checked_at_s = now_s()
        return results


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


def _result(place: int, standing: Standing, race: DailyRace) -> Result:
    return Result(
        place=place,
        name=standing.name,
        bot=standing.bot,
        outcome=standing.outcome,
        home=standing.home,
        goal=standing.goal,
        ms=standing.ms,
        race=None if race.unlisted else race.race,
    )


def _rank(result: tuple[Standing, DailyRace]) -> tuple[bool, int, int]:
    """Sort key of the standings of a race: winners by time, then the others by cards home and time."""
    standing, _ = result
    won = standing.outcome == "won"
    return (not won, 0 if won else -standing.home, standing.ms)


def _order(result: tuple[Standing, DailyRace]) -> tuple[object, ...]:
    """Sort key that breaks ties by the time of the deal, identically on every server."""
    standing, race = result
    return (*_rank(result), race.started_at, race.race, standing.seat)
