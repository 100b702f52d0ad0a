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
from samedeal_server.api.deal_codes import Deal
from samedeal_server.api.endpoint import (
    DEAL_REFUSALS,
    IN_PROGRESS,
    RACE_REFUSALS,
    V1,
    BodySpec,
    Render,
    ResponseSpec,
    route,
)
from samedeal_server.api.replays import FORMS, archived, parse_suffix
from samedeal_server.live.analyses import AnalysisService, check_has_solver
from samedeal_server.live.registry import Registry
from samedeal_server.net.responses import MEDIA, gzip_response

MAX_MOVES: Final = 1_000
"""The maximum number of moves. No line is nearly as long."""
MAX_BYTES: Final = 128 * 2**10
"""The maximum size of a request with moves."""
REFUSALS: Final = (*RACE_REFUSALS, "replay-sealed", "deal-sealed")


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
        "GET", f"{V1}/races/{{race}}/analysis", ResponseSpec(kind=RaceAnalysis), IN_PROGRESS, refuses=REFUSALS, cost=10
    )
    async def of_race(self, race: str, client: str) -> RaceAnalysis:
        """Return whether a finished race's deal could be won, and until when each racer could have won.

        The first request starts the computation.
        """
        analysis = await self._analysis(race, client)
        fields = {name: getattr(analysis, name) for name in ("deal", "outcome", "positions", "text")}
        racers = tuple(RacerAnalysis(**structs.asdict(racer), text=racer.described()) for racer in analysis.racers)
        return RaceAnalysis(race=race, moves=len(analysis.line), racers=racers, **fields)

    @route(
        "GET",
        f"{V1}/solutions/{{replay}}",
        ResponseSpec(kind=Replay, media=FORMS, headers=("Vary",)),
        IN_PROGRESS,
        refuses=(*REFUSALS, "not-acceptable"),
        cost=10,
    )
    async def solution(self, request: Request, client: str, render: Render) -> Response:
        """Return a winning line of a finished race's deal as a replay, in the form of the suffix or by Accept.

        Not found if none is known.
        """
        race_id, form = parse_suffix(request, "replay")
        analysis = await self._solved(race_id, client)
        data = await render("solution-replay", msgpack.encode((analysis, self._signing_key, form)))
        return Response(data, media_type=MEDIA[form], headers={"Vary": "Accept"})

    @route(
        "GET",
        f"{V1}/solutions/{{race}}/steps",
        ResponseSpec(kind=Steps, headers=("Vary",)),
        IN_PROGRESS,
        refuses=REFUSALS,
        cost=10,
    )
    async def solution_steps(self, request: Request, race: str, client: str, render: Render) -> Response:
        """Return the tables of a winning line, one after another, for clients that do not know the rules."""
        analysis = await self._solved(race, client)
        zipped = await render("solution-steps", msgpack.encode((analysis, self._signing_key)))
        return await gzip_response(request, zipped, MEDIA["json"], {})

    @route(
        "POST",
        f"{V1}/deals/{{deal:path}}/board",
        ResponseSpec(kind=Board),
        body=BodySpec(Line, max_bytes=MAX_BYTES),
        refuses=(*DEAL_REFUSALS, "illegal-move"),
        cost=5,
    )
    async def board(self, deal: Deal, body: Line, render: Render) -> Response:
        """Return the table after moves from a deal, for somebody who plays alone."""
        return Response(await render("board", await self._position(deal, body)), media_type=MEDIA["json"])

    @route(
        "POST",
        f"{V1}/deals/{{deal:path}}/advice",
        ResponseSpec(kind=Advice),
        IN_PROGRESS,
        body=BodySpec(Line, max_bytes=MAX_BYTES),
        refuses=(*DEAL_REFUSALS, "illegal-move"),
        cost=20,
    )
    async def advice(self, deal: Deal, body: Line, client: str, render: Render) -> Advice:
        """Return whether the game can be won after moves from a deal, whether the last one was a mistake, and a hint.

        The first request starts the computation.
        """
        check_has_solver(deal.game)
        position = await self._position(deal, body)
        await render("board", position)  # refuses illegal moves
        return await self._analyses.advice(position, client)

    async def _position(self, deal: Deal, line: Line) -> bytes:
        """Return a deal and moves for a job. Raises Refused if the deal is not public."""
        await self._registry.check_public(deal.game, deal.seed)
        return msgpack.encode((deal.game.slug, deal.seed, deal.variant, line.moves))

    async def _analysis(self, race_id: str, client: str) -> Analysis:
        replay = await archived(self._registry, race_id, client)
        return await self._analyses.of_race(race_id, replay, client)

    async def _solved(self, race_id: str, client: str) -> Analysis:
        analysis = await self._analysis(race_id, client)
        if not analysis.line:
            raise Refused("not-found", analysis.text)
        return analysis
