"""Races over HTTP: opening one, finding those that are on, and looking at one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal import sight
from samedeal.errors import Refused
from samedeal.friendly import usual_filter
from samedeal.game import Game
from samedeal.log import Header, Options, Seed
from samedeal.messages import View
from samedeal_server.addresses import base_of
from samedeal_server.allowances import Allowances
from samedeal_server.api.answers import json_response
from samedeal_server.api.endpoint import V1, Answer, Body, Link, at
from samedeal_server.api.games import Slug
from samedeal_server.api.links import race_links
from samedeal_server.api.openings import CHOSEN_FOR_DAILY, OPENINGS, VISIBLE
from samedeal_server.api.questions import address, bearer_token, body, checked
from samedeal_server.guests import Guests
from samedeal_server.hall import Hall, checked_game
from samedeal_server.live_races import Listed, RaceFilter
from samedeal_server.settings import Settings

MOST_OPENING_BYTES: Final = 16_384


class Opening(Struct, frozen=True, forbid_unknown_fields=True):
    """How a race is to be."""

    game: Slug
    seed: Seed | None = None
    """Makes it an open deal; without it the deal is sealed, or daily."""
    daily: bool = False
    """Makes it the deal of today: then only the options `max_racers`, `start_delay_ms` and `unlisted` may be given, and
    no variant."""
    variant: dict[str, str | bool] = {}
    """The game's own options that are not to have their defaults."""
    options: dict[str, int | float | bool | str] = {}
    """Those of Options that are not to have their defaults; `limit_ms` has the game's."""


class Opened(Struct, frozen=True):
    """A new race."""

    race: str
    """Its name."""
    link: str
    """Where people open it."""
    header: Header


class RaceList(Struct, frozen=True):
    """Races, the newest first."""

    races: Sequence[Listed]
    next: str | None
    """What to ask for as `before` to get the next page; null on the last one."""


class _Chosen(Struct, frozen=True):
    """The options of an Opening, checked where they are known to be whole."""

    options: Options


class Races:
    """The endpoints about races that are on."""

    def __init__(self, hall: Hall, guests: Guests, allowances: Allowances, settings: Settings) -> None:
        self._hall, self._guests, self._allowances, self._settings = hall, guests, allowances, settings

    @at(
        "GET",
        f"{V1}/races",
        Answer(
            kind=RaceList,
            links=(*race_links("/races/0/race"), Link(f"{V1}/races", {"before": "$response.body#/next"})),
        ),
        refuses=("store-unavailable",),
        cost=5,
    )
    async def all(self, request: Request, query: RaceFilter) -> RaceList:
        """The live races that are not unlisted, the newest first, in pages."""
        return RaceList(*await self._hall.live.listed(query))

    @at(
        "POST",
        f"{V1}/races",
        Answer(
            201,
            Opened,
            headers={"Location": "The address of the race for programs."},
            links=race_links("/race"),
        ),
        body=Body(OPENINGS),
        refuses=("not-found", "bad-token", "foreign-page", "draining", "store-unavailable"),
        cost=20,
    )
    async def open(self, request: Request) -> Response:
        """Opens a race. With a guest's token it counts as that guest's."""
        opening = await body(request, Opening, MOST_OPENING_BYTES, self._settings.hello_timeout_ms / 1000)
        game = checked_game(opening.game)
        usual = {"limit_ms": game.limit_ms, "filter": usual_filter(game) if opening.seed is None else "any"}
        chosen = {name: _whole(value) for name, value in opening.options.items()}
        options = checked({"options": {**usual, **chosen}}, _Chosen).options
        if opening.seed is not None and options.filter != "any":
            raise Refused("bad-request", "An open deal is the one announced: it takes no filter.")
        if opening.seed is not None and not re.fullmatch(VISIBLE, opening.seed):
            raise Refused("bad-request", "A seed has only characters that can be seen.")
        if opening.daily:
            _check_daily(opening)
        variant = chosen_variant(game, opening.variant)
        client = address(request)
        if not opening.daily:
            self._hall.dealer.check(game, options.filter, client)
        self._allowances.races.take(client)
        owners = {self._hall.address_owner(client): self._settings.open_races_per_address}
        if token := bearer_token(request):
            owners[f"guest:{(await self._guests.known(token)).player}"] = self._settings.open_races_per_guest
        room = await self._hall.create(game, variant, opening.seed, options, daily=opening.daily, owners=owners)
        header = room.race.header
        link = f"{base_of(request, self._settings)}/r/{header.race}"
        return json_response(Opened(header.race, link, header), 201, {"Location": f"{V1}/races/{header.race}"})

    @at("GET", f"{V1}/races/{{race}}", refuses=("not-found", "unsupported-version", "store-unavailable"))
    async def one(self, request: Request) -> View:
        """A race as somebody sees it who looks on, with its header."""
        room = await self._hall.room(request.path_params["race"])
        return sight.view(room.race, None, self._hall.clock.now(), header=True)


def chosen_variant(game: type[Game], variant: Mapping[str, Any]) -> dict[str, str | bool]:
    """The choices of a variant that are not the defaults. Raises Refused("bad-request") for what the game has not."""
    for option in variant:
        if option not in game.options:
            raise Refused("bad-request", f"{game.title} has no option {option!r}.")
    return {option: choice for option, choice in variant.items() if choice != game.options[option][0]}


def _whole(value: float | bool | str) -> float | bool | str:
    """A number such as 8.0 as an integer, which it is in JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_daily(opening: Opening) -> None:
    """Raises Refused("bad-request") where a race on a daily deal is not to be like all others on it."""
    if opening.seed is not None:
        raise Refused("bad-request", "A daily deal is the same for all: it takes no seed.")
    if opening.variant:
        raise Refused("bad-request", "A daily deal is played in the usual variant: it takes no other.")
    if others := sorted(opening.options.keys() - CHOSEN_FOR_DAILY):
        chosen, fixed = ", ".join(sorted(CHOSEN_FOR_DAILY)), ", ".join(others)
        raise Refused("bad-request", f"A daily deal is raced alike by all: it takes {chosen}, and not {fixed}.")
