"""Par over HTTP: what the computer makes of a deal, and each of its plays as a replay."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, defstruct, msgpack
from starlette.requests import Request
from starlette.responses import Response

from samedeal.computer.par import PLAYS, Compared, Counted, Par
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import SeatNumber, Seed
from samedeal.replays.replay import Replay
from samedeal_server.http.disconnects import while_connected
from samedeal_server.http.endpoint import V1, Answer, Link, at
from samedeal_server.http.race_bodies import variant_fields
from samedeal_server.http.races import chosen_variant
from samedeal_server.http.replays import FORMS, named
from samedeal_server.http.requests import address, checked
from samedeal_server.http.responses import MEDIA, json_response, liked
from samedeal_server.jobs.par_service import ParProgress, ParService, check_has_bot
from samedeal_server.jobs.pool import Task
from samedeal_server.jobs.renderings import Renderings
from samedeal_server.races.registry import checked_game
from samedeal_server.settings import Settings

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


class DealPar(Struct, frozen=True, kw_only=True):
    """What came out when the computer played a deal."""

    game: str
    deal: str
    """The deal code."""
    variant: Mapping[str, str | bool]
    bot: str
    """Which bot played."""
    plays: int
    """How often."""
    goal: int
    """How many cards there are to bring home, or to be left with."""
    counted: Counted
    """What a result counts: cards home, or cards left."""
    homes: Sequence[int]
    """The cards home of each play, play 0 first; a play that was won counts as `goal`."""
    results: Sequence[int]
    minimum: int
    median: float
    mean: float
    maximum: int
    solved: int
    """How many plays were won."""


class RacePar(DealPar, frozen=True, kw_only=True):
    """What came out when the computer played the deal of a race, and how its racers compare."""

    race: str
    racers: Sequence[Compared]


class Strips(Struct, frozen=True, forbid_unknown_fields=True):
    """Which racers a par is to have."""

    seat: SeatNumber | None = None
    """One racer's; all without it."""


class _Dealt(Struct, frozen=True):
    """The seed in a deal code."""

    seed: Seed


VARIANTS: Final = {
    slug: defstruct(f"{game.__name__}Query", variant_fields(game.options, text=True), forbid_unknown_fields=True)
    for slug, game in GAMES.items()
}
"""The games' own options as they are written in the query of an address."""
UNDER_WAY: Final = Answer(
    202, ParProgress, told="The computer plays: ask again.", headers={"Retry-After": "In how many seconds."}
)
STRIP: Final = {"json": (MEDIA["json"],), "svg": (MEDIA["svg"],)}


class ParOfDeals:
    """The endpoints about par."""

    def __init__(self, pars: ParService, renderings: Renderings, signing_key: bytes, settings: Settings) -> None:
        """`signing_key` is private, 32 bytes: the computer's plays are signed with it."""
        self._pars, self._renderings, self._signing_key, self._settings = pars, renderings, signing_key, settings

    @at(
        "GET",
        f"{V1}/races/{{race}}/par",
        Answer(kind=RacePar, media=(MEDIA["json"], MEDIA["svg"]), headers={"Vary": "The form depends on Accept."}),
        UNDER_WAY,
        refuses=("not-found", "not-acceptable", "deal-sealed", "unsupported-version", "store-unavailable"),
        cost=3,
    )
    async def of_race(self, request: Request, query: Strips) -> Response:
        """After a race, and once a daily deal is revealed, what the computer makes of its deal, with the racers."""
        return await self._of_race(request, query, liked(request, STRIP) == "svg")

    @at(
        "GET",
        f"{V1}/races/{{race}}/par.svg",
        Answer(media=(MEDIA["svg"],), headers={"Vary": "The form at the other address depends on Accept."}),
        UNDER_WAY,
        refuses=("not-found", "deal-sealed", "unsupported-version", "store-unavailable"),
        cost=10,
    )
    async def of_race_as_picture(self, request: Request, query: Strips) -> Response:
        """The same as a picture."""
        return await self._of_race(request, query, True)

    @at(
        "GET",
        f"{V1}/deals/{{deal:path}}/par",
        Answer(kind=DealPar, links=[Link(f"{V1}/deals/{{deal:path}}/par/{{play}}", {"seed": "$request.path.seed"})]),
        UNDER_WAY,
        query=VARIANTS,
        refuses=("not-found", "deal-sealed", "store-unavailable"),
        cost=5,
    )
    async def of_deal(self, request: Request) -> Response:
        """What the computer makes of a deal; to ask is to begin."""
        found = await self._pars.of_deal(*_deal(request), address(request))
        return _doing(found) if isinstance(found, ParProgress) else json_response(DealPar(**_told(found)))

    @at(
        "GET",
        f"{V1}/deals/{{deal:path}}/par/{{play}}",
        Answer(kind=Replay, media=FORMS, headers={"Vary": "The form depends on Accept."}),
        query=VARIANTS,
        refuses=("not-found", "not-acceptable", "deal-sealed", "store-unavailable"),
        cost=10,
    )
    async def play(self, request: Request) -> Response:
        """A play of the computer as a replay, in the form of its suffix or by Accept; nothing of it took place."""
        number, form = named(request, "play")
        if not _NUMBER.fullmatch(number):
            raise Refused("not-found", "The plays of the computer are numbered from 0 on.")
        game, seed, variant = _deal(request)
        check_has_bot(game)
        await self._pars.check_public(game, seed)
        if int(number) >= (plays := PLAYS[game.slug]):
            raise Refused("not-found", f"The plays of {game.title} are numbered from 0 to {plays - 1}.")
        question = msgpack.encode((game.slug, seed, variant, int(number), self._signing_key, form))
        data = await self._made(request, "play", question)
        return Response(data, media_type=MEDIA[form], headers={"Vary": "Accept"})

    async def _of_race(self, request: Request, query: Strips, picture: bool) -> Response:
        race = request.path_params["race"]
        found = await self._pars.of_race(race, address(request))
        if isinstance(found, ParProgress):
            return _doing(found)
        par, racers = found
        racers = tuple(racer for racer in racers if query.seat in (None, racer.seat))
        if query.seat is not None and not racers:
            raise Refused("not-found", f"Nobody played from seat {query.seat}.")
        if picture:
            data = await self._made(request, "strip", msgpack.encode((par, racers)))
            return Response(data, media_type=MEDIA["svg"], headers={"Vary": "Accept"})
        return json_response(RacePar(race=race, racers=racers, **_told(par)), headers={"Vary": "Accept"})

    async def _made(self, request: Request, task: Task, question: bytes) -> bytes:
        sender = address(request)
        return await while_connected(request, self._renderings.render(sender, task, question))


def _told(par: Par) -> dict[str, Any]:
    """The fields of DealPar."""
    told = {name: getattr(par, name) for name in DealPar.__struct_fields__ if name != "goal"}
    return told | {"goal": GAMES[par.game].goal}


def _doing(doing: ParProgress) -> Response:
    return json_response(doing, 202, {"Retry-After": "1"})


def _deal(request: Request) -> tuple[type[Game], str, dict[str, str | bool]]:
    """The deal that an address names, in the variant that its query asks for. Raises Refused for what there is not."""
    slug, _, seed = request.path_params["deal"].partition(":")
    game, variant = checked_game(slug), dict[str, str | bool]()
    for option, text in request.query_params.multi_items():
        choices = {f"{choice}".lower(): choice for choice in game.options.get(option, ())}
        if choices and (text not in choices or option in variant):
            raise Refused("bad-request", f"Say {option} once, as {' or '.join(choices)}.")
        variant[option] = choices.get(text, text)
    return game, checked({"seed": seed}, _Dealt).seed, chosen_variant(game, variant)
