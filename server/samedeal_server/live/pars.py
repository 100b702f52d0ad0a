"""The par service: par on request, withheld while a race on the deal is live."""

from typing import Final

from msgspec import msgpack

from samedeal import codec
from samedeal.computer.bots import BOTS
from samedeal.computer.par import Compared, Par, compared
from samedeal.errors import Refused
from samedeal.game import Game, Variant
from samedeal_server.live.registry import Registry
from samedeal_server.work.stored_results import Question, StoredResults

EXPIRE_S: Final = 30 * 86_400
"""Computing a par again takes about a second."""


class ParService:
    """Answers requests for par."""

    def __init__(self, results: StoredResults, registry: Registry) -> None:
        self._results, self._registry = results, registry

    async def of_deal(self, game: type[Game], seed: str, variant: Variant, address: str = "") -> Par:
        """Return the par of a deal. Raises InProgress while it is computed, which the first request starts.

        `address` is the client's; empty if unknown. Raises Refused("not-found") for a game that the computer does not
        play, Refused("deal-sealed") while a race on the deal is live, Refused("too-many") if the queue is full.
        """
        check_has_bot(game)
        await self._registry.check_public(game, seed)
        return await self._par(game, seed, variant, address)

    async def of_race(self, race_id: str, address: str = "") -> tuple[Par, tuple[Compared, ...]]:
        """Return the par of a race's deal and each racer's comparison with it, in order of place.

        Raises as ``of_deal``, and Refused("deal-sealed") before the race is over or its daily deal is public, and
        Refused("not-found") if the race was cancelled before the deal.
        """
        race = (await self._registry.room(race_id, address)).race
        check_has_bot(race.game)
        if not race.closed:
            raise Refused("deal-sealed", "Par is available when the race is over.")
        if race.seed is None:
            raise Refused("not-found", "The race was cancelled before the deal, so it has no par.")
        if self._registry.clock.now() < race.header.reveals_at:
            raise Refused("deal-sealed", "Others can still play this deal.")
        await self._registry.check_public(race.game, race.seed)
        par = await self._par(race.game, race.seed, race.header.variant, address)
        dealt_to = [standing for standing in race.standings() if race.seat(standing.seat).run]
        return par, tuple(
            compared(par, standing.seat, standing.name, standing.home, standing.outcome == "won")
            for standing in dealt_to
        )

    async def _par(self, game: type[Game], seed: str, variant: Variant, address: str) -> Par:
        content, plays = msgpack.encode((game.slug, seed, variant)), BOTS[game.slug].par_plays
        question = Question(_key(game, seed, variant), "par", content, EXPIRE_S, of=plays)
        return codec.decode(await self._results.result(question, address), "json", Par)


def check_has_bot(game: type[Game]) -> None:
    """Raise Refused("not-found") for a game that the computer does not play."""
    if game.slug not in BOTS:
        raise Refused("not-found", f"The computer does not play {game.title}.")


def _key(game: type[Game], seed: str, variant: Variant) -> str:
    """Return the key of a deal's par. It names the bot, so that a new bot computes the par again."""
    return f"par:{BOTS[game.slug].name}:{codec.encode(variant, 'json').decode()}:{seed}"
