"""Races over HTTP: opening one, finding those that are on, and looking at one."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal.race.events import Header, Seed
from samedeal.wire import views
from samedeal.wire.messages import View
from samedeal_server.access.network import base_of
from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.http.endpoint import V1, Answer, Body, Link, at
from samedeal_server.http.games import Slug
from samedeal_server.http.links import race_links
from samedeal_server.http.race_bodies import OPENINGS
from samedeal_server.http.requests import address, bearer_token, body
from samedeal_server.http.responses import json_response
from samedeal_server.races.live_races import Listed, RaceFilter
from samedeal_server.races.opening import race_options
from samedeal_server.races.registry import Registry, checked_game
from samedeal_server.settings import Settings
from samedeal_server.store.guests import Guests

MAX_OPENING_BYTES: Final = 16_384


class CreateRace(Struct, frozen=True, forbid_unknown_fields=True):
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


class Races:
    """The endpoints about races that are on."""

    def __init__(self, registry: Registry, guests: Guests, rate_limits: RateLimits, settings: Settings) -> None:
        self._registry, self._guests, self._rate_limits, self._settings = registry, guests, rate_limits, settings

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
        return RaceList(*await self._registry.live.page(query))

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
        cost=5,
    )
    async def open(self, request: Request) -> Response:
        """Opens a race. With a guest's token it counts as that guest's."""
        opening = await body(request, CreateRace, MAX_OPENING_BYTES, self._settings.hello_timeout_ms / 1000)
        game = checked_game(opening.game)
        variant, options = race_options(
            game, seed=opening.seed, daily=opening.daily, variant=opening.variant, options=opening.options
        )
        client = address(request)
        if not opening.daily:
            self._registry.deal_finder.check(game, options.filter, client)
        self._rate_limits.races.take(client)
        owners = {self._registry.opener.address_owner(client): self._settings.open_races_per_address}
        if token := bearer_token(request):
            owners[f"guest:{(await self._guests.known(token)).player}"] = self._settings.open_races_per_guest
        room = await self._registry.create(game, variant, opening.seed, options, daily=opening.daily, owners=owners)
        header = room.race.header
        link = f"{base_of(request, self._settings)}/r/{header.race}"
        return json_response(Opened(header.race, link, header), 201, {"Location": f"{V1}/races/{header.race}"})

    @at("GET", f"{V1}/races/{{race}}", refuses=("not-found", "unsupported-version", "store-unavailable"))
    async def one(self, request: Request) -> View:
        """A race as somebody sees it who looks on, with its header."""
        room = await self._registry.room(request.path_params["race"])
        return views.view(room.race, None, self._registry.clock.now(), header=True)
