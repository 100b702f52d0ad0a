"""Par: the computer's results on a deal, and its plays as replays."""

import re
from typing import Final

from msgspec import Struct, msgpack, structs
from starlette.requests import Request
from starlette.responses import Response

from samedeal.computer.bots import BOTS
from samedeal.computer.par import Par
from samedeal.errors import Refused
from samedeal.race.events import SeatNumber
from samedeal.replays.replay import Replay
from samedeal.wire.documents import RacePar
from samedeal_server.api.deal_codes import Deal
from samedeal_server.api.endpoint import DEAL_REFUSALS, IN_PROGRESS, RACE_REFUSALS, V1, Render, ResponseSpec, route
from samedeal_server.api.replays import FORMS, parse_suffix
from samedeal_server.live.pars import ParService, check_has_bot
from samedeal_server.live.registry import Registry
from samedeal_server.net.responses import MEDIA, json_response, negotiate

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


class SeatQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose results to return."""

    seat: SeatNumber | None = None
    """The seat of one racer; by default, all racers."""


REFUSALS: Final = (*RACE_REFUSALS, "deal-sealed")
PAR_FORMS: Final = {"json": (MEDIA["json"],), "svg": (MEDIA["svg"],)}


class ParOfDeals:
    """The endpoints of par."""

    def __init__(self, pars: ParService, registry: Registry, signing_key: bytes) -> None:
        """`signing_key` (private, 32 bytes) signs the computer's plays."""
        self._pars, self._registry, self._signing_key = pars, registry, signing_key

    @route(
        "GET",
        f"{V1}/races/{{race}}/par",
        ResponseSpec(kind=RacePar, media=(MEDIA["json"], MEDIA["svg"]), headers=("Vary",)),
        IN_PROGRESS,
        refuses=(*REFUSALS, "not-acceptable"),
        cost=3,
    )
    @route(
        "GET",
        f"{V1}/races/{{race}}/par.svg",
        ResponseSpec(media=(MEDIA["svg"],), headers=("Vary",)),
        IN_PROGRESS,
        refuses=REFUSALS,
        cost=10,
    )
    async def of_race(self, request: Request, race: str, query: SeatQuery, client: str, render: Render) -> Response:
        """Return the computer's results on a race's deal, compared with the racers, once the deal is public.

        As JSON or, by suffix or Accept, as a picture.
        """
        is_picture = request.url.path.endswith(".svg") or negotiate(request, PAR_FORMS) == "svg"
        par, racers = await self._pars.of_race(race, client)
        racers = tuple(racer for racer in racers if query.seat in (None, racer.seat))
        if query.seat is not None and not racers:
            raise Refused("not-found", f"Nobody played in seat {query.seat}.")
        vary = {"Vary": "Accept"}
        if not is_picture:
            return json_response(RacePar(race=race, racers=racers, **structs.asdict(par)), headers=vary)
        return Response(await render("par-chart", msgpack.encode((par, racers))), media_type=MEDIA["svg"], headers=vary)

    @route("GET", f"{V1}/deals/{{deal:path}}/par", ResponseSpec(kind=Par), IN_PROGRESS, refuses=DEAL_REFUSALS, cost=5)
    async def of_deal(self, deal: Deal, client: str) -> Par:
        """Return the computer's results on a deal. The first request starts the computation."""
        return await self._pars.of_deal(*deal, client)

    @route(
        "GET",
        f"{V1}/deals/{{deal:path}}/par/{{play}}",
        ResponseSpec(kind=Replay, media=FORMS, headers=("Vary",)),
        refuses=(*DEAL_REFUSALS, "not-acceptable"),
        cost=40,
    )
    async def play(self, request: Request, deal: Deal, render: Render) -> Response:
        """Return a play of the computer as a replay, in the form of the suffix or by Accept."""
        number, form = parse_suffix(request, "play")
        if not _NUMBER.fullmatch(number):
            raise Refused("not-found", "The number of a play must be an integer from 0.")
        game, seed, variant = deal
        check_has_bot(game)
        await self._registry.check_public(game, seed)
        if int(number) >= (plays := BOTS[game.slug].par_plays):
            raise Refused("not-found", f"The plays of {game.title} are numbered from 0 to {plays - 1}.")
        question = msgpack.encode((game.slug, seed, variant, int(number), self._signing_key, form))
        data = await render("play", question)
        return Response(data, media_type=MEDIA[form], headers={"Vary": "Accept"})
