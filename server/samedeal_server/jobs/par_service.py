"""The pars: what the computer made of each deal, found out when somebody asks, kept, and told when nobody races it."""

import asyncio
import logging
from typing import Final

from msgspec import Struct, msgpack

from samedeal.computer.bots import BOTS
from samedeal.computer.par import PLAYS, Compared, Par, compared
from samedeal.errors import Refused
from samedeal.game import Game, Variant
from samedeal.wire import codec
from samedeal_server.jobs.pool import JobFailed
from samedeal_server.jobs.turns import Place
from samedeal_server.ops import metrics
from samedeal_server.races.registry import Registry
from samedeal_server.store.connection import Store

logger = logging.getLogger(__name__)

MAX_PENDING: Final = 16
"""How many deals may be with the computer of this process, one being played and the others in a queue.
The share of one address is bounded by the places that it may have in that queue."""
KEPT_S: Final = 30 * 86_400
"""How long a par is kept: longer would be no use, as it can be found out again in a second."""


class ParProgress(Struct, frozen=True):
    """How far the computer has come with a deal."""

    done: int
    of: int


class ParService:
    """Finds out pars, one after another in the process that looks for deals, and keeps them in the store.

    What is under way is in no store: if it ends early, whoever asks next begins it anew. Two processes that are asked
    at the same moment both find out, and find the same.
    """

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store, self._registry, self._jobs = store, registry, registry.dealer.jobs
        self._done: dict[str, int] = {}  # the deals that are with the computer, and how many plays of each are over
        self._tasks: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Ends what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def of_deal(self, game: type[Game], seed: str, variant: Variant, address: str = "") -> Par | ParProgress:
        """The par of a deal, or how far the computer has come: to ask is to begin. `address` is the client's, empty if
        it is unknown.

        Raises Refused("not-found") for a game that the computer does not play, Refused("deal-sealed") while a race on
        the deal is live, Refused("too-many") if too many others are waiting.
        """
        check_has_bot(game)
        await self.check_public(game, seed)
        return await self._found(game, seed, variant, address)

    async def of_race(self, id_: str, address: str = "") -> tuple[Par, tuple[Compared, ...]] | ParProgress:
        """The par of a race's deal, with all who were dealt to in the order of the standings, or as for a deal.

        Raises Refused("deal-sealed") also before the race is over, and until its deal may be told; Refused("not-found")
        where nothing was dealt.
        """
        race = (await self._registry.room(id_)).race
        check_has_bot(race.game)
        if not race.closed:
            raise Refused("deal-sealed", f"The par of {id_} can be had when the race is over.")
        if race.seed is None:
            raise Refused("not-found", f"Nothing was dealt in {id_}: it was called off.")
        if self._registry.clock.now() < race.reveals_at:
            raise Refused("deal-sealed", f"{id_} was on a daily deal, which others may have yet to play.")
        await self.check_public(race.game, race.seed)
        found = await self._found(race.game, race.seed, race.header.variant, address)
        if isinstance(found, ParProgress):
            return found
        dealt_to = [standing for standing in race.standings() if race.seat(standing.seat).run]
        return found, tuple(
            compared(found, standing.seat, standing.name, standing.home, standing.outcome == "won")
            for standing in dealt_to
        )

    async def check_public(self, game: type[Game], seed: str) -> None:
        """Raises Refused("deal-sealed") while a race on a deal is live."""
        if await self._registry.raced(game, seed):
            raise Refused("deal-sealed", "A race on this deal is on, or about to be: its par can be had afterwards.")

    async def _found(self, game: type[Game], seed: str, variant: Variant, address: str) -> Par | ParProgress:
        key = _key(game, seed, variant)
        if key not in self._done:
            text = await self._store.ask("GET", key)
            if text is not None:
                return codec.decode(text, "json", Par)
            self._begin(key, game, seed, variant, address)
        return ParProgress(self._done[key], PLAYS[game.slug])

    def _begin(self, key: str, game: type[Game], seed: str, variant: Variant, address: str) -> None:
        if key in self._done:  # while the store was asked
            return
        if len(self._done) >= MAX_PENDING:
            raise Refused("too-many", "The computer has enough deals to play; ask again in a moment.")
        place = self._jobs.turns.place(address)
        self._done[key] = 0
        task = asyncio.get_running_loop().create_task(self._find(key, game, seed, variant, place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _find(self, key: str, game: type[Game], seed: str, variant: Variant, place: Place) -> None:
        def tell(done: int) -> None:
            self._done[key] = done

        try:
            async with place.turn():
                if await self._store.ask("EXISTS", key):  # another process was quicker
                    return
                try:
                    found = await self._jobs.run_now("par", msgpack.encode((game.slug, seed, variant)), tell)
                except JobFailed:
                    metrics.PARS.labels(game.slug, "failed").inc()
                    raise
            metrics.PARS.labels(game.slug, "found").inc()
            await self._store.retry("SET", key, found, "EX", KEPT_S)
        except Refused as refused:
            logger.warning("the par of %s: %s", key, refused.text)
        except Exception:
            logger.exception("finding out the par of %s failed", key)
        finally:
            place.release()
            del self._done[key]


def check_has_bot(game: type[Game]) -> None:
    """Raises Refused("not-found") for a game that the computer does not play."""
    if game.slug not in BOTS or game.slug not in PLAYS:
        raise Refused("not-found", f"The computer does not play {game.title}.")


def _key(game: type[Game], seed: str, variant: Variant) -> str:
    return f"par:{BOTS[game.slug].name}:{codec.encode(variant, 'json').decode()}:{seed}"
