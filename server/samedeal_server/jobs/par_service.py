"""The par service: computes par on request, stores it, and withholds it while a race on the deal is live."""

import asyncio
import logging
from functools import partial
from typing import Final

from msgspec import Struct, msgpack

from samedeal.computer.bots import BOTS
from samedeal.computer.par import Compared, Par, compared
from samedeal.errors import Refused
from samedeal.game import Game, Variant
from samedeal_server.jobs.pool import JobFailed, Jobs
from samedeal_server.jobs.turns import Place
from samedeal_server.ops import metrics
from samedeal_server.ops.supervised import cancelled
from samedeal_server.races.registry import Registry
from samedeal_server.store import par_results
from samedeal_server.store.connection import Store

logger = logging.getLogger(__name__)

MAX_PENDING: Final = 16
"""Maximum number of deals that this process computes or queues."""
MAX_PENDING_PER_ADDRESS: Final = 8
FULL: Final = "Too many deals are waiting for the computer. Try again in a moment."


class ParProgress(Struct, frozen=True):
    """How many plays of a deal the computer has finished."""

    done: int
    of: int


class ParService:
    """Computes pars one at a time in a separate process, and stores them.

    Unfinished computations are not stored: after an interruption the next request starts again. If two servers compute
    the same par at the same time, they get the same result.
    """

    def __init__(self, store: Store, registry: Registry) -> None:
        self._results, self._registry = par_results.ParResults(store), registry
        self._jobs = Jobs(MAX_PENDING, MAX_PENDING_PER_ADDRESS, FULL, only_when_idle=True)
        self._done: dict[str, int] = {}  # how many plays are finished, by the key of each pending deal
        self._tasks: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Cancel all computations, and stop the process."""
        await cancelled(tuple(self._tasks))
        await self._jobs.stop()

    async def of_deal(self, game: type[Game], seed: str, variant: Variant, address: str = "") -> Par | ParProgress:
        """Return the par of a deal, or the progress of its computation, which the first request starts.

        `address` is the client's; empty if unknown. Raises Refused("not-found") for a game that the computer does not
        play, Refused("deal-sealed") while a race on the deal is live, Refused("too-many") if the queue is full.
        """
        check_has_bot(game)
        await self.check_public(game, seed)
        return await self._par(game, seed, variant, address)

    async def of_race(self, race_id: str, address: str = "") -> tuple[Par, tuple[Compared, ...]] | ParProgress:
        """Return the par of a race's deal and each racer's comparison with it, in order of place; or as ``of_deal``.

        Also raises Refused("deal-sealed") before the race is over or its daily deal is public, and Refused("not-found")
        if the race was cancelled before the deal.
        """
        race = (await self._registry.room(race_id)).race
        check_has_bot(race.game)
        if not race.closed:
            raise Refused("deal-sealed", f"The par of {race_id} is available when the race is over.")
        if race.seed is None:
            raise Refused("not-found", f"{race_id} was called off before the deal, so it has no par.")
        if self._registry.clock.now() < race.header.reveals_at:
            raise Refused("deal-sealed", f"{race_id} was on a daily deal that others can still play.")
        await self.check_public(race.game, race.seed)
        par = await self._par(race.game, race.seed, race.header.variant, address)
        if isinstance(par, ParProgress):
            return par
        dealt_to = [standing for standing in race.standings() if race.seat(standing.seat).run]
        return par, tuple(
            compared(par, standing.seat, standing.name, standing.home, standing.outcome == "won")
            for standing in dealt_to
        )

    async def check_public(self, game: type[Game], seed: str) -> None:
        """Raise Refused("deal-sealed") while a race on a deal is live."""
        if await self._registry.raced(game, seed):
            raise Refused("deal-sealed", "A race on this deal is open or running. Its par is available afterwards.")

    async def _par(self, game: type[Game], seed: str, variant: Variant, address: str) -> Par | ParProgress:
        key = par_results.key(game, seed, variant)
        if key not in self._done:
            par = await self._results.get(key)
            if par is not None:
                return par
            self._start(key, game, seed, variant, address)
        return ParProgress(self._done[key], BOTS[game.slug].par_plays)

    def _start(self, key: str, game: type[Game], seed: str, variant: Variant, address: str) -> None:
        if key in self._done:  # another request was faster
            return
        place = self._jobs.turns.place(address)
        self._done[key] = 0
        task = asyncio.get_running_loop().create_task(self._compute(key, game, seed, variant, place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _compute(self, key: str, game: type[Game], seed: str, variant: Variant, place: Place) -> None:
        question, on_progress = msgpack.encode((game.slug, seed, variant)), partial(self._done.__setitem__, key)
        try:
            async with place.turn():
                if await self._results.has(key):  # another process was faster
                    return
                try:
                    par = await self._jobs.run_now("par", question, on_progress)
                except JobFailed:
                    metrics.PARS.labels(game.slug, "failed").inc()
                    raise
            metrics.PARS.labels(game.slug, "found").inc()
            await self._results.put(key, par)
        except Refused as refused:
            logger.warning("par of %s: %s", key, refused.text)
        except Exception:
            logger.exception("computing the par of %s failed", key)
        finally:
            place.release()
            del self._done[key]


def check_has_bot(game: type[Game]) -> None:
    """Raise Refused("not-found") for a game that the computer does not play."""
    if game.slug not in BOTS:
        raise Refused("not-found", f"The computer does not play {game.title}.")
