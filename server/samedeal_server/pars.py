"""The pars: what the computer made of each deal, found out when somebody asks, kept, and told when nobody races it."""

import asyncio
import logging
from typing import Final

from msgspec import Struct

from samedeal import wire
from samedeal.bot_replay import replay_of
from samedeal.bots import BOTS
from samedeal.errors import Refused
from samedeal.game import Game, Variant
from samedeal.par import PLAYS, Compared, Par, compared
from samedeal.replay import Replay
from samedeal_server import computer, metrics
from samedeal_server.hall import Hall
from samedeal_server.store import Store

logger = logging.getLogger(__name__)

MOST_WANTED: Final = 5
"""How many deals may be with the computer of this process, one being played and the others in a queue."""
KEPT_S: Final = 30 * 86_400
"""How long a par is kept: longer would be no use, as it can be found out again in a second."""


class Doing(Struct, frozen=True):
    """How far the computer has come with a deal."""

    done: int
    of: int


class Pars:
    """Finds out pars, one after another, and keeps them in the store.

    What is under way is in no store: if it ends early, whoever asks next begins it anew. Two processes that are asked
    at the same moment both find out, and find the same.
    """

    def __init__(self, store: Store, hall: Hall, signing_key: bytes) -> None:
        """`signing_key` is private, 32 bytes."""
        self._store, self._hall, self._signing_key = store, hall, signing_key
        self._done: dict[str, int] = {}  # the deals that are with the computer, and how many plays of each are over
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Ends what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def of_deal(self, game: type[Game], seed: str, variant: Variant) -> Par | Doing:
        """The par of a deal, or how far the computer has come: to ask is to begin.

        Raises Refused("deal-sealed") while a race on it is live, Refused("too-many") if too many others are waiting.
        """
        await self._check_told(game, seed)
        return await self._found(game, seed, variant)

    async def of_race(self, id_: str) -> tuple[Par, tuple[Compared, ...]] | Doing:
        """The par of a race's deal, with all who were dealt to in the order of the standings, or as for a deal.

        Raises Refused("deal-sealed") also before the race is over, and until its deal may be told; Refused("not-found")
        where nothing was dealt.
        """
        race = (await self._hall.room(id_)).race
        if not race.closed:
            raise Refused("deal-sealed", f"The par of {id_} can be had when the race is over.")
        if race.seed is None:
            raise Refused("not-found", f"Nothing was dealt in {id_}: it was called off.")
        if self._hall.clock.now() < race.reveals_at:
            raise Refused("deal-sealed", f"{id_} was on a daily deal, which others may have yet to play.")
        await self._check_told(race.game, race.seed)
        found = await self._found(race.game, race.seed, race.header.variant)
        if isinstance(found, Doing):
            return found
        dealt_to = [standing for standing in race.standings() if race.seat(standing.seat).run]
        return found, tuple(
            compared(found, standing.seat, standing.name, standing.home, standing.outcome == "won")
            for standing in dealt_to
        )

    async def play(self, game: type[Game], seed: str, variant: Variant, k: int) -> Replay:
        """Play number k of the computer on a deal. Raises as ``of_deal``, Refused("not-found") for another number."""
        await self._check_told(game, seed)
        if k >= PLAYS[game.slug]:
            raise Refused("not-found", f"The plays of {game.title} are numbered from 0 to {PLAYS[game.slug] - 1}.")
        return await asyncio.to_thread(replay_of, game, seed, k, self._signing_key, variant)

    async def _check_told(self, game: type[Game], seed: str) -> None:
        if await self._hall.raced(game, seed):
            raise Refused("deal-sealed", "A race on this deal is on, or about to be: its par can be had afterwards.")

    async def _found(self, game: type[Game], seed: str, variant: Variant) -> Par | Doing:
        key = _key(game, seed, variant)
        if key not in self._done:
            text = await self._store.ask("GET", key)
            if text is not None:
                return wire.decode(text, "json", Par)
            self._begin(key, game, seed, variant)
        return Doing(self._done[key], PLAYS[game.slug])

    def _begin(self, key: str, game: type[Game], seed: str, variant: Variant) -> None:
        if key in self._done:  # while the store was asked
            return
        if len(self._done) >= MOST_WANTED:
            raise Refused("too-many", "The computer has enough deals to play; ask again in a moment.")
        self._done[key] = 0
        task = asyncio.get_running_loop().create_task(self._find(key, game, seed, variant))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _find(self, key: str, game: type[Game], seed: str, variant: Variant) -> None:
        def tell(done: int) -> None:
            self._done[key] = done

        try:
            async with self._turn:
                if await self._store.ask("EXISTS", key):  # another process was quicker
                    return
                try:
                    found = await computer.par(game, seed, variant, tell)
                except RuntimeError:
                    metrics.PARS.labels(game.slug, "failed").inc()
                    raise
                metrics.PARS.labels(game.slug, "found").inc()
                await self._store.insist("SET", key, wire.encode(found, "json"), "EX", KEPT_S)
        except Refused as refused:
            logger.warning("the par of %s: %s", key, refused.text)
        except Exception:
            logger.exception("finding out the par of %s failed", key)
        finally:
            del self._done[key]


def _key(game: type[Game], seed: str, variant: Variant) -> str:
    return f"par:{BOTS[game.slug].name}:{wire.encode(variant, 'json').decode()}:{seed}"
