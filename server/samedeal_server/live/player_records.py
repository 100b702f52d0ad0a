"""Players: personal scores and head-to-head records, and which races they count for whom."""

import asyncio
import logging
from collections.abc import Callable
from heapq import heappush, heappushpop, nlargest
from typing import Annotated, Final, Generic, Protocol, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.race.server_bots import SERVER_BOT_IDS
from samedeal.scores.results import RaceResult
from samedeal.scores.tallies import PersonalTally, Versus, VersusTally
from samedeal.wire.documents import PlayerPage
from samedeal_server.net.logs import about
from samedeal_server.store.archive import Archive
from samedeal_server.store.clock import Clock
from samedeal_server.store.guest_tokens import Guest

logger = logging.getLogger(__name__)

FRESH_S = 1.0
"""How long scores are cached before the server looks for new races (s)."""
MAX_CACHED: Final = 64
"""Maximum number of players, and of pairs of players, whose scores are cached."""
MOST_RACES: Final = 100
"""The most races in a player's document."""


class _Tally(Protocol):
    def add(self, result: RaceResult) -> None: ...


T = TypeVar("T", bound=_Tally)


class Newest(Struct, frozen=True, forbid_unknown_fields=True):
    """How many races of a player to return."""

    limit: Annotated[int, Meta(ge=1, le=MOST_RACES)] = 20


class _Scores(Generic[T]):
    """A tally over the races that some players have in common, updated with each finished race."""

    def __init__(self, new_tally: Callable[[], T]) -> None:
        self._new_tally = new_tally
        self.checked_at_s = float("-inf")
        self.updating = asyncio.Lock()
        self.clear()

    def clear(self) -> None:
        self.tally = self._new_tally()
        self.races = set[str]()
        self.newest: list[tuple[int, str, RaceResult]] = []
        """The newest races with their ending times and ids, as a heap."""

    def add(self, result: RaceResult) -> None:
        self.tally.add(result)
        push = heappush if len(self.newest) < MOST_RACES else heappushpop
        push(self.newest, (result.ended_at, result.race, result))


class _Cache(Generic[T]):
    """The scores of players or of pairs of players."""

    def __init__(self, archive: Archive, clock: Clock, new_tally: Callable[..., T]) -> None:
        """`new_tally` takes the public id of the player or of both players."""
        self._archive, self._clock, self._new_tally = archive, clock, new_tally
        self._scores = dict[object, _Scores[T]]()  # least recently used first

    async def visible(self, players: tuple[str, ...], viewer: Guest | None) -> list[_Scores[T]]:
        """Return the players' scores over listed races and, for a viewer, over the unlisted ones of all of them.

        Raises Refused("store-unavailable").
        """
        scores = [await self._updated(players, frozenset(players), unlisted=False)]
        if viewer:
            scores.append(await self._updated(players, frozenset({*players, viewer.player}), unlisted=True))
        return scores

    async def _updated(self, players: tuple[str, ...], racers: frozenset[str], *, unlisted: bool) -> _Scores[T]:
        """Return the scores over the races in which all `racers` were dealt cards, at most FRESH_S old.

        Reads only the results of races that have ended since the last call.
        """
        key = (players, racers, unlisted)
        known = self._scores.pop(key) if key in self._scores else _Scores(lambda: self._new_tally(*players))
        scores = self._scores[key] = known
        if len(self._scores) > MAX_CACHED:
            del self._scores[next(iter(self._scores))]
        now_s = asyncio.get_running_loop().time
        async with scores.updating:
            if now_s() >= scores.checked_at_s + FRESH_S:
                race_ids = await self._archive.players.common(racers, self._clock.now(), unlisted=unlisted)
                if not scores.races.issubset(race_ids):  # some have expired
                    scores.clear()
                missing = [race_id for race_id in race_ids if race_id not in scores.races]
                async for race_id, result in self._archive.players.results(missing):
                    scores.races.add(race_id)
                    if result:
                        scores.add(result)
                    else:
                        logger.warning("the result of a race cannot be read", extra=about(race=race_id))
                scores.checked_at_s = now_s()
        return scores


class Players:
    """The scores of a server's players.

    Unlisted races count only for those who raced in them: of another player's unlisted races, a viewer sees those in
    which the viewer was dealt cards, too.
    """

    def __init__(self, archive: Archive, clock: Clock) -> None:
        self._clock = clock
        self._personal = _Cache(archive, clock, PersonalTally)
        self._versus = _Cache(archive, clock, VersusTally)

    async def get(self, player: str, viewer: Guest | None, query: Newest) -> PlayerPage:
        """Return a player's scores and newest races, as the viewer may see them.

        Raises Refused("not-found") if there is none, except for the viewer, and for server bots, and
        Refused("store-unavailable").
        """
        if player in SERVER_BOT_IDS:  # they race in so many races that their scores would take long
            raise Refused("not-found", "Server bots have no page.")
        parts = await self._personal.visible((player,), viewer)
        tally = parts[0].tally.merged(parts[1].tally) if viewer else parts[0].tally
        scores = tally.scores(Day.at(self._clock.now()))
        if not scores.races:
            if viewer is None or viewer.player != player:
                raise Refused("not-found", "This player has no finished races.")
            scores = replace(scores, name=viewer.name)
        newest = nlargest(query.limit, [race for part in parts for race in part.newest])
        return PlayerPage(scores, tuple(result for *_, result in newest))

    async def versus(self, player: str, other: str, viewer: Guest | None) -> Versus:
        """Return the head-to-head record of two players, as the viewer may see it.

        Raises Refused("not-found") if they have not raced each other, or are the same; Refused("store-unavailable").
        """
        if player == other:
            raise Refused("not-found", "A head-to-head record needs two different players.")
        parts = await self._versus.visible((player, other), viewer)
        record = (parts[0].tally.merged(parts[1].tally) if viewer else parts[0].tally).record()
        if not record.races:
            raise Refused("not-found", f"No finished race of {player} against {other} was found.")
        return record
