"""The analysis service: what the solver knows about deals, withheld while that could help anybody.

A search for a winning line of a live race's deal begins before anybody asks where it takes long. Its result stays in
memory until the race is over.
"""

from hashlib import sha256
from typing import Final

from msgspec import msgpack

from samedeal import codec
from samedeal.analysis.advice import Advice
from samedeal.analysis.analysis import Analysis
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.race import Race
from samedeal.solver.solution import Solution
from samedeal.solver.solve import SOLVERS
from samedeal_server.live.registry import Registry
from samedeal_server.work.pool import Jobs
from samedeal_server.work.stored_results import Question, StoredResults

SLOW: Final = ("corner-stones", "gallery")
"""The games whose deals are searched as soon as they are dealt."""
_Deal = tuple[str, str, bytes]
MAX_PREPARED: Final = 256
"""The number of solutions in memory."""
ADVICE_EXPIRE_S: Final = 86_400
"""Advice takes at most a few seconds to compute again."""


class AnalysisService:
    """Answers requests about deals and positions."""

    def __init__(self, results: StoredResults, registry: Registry, replay_days: int | None) -> None:
        self._results, self._registry = results, registry
        self._expire_s = None if replay_days is None else replay_days * 86_400
        self._ahead = Jobs(1, 1, "", only_when_idle=True)
        self._prepared: dict[_Deal, Solution | None] = {}  # oldest first; None if the search failed

    async def stop(self) -> None:
        """End the process that searches ahead. Call it when ``prepare`` is not running."""
        await self._ahead.stop()

    async def of_race(self, race_id: str, replay: bytes, address: str = "") -> Analysis:
        """Return the analysis of a finished race, given its stored replay. Raises InProgress while it is computed.

        Raises Refused("deal-sealed") while a race on the deal is live, Refused("not-found") for a race that was
        cancelled before the deal or a game without a solver, and Refused("too-many") if the queue is full.
        """
        race = (await self._registry.room(race_id, address)).race
        check_has_solver(race.game)
        if race.seed is None or not race.closed:
            raise Refused("not-found", "The race was cancelled before the deal, so it has no analysis.")
        await self._registry.check_public(race.game, race.seed)
        content = msgpack.encode((replay, self._prepared.get(_deal(race))))
        result = await self._results.result(Question(_key(race_id), "analysis", content, self._expire_s), address)
        return codec.decode(result, "json", Analysis)

    async def known(self, race: Race) -> Analysis | None:
        """Return the analysis of a finished race, or None if it has not been computed or is not public."""
        if race.seed is None or await self._registry.raced(race.game, race.seed):
            return None
        result = await self._results.stored(_key(race.id))
        return None if result is None else codec.decode(result, "json", Analysis)

    async def advice(self, question: bytes, address: str = "") -> Advice:
        """Return advice on a position of a public deal, given the question for the worker.

        Raises InProgress while it is computed, and Refused("too-many") if the queue is full.
        """
        key = f"advice:{sha256(question).hexdigest()}"
        result = await self._results.result(Question(key, "advice", question, ADVICE_EXPIRE_S), address)
        return codec.decode(result, "json", Advice)

    async def prepare(self) -> None:
        """Search the deals of live races, one at a time, where that takes long."""
        for race in [*self._registry.races()]:
            if race.stage != "running" or race.header.game not in SLOW or (deal := _deal(race)) in self._prepared:
                continue
            self._prepared[deal] = None
            while len(self._prepared) > MAX_PREPARED:
                del self._prepared[next(iter(self._prepared))]
            question = msgpack.encode((race.header.game, race.seed, race.header.variant))
            answer = await self._ahead.run_now("solution", question)
            self._prepared[deal] = codec.decoder("msgpack", Solution).decode(answer)


def check_has_solver(game: type[Game]) -> None:
    """Raise Refused("not-found") for a game without a solver."""
    if game.slug not in SOLVERS:
        raise Refused("not-found", f"There is no solver for {game.title}.")


def _key(race_id: str) -> str:
    return f"analysis:{{{race_id}}}"


def _deal(race: Race) -> _Deal:
    return race.header.game, race.seed or "", codec.encode(race.header.variant, "json")
