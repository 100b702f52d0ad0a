"""Analysis: whether a deal could be won and how, where racers lost it, and advice for somebody who plays alone."""

from typing import Annotated, Final

from msgspec import Meta, Struct, msgpack, structs
from starlette.requests import Request
from starlette.responses import Response

from samedeal.analysis.advice import Advice
from samedeal.analysis.analysis import Analysis
from samedeal.analysis.turning_point import TurningPoint
from samedeal.errors import Refused
from samedeal.replays.replay import Replay
from samedeal.replays.timeline import Steps
from samedeal.wire.messages import Board
from samedeal_server.api.deal_codes import deal_of
from samedeal_server.api.endpoint import V1, BodySpec, ResponseSpec, route
from samedeal_server.api.replays import FORMS, archived, parse_suffix, render
from samedeal_server.live.analyses import AnalysisProgress, AnalysisService, check_has_solver
from samedeal_server.live.registry import Registry
from samedeal_server.net.requests import client_network, read_json
from samedeal_server.net.responses import MEDIA, gzip_response, json_response

MAX_MOVES: Final = 1_000
"""The maximum number of moves. No line is nearly as long."""
MAX_BYTES: Final = 128 * 2**10
"""The maximum size of a request with moves."""
LATER: Final = {"Retry-After": "1"}
REFUSALS: Final = ("not-found", "replay-sealed", "deal-sealed", "unsupported-version", "withdrawn", "store-unavailable")
IN_PROGRESS: Final = ResponseSpec(
    202,
    kind=AnalysisProgress,
    description="The computer is still searching; try again later.",
    headers={"Retry-After": "The seconds to wait."},
)


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """Moves of somebody who plays alone."""

    moves: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...], Meta(max_length=MAX_MOVES)] = ()
    """The moves from the deal, without undo and restart."""


class RacerAnalysis(TurningPoint, frozen=True, kw_only=True):
    """Until when a racer who did not win could have won."""

    text: str
    """The same in words, which follow the racer's name."""


class RaceAnalysis(Struct, frozen=True, kw_only=True):
    """What could have been done on the deal of a finished race."""

    race: str
    deal: str
    """The code of the deal."""
    outcome: str
    """``won`` if a winning line is known, ``lost`` if there is provably none, ``open`` if none was found."""
    positions: int
    """The number of positions that the search from the deal visited."""
    text: str
    """Whether the deal could be won, in a sentence."""
    moves: int
    """The number of moves of the winning line, which is the replay at ``/solutions/{race}``; 0 without one."""
    racers: tuple[RacerAnalysis, ...]
    """The best racers who did not win, in the order of the standings."""


class Analyses:
    """The endpoints of analysis."""

    def __init__(self, analyses: AnalysisService, registry: Registry, signing_key: bytes) -> None:
        """`signing_key` (private, 32 bytes) signs winning lines."""
        self._analyses, self._registry, self._signing_key = analyses, registry, signing_key

    @route(
        "GET",
        f"{V1}/races/{{race}}/analysis",
        ResponseSpec(kind=RaceAnalysis),
        IN_PROGRESS,
        refuses=REFUSALS,
        cost=10,
    )
    async def of_race(self, request: Request) -> Response:
        """Return whether a finished race's deal could be won, and until when each racer could have won.

        The first request starts the computation.
        """
        race_id = request.path_params["race"]
        analysis = await self._analysis(request, race_id)
        if isinstance(analysis, AnalysisProgress):
            return json_response(analysis, 202, LATER)
        fields = {name: getattr(analysis, name) for name in ("deal", "outcome", "positions", "text")}
        racers = tuple(RacerAnalysis(**structs.asdict(racer), text=racer.described()) for racer in analysis.racers)
        return json_response(RaceAnalysis(race=race_id, moves=len(analysis.line), racers=racers, **fields))

    @route(
        "GET",
        f"{V1}/solutions/{{replay}}",
        ResponseSpec(kind=Replay, media=FORMS, headers={"Vary": "The form depends on Accept."}),
        IN_PROGRESS,
        refuses=(*REFUSALS, "not-acceptable"),
        cost=10,
    )
    async def solution(self, request: Request) -> Response:
        """Return a winning line of a finished race's deal as a replay, in the form of the suffix or by Accept.

        Not found if none is known.
        """
        race_id, form = parse_suffix(request, "replay")
        analysis = await self._solved(request, race_id)
        if isinstance(analysis, AnalysisProgress):
            return json_response(analysis, 202, LATER)
        question = msgpack.encode((analysis, self._signing_key, form))
        data = await render(self._registry.renderings, request, "solution-replay", question)
        return Response(data, media_type=MEDIA[form], headers={"Vary": "Accept"})

    @route(
        "GET",
        f"{V1}/solutions/{{race}}/steps",
        ResponseSpec(kind=Steps, headers={"Vary": "It may be compressed."}),
        IN_PROGRESS,
        refuses=REFUSALS,
        cost=10,
    )
    async def solution_steps(self, request: Request) -> Response:
        """Return the tables of a winning line, one after another, for clients that do not know the rules."""
        analysis = await self._solved(request, request.path_params["race"])
        if isinstance(analysis, AnalysisProgress):
            return json_response(analysis, 202, LATER)
        question = msgpack.encode((analysis, self._signing_key))
        zipped = await render(self._registry.renderings, request, "solution-steps", question)
        return await gzip_response(request, zipped, MEDIA["json"], {})

    @route(
        "POST",
        f"{V1}/deals/{{deal:path}}/board",
        ResponseSpec(kind=Board),
        body=BodySpec(kind=Line),
        refuses=("not-found", "deal-sealed", "illegal-move", "store-unavailable"),
        cost=5,
    )
    async def board(self, request: Request) -> Response:
        """Return the table after moves from a deal, for somebody who plays alone."""
        question = await self._line(request)
        return Response(await render(self._registry.renderings, request, "board", question), media_type=MEDIA["json"])

    @route(
        "POST",
        f"{V1}/deals/{{deal:path}}/advice",
        ResponseSpec(kind=Advice),
        IN_PROGRESS,
        body=BodySpec(kind=Line),
        refuses=("not-found", "deal-sealed", "illegal-move", "store-unavailable"),
        cost=20,
    )
    async def advice(self, request: Request) -> Response:
        """Return whether the game can be won after moves from a deal, whether the last one was a mistake, and a hint.

        The first request starts the computation.
        """
        check_has_solver(deal_of(request)[0])
        question = await self._line(request)
        await render(self._registry.renderings, request, "board", question)  # refuses illegal moves
        advice = await self._analyses.advice(question, client_network(request))
        return json_response(AnalysisProgress(0), 202, LATER) if advice is None else json_response(advice)

    async def _line(self, request: Request) -> bytes:
        """Return the deal and the moves of a request for a job. Raises Refused."""
        game, seed, variant = deal_of(request)
        line = await read_json(request, Line, MAX_BYTES)
        await self._registry.check_public(game, seed)
        return msgpack.encode((game.slug, seed, variant, line.moves))

    async def _analysis(self, request: Request, race_id: str) -> Analysis | AnalysisProgress:
        replay = await archived(self._registry, race_id, client_network(request))
        return await self._analyses.of_race(race_id, replay, client_network(request))

    async def _solved(self, request: Request, race_id: str) -> Analysis | AnalysisProgress:
        analysis = await self._analysis(request, race_id)
        if isinstance(analysis, Analysis) and not analysis.line:
            raise Refused("not-found", analysis.text)
        return analysis
