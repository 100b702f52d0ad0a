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
from samedeal_server.api.deal_codes import deal_of
from samedeal_server.api.endpoint import V1, ResponseSpec, route
from samedeal_server.api.replays import FORMS, parse_suffix, render
from samedeal_server.live.pars import ParProgress, ParService, check_has_bot
from samedeal_server.live.registry import Registry
from samedeal_server.net.requests import client_network
from samedeal_server.net.responses import MEDIA, json_response, negotiate

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


class ParQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The racers to compare."""

    seat: SeatNumber | None = None
    """The seat of one racer; by default, all racers."""


IN_PROGRESS: Final = ResponseSpec(
    202,
    ParProgress,
    description="The computer is still playing; try again later.",
    headers={"Retry-After": "The seconds to wait."},
)
PAR_FORMS: Final = {"json": (MEDIA["json"],), "svg": (MEDIA["svg"],)}


class ParOfDeals:
    """The endpoints of par."""

    def __init__(self, pars: ParService, registry: Registry, signing_key: bytes) -> None:
        """`signing_key` (private, 32 bytes) signs the computer's plays."""
        self._pars, self._registry, self._renderings = pars, registry, registry.renderings
        self._signing_key = signing_key

    @route(
        "GET",
        f"{V1}/races/{{race}}/par",
        ResponseSpec(
            kind=RacePar, media=(MEDIA["json"], MEDIA["svg"]), headers={"Vary": "The form depends on Accept."}
        ),
        IN_PROGRESS,
        refuses=("not-found", "not-acceptable", "deal-sealed", "unsupported-version", "withdrawn", "store-unavailable"),
        cost=3,
    )
    async def of_race(self, request: Request, query: ParQuery) -> Response:
        """Return the computer's results on a race's deal, compared with the racers, once the deal is public."""
        return await self._of_race(request, query, negotiate(request, PAR_FORMS) == "svg")

    @route(
        "GET",
        f"{V1}/races/{{race}}/par.svg",
        ResponseSpec(media=(MEDIA["svg"],), headers={"Vary": "The same race's par depends on Accept."}),
        IN_PROGRESS,
        refuses=("not-found", "deal-sealed", "unsupported-version", "withdrawn", "store-unavailable"),
        cost=10,
    )
    async def of_race_as_picture(self, request: Request, query: ParQuery) -> Response:
        """Return the par of a race as a picture."""
        return await self._of_race(request, query, True)

    @route(
        "GET",
        f"{V1}/deals/{{deal:path}}/par",
        ResponseSpec(kind=Par),
        IN_PROGRESS,
        refuses=("not-found", "deal-sealed", "store-unavailable"),
        cost=5,
    )
    async def of_deal(self, request: Request) -> Response:
        """Return the computer's results on a deal. The first request starts the computation."""
        par = await self._pars.of_deal(*deal_of(request), client_network(request))
        return _in_progress(par) if isinstance(par, ParProgress) else json_response(par)

    @route(
        "GET",
        f"{V1}/deals/{{deal:path}}/par/{{play}}",
        ResponseSpec(kind=Replay, media=FORMS, headers={"Vary": "The form depends on Accept."}),
        refuses=("not-found", "not-acceptable", "deal-sealed", "store-unavailable"),
        cost=40,
    )
    async def play(self, request: Request) -> Response:
        """Return a play of the computer as a replay, in the form of the suffix or by Accept."""
        number, form = parse_suffix(request, "play")
        if not _NUMBER.fullmatch(number):
            raise Refused("not-found", "The number of a play must be an integer from 0.")
        game, seed, variant = deal_of(request)
        check_has_bot(game)
        await self._registry.check_public(game, seed)
        if int(number) >= (plays := BOTS[game.slug].par_plays):
            raise Refused("not-found", f"The plays of {game.title} are numbered from 0 to {plays - 1}.")
        question = msgpack.encode((game.slug, seed, variant, int(number), self._signing_key, form))
        data = await render(self._renderings, request, "play", question)
        return Response(data, media_type=MEDIA[form], headers={"Vary": "Accept"})

    async def _of_race(self, request: Request, query: ParQuery, picture: bool) -> Response:
        race_id = request.path_params["race"]
        result = await self._pars.of_race(race_id, client_network(request))
        if isinstance(result, ParProgress):
            return _in_progress(result)
        par, racers = result
        racers = tuple(racer for racer in racers if query.seat in (None, racer.seat))
        if query.seat is not None and not racers:
            raise Refused("not-found", f"Nobody played in seat {query.seat}.")
        if picture:
            data = await render(self._renderings, request, "par-chart", msgpack.encode((par, racers)))
            return Response(data, media_type=MEDIA["svg"], headers={"Vary": "Accept"})
        return json_response(RacePar(race=race_id, racers=racers, **structs.asdict(par)), headers={"Vary": "Accept"})


def _in_progress(progress: ParProgress) -> Response:
    return json_response(progress, 202, {"Retry-After": "1"})
