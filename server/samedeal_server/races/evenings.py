"""Evenings: the scores over races that follow each other, each a rematch of the one before."""

from typing import Final

from samedeal.scores.evening import Evening, evening
from samedeal.scores.results import RaceResult, in_order
from samedeal_server.races.registry import Registry

MAX_CACHED: Final = 4096
"""Maximum number of races whose results are cached. Results never change, but they can be withdrawn."""
MAX_RACES: Final = 1_000
"""The most races of an evening."""


class Evenings:
    """The evenings of a server."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._archive = registry, registry.archive
        self._results = dict[str, RaceResult]()  # least recently used first
        self._erasures = 0

    async def get(self, race_id: str) -> Evening:
        """Return the scores over all finished races before and after a race, and the race itself if it is over.

        Raises Refused("not-found") for an unknown race, Refused("store-unavailable").
        """
        if self._erasures != self._registry.erasures:
            self._erasures = self._registry.erasures
            self._results.clear()
        results = await self._backwards(race_id)
        if results:
            results = [*await self._forwards(results[0].race), *results]
        return evening(in_order(results))

    async def _backwards(self, race_id: str) -> list[RaceResult]:
        """Return the finished races up to this one, newest first. A cancelled race is left out."""
        results = list[RaceResult]()
        result = await self._result(race_id)
        if result is None:  # not stored yet
            race = (await self._registry.room(race_id)).race
            racers = ((race.seat(standing.seat).player, standing) for standing in race.standings())
            result = RaceResult.of(race.header, race.at, racers if race.closed else ())
        while result and len(results) < MAX_RACES:
            if result.racers:
                results.append(result)
            result = await self._result(result.follows) if result.follows else None
        return results

    async def _forwards(self, race_id: str) -> list[RaceResult]:
        """Return the finished races that follow one."""
        results = list[RaceResult]()
        while len(results) < MAX_RACES and (successor := await self._archive.successors.get(race_id)):
            race_id = successor.header.race
            result = await self._result(race_id)
            if result is None or not result.racers:
                break
            results.append(result)
        return results

    async def _result(self, race_id: str) -> RaceResult | None:
        """Return the result of a race, or None if it is not over or not stored any more."""
        result = self._results.pop(race_id, None)
        if result is None:
            async for _, result in self._archive.players.results([race_id]):  # noqa: B007 (one at most)
                pass
        if result is not None:
            self._results[race_id] = result
            if len(self._results) > MAX_CACHED:
                del self._results[next(iter(self._results))]
        return result
