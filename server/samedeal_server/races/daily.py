"""Daily deals: what may be told of each on which day, and how the players stand in their first races on it."""

import asyncio
import logging
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from samedeal.computer.deal_filters import usual_filter
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.proof import commitments
from samedeal.race.events import daily_reveals_at
from samedeal.race.seat import Standing
from samedeal_server.races.deal_finder import Dealer
from samedeal_server.store.archive import Archive, DailyRace
from samedeal_server.store.clock import Clock

logger = logging.getLogger(__name__)

DAYS_AHEAD = 366
"""How many days before its day the commitment to a daily deal can be had."""
FRESH_S = 1.0
"""For how long the results of a day are reused before the store is asked for more."""
MAX_DAYS = 64
"""How many days' results are remembered."""
SOUGHT_S = 2.0
"""How long an answer waits for the number of a deal that nobody has played."""

Stage = Literal["upcoming", "today", "sealed", "revealed"]


class Result(Struct, frozen=True):
    """How somebody stands in the results of a day: as in the standings of the race that counts."""

    place: int
    name: str
    bot: bool
    outcome: str
    home: int
    goal: int
    ms: int
    race: str | None
    """None for an unlisted race."""


class Daily(Struct, frozen=True):
    """The daily deal of a game, as far as it may be told."""

    game: str
    date: str
    commitment: str
    stage: Stage
    reveals_at: int
    deal: str | None
    """None before it is revealed, and for a moment after that if nobody has played it and it has to be looked for."""
    secret: str | None
    """None before it is revealed."""
    results: tuple[Result, ...]
    """One page of them, the best first."""
    players: int
    """How many there are on all pages."""
    next: int | None
    """What to ask for as `skip` to get the next page; null on the last one."""


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """Which results are wanted."""

    skip: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """How many of the best are left out."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 100


FIRST_PAGE: Final = Page()


class DayResults:
    """The results of one daily deal, updated with each finished race on it."""

    def __init__(self) -> None:
        self.races = set[str]()
        self.deal: str | None = None
        self.checked_at_s = float("-inf")
        self.updating = asyncio.Lock()
        self._first: dict[str, tuple[Standing, DailyRace]] = {}
        self._table: tuple[Result, ...] | None = ()

    def add(self, race: DailyRace) -> None:
        """Counts a race. Of the races of each player, the one that was dealt first counts.

        The one that was over first does not: a player who goes on in a second race has seen the cards of another.
        """
        self.deal, self._table = race.deal, None
        for player, standing in race.racers:
            _, first = self._first.get(player, (standing, race))
            if (race.started_at, race.race) <= (first.started_at, first.race):
                self._first[player] = standing, race

    @property
    def table(self) -> tuple[Result, ...]:
        """All players, best first; equal results share a place."""
        if self._table is None:
            table: list[Result] = []
            for _, equals in groupby(sorted(self._first.values(), key=_order), key=_rank):
                place = len(table) + 1
                table += (
                    Result(
                        place=place,
                        name=standing.name,
                        bot=standing.bot,
                        outcome=standing.outcome,
                        home=standing.home,
                        goal=standing.goal,
                        ms=standing.ms,
                        race=None if race.unlisted else race.race,
                    )
                    for standing, race in equals
                )
            self._table = tuple(table)
        return self._table


class Dailies:
    """The daily deals that follow from a master key."""

    def __init__(self, archive: Archive, clock: Clock, dealer: Dealer, master_key: bytes) -> None:
        self._archive, self._clock, self._dealer, self._master_key = archive, clock, dealer, master_key
        self._results = dict[str, DayResults]()  # by commitment, the one used last at the end

    @property
    def today(self) -> Day:
        return Day.at(self._clock.now())

    async def of(self, game: type[Game], day: Day, page: Page = FIRST_PAGE) -> Daily:
        """The deal of a game on a day, with a page of the results.

        Raises Refused("bad-request") for a day that is too far ahead, Refused("store-unavailable").
        """
        now = self._clock.now()
        today, reveals_at = Day.at(now), daily_reveals_at(day)
        if day.number > today.number + DAYS_AHEAD:
            raise Refused(
                "bad-request", f"Daily deals are committed to {DAYS_AHEAD} days ahead, and {day.date} is later."
            )
        secret = commitments.daily_secret(self._master_key, game.slug, day.date)
        commitment = commitments.daily_commitment(game.slug, day.date, secret)
        found = await self._results_of(commitment)
        table, after = found.table, page.skip + page.limit
        revealed = now >= reveals_at
        return Daily(
            game=game.slug,
            date=day.date,
            commitment=commitment,
            stage="upcoming" if day > today else "today" if day == today else "revealed" if revealed else "sealed",
            reveals_at=reveals_at,
            deal=await self._deal(game, commitments.root(secret, ()), found.deal) if revealed else None,
            secret=secret.hex() if revealed else None,
            results=table[page.skip : after],
            players=len(table),
            next=after if after < len(table) else None,
        )

    async def _results_of(self, commitment: str) -> DayResults:
        """The results of a day, at most FRESH_S old. Only races that have ended since are read."""
        found = self._results[commitment] = self._results.pop(commitment, DayResults())
        if len(self._results) > MAX_DAYS:
            del self._results[next(iter(self._results))]
        now_s = asyncio.get_running_loop().time
        async with found.updating:
            if now_s() >= found.checked_at_s + FRESH_S:
                if await self._archive.daily_count(commitment) != len(found.races):
                    async for race_id, race in self._archive.daily_races(commitment, found.races):
                        found.races.add(race_id)
                        if race:
                            found.add(race)
                found.checked_at_s = now_s()
        return found

    async def _deal(self, game: type[Game], root: str, raced: str | None) -> str | None:
        """The code of the deal, from a race on it or looked for; None while that takes longer.

        Nothing is begun while another deal is looked for, so that the curious keep no more than one processor busy.
        """
        if raced:
            return raced
        name = usual_filter(game)
        if not self._dealer.leisure(root, name):
            return None
        search = self._dealer.daily(game, root, name)
        await asyncio.wait((search,), timeout=SOUGHT_S)
        if not search.done():
            return None
        if error := search.exception():
            logger.error("the daily deal of %s: %s", game.slug, error)
            return None
        return f"{game.slug}:{root}.{search.result()}"


def results(races: Iterable[DailyRace]) -> tuple[Result, ...]:
    """The results of a day whose finished races are these."""
    day = DayResults()
    for race in races:
        day.add(race)
    return day.table


def _rank(counted: tuple[Standing, DailyRace]) -> tuple[bool, int, int]:
    """Sorts as the standings of one race are sorted: winners by time, then by cards home and who got there first."""
    standing, _ = counted
    won = standing.outcome == "won"
    return (not won, 0 if won else -standing.home, standing.ms)


def _order(counted: tuple[Standing, DailyRace]) -> tuple[object, ...]:
    """Sorts equal results by when they were dealt, the same on every server."""
    standing, race = counted
    return (*_rank(counted), race.started_at, race.race, standing.seat)


def day_of(date: str) -> Day:
    """The day of a date. Raises Refused("bad-request") for a text that is none."""
    try:
        return Day.of(date)
    except ValueError:
        raise Refused("bad-request", f"{date!r} is no date; a date looks like 2026-11-21.") from None
