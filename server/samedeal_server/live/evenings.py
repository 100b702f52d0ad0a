"""Evenings: the scores over races that follow each other, each a rematch of the one before."""

from typing import Final

from samedeal.scores.evening import Evening, evening
from samedeal.scores.results import RaceResult, in_order
from samedeal_server.live.registry import Registry

MAX_CACHED: Final = 4096
"""Maximum number of races whose results are cached. Results never change, but they can be withdrawn."""
MAX_RACES: Final = 100
"""Maximum number of races in an evening before a race, and after it."""
READ_TOKENS: Final = 0.5
"""The request tokens for each race whose result is not cached: one or two commands to the store."""


class Evenings:
    """The evenings of a server."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._archive = registry, registry.archive
        self._results = dict[str, RaceResult]()  # least recently used first
        self._next = dict[str, str]()  # the race that follows each, if its result is cached
        self._erasures = 0

    async def get(self, race_id: str, client: str = "") -> Evening:
        """Return the scores over the finished races before and after a race, and the race itself if it is over.

        The `client`, if any, pays for reading them. Raises Refused("not-found") for an unknown race,
        Refused("too-many"), Refused("store-unavailable").
        """
        results = await self._until(race_id, client)
        if results and results[0].challenge:  # races of a challenge are scored in its table, once that is public
            return evening(())
        if results:
            results += await self.after(results[0].race, client)
        return evening(in_order(results))

    async def after(self, race_id: str, client: str) -> list[RaceResult]:
        """Return the finished races that follow one, at most MAX_RACES. Raises as ``get``."""
        results = list[RaceResult]()
        while len(results) < MAX_RACES:
            following = self._next.get(race_id)
            if following is None and (successor := await self._archive.successors.get(race_id)):
                following = successor.header.race
            result = await self._result(following, client) if following else None
            if result is None or not result.racers:
                break
            results.append(result)
            race_id = result.race
        return results

    async def _until(self, race_id: str, client: str) -> list[RaceResult]:
        """Return the finished races up to this one, newest first. A cancelled race is left out."""
        results = list[RaceResult]()
        result = await self._result(race_id, client)
        if result is None:  # not stored yet
            race = (await self._registry.room(race_id, client)).race
            racers = ((race.seat(standing.seat).player, standing) for standing in race.standings())
            result = RaceResult.of(race.header, race.at, racers if race.closed else ())
        while result and len(results) < MAX_RACES:
            if result.racers:
                results.append(result)
            result = await self._result(result.follows, client) if result.follows else None
        return results

    async def _result(self, race_id: str, client: str) -> RaceResult | None:
        """Return the result of a race, or None if it is not over or not stored any more."""
        if self._erasures != self._registry.erasures:
            self._erasures = self._registry.erasures
            self._results.clear()
            self._next.clear()
        result = self._results.pop(race_id, None)
        if result is None:
            async for _, result in self._archive.players.results([race_id]):  # noqa: B007 (one at most)
                pass
            if result is not None:
                self._registry.take(client, READ_TOKENS)  # if it is refused, what was read before is cached
        if result is not None:
            self._results[race_id] = result
            if result.follows and result.racers:  # a cancelled race is replaced by another one
                self._next[result.follows] = race_id
            if len(self._results) > MAX_CACHED:
                oldest = self._results.pop(next(iter(self._results)))
                self._next.pop(oldest.follows or "", None)
        return result
