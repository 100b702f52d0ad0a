"""Results of daily deals: those of each player's first race, cached for all who need them."""

import asyncio
from itertools import groupby

from msgspec.structs import replace

from samedeal.race.standings import Standing
from samedeal.wire.documents import Result
from samedeal_server.store.daily_results import DailyRace, DailyResults

FRESH_S = 1.0
"""How long the results of a day are cached (s)."""
MAX_DAYS = 64
"""Maximum number of days whose results are cached."""


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
