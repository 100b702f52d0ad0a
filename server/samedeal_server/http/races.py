"""Races: create, list and view."""

from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal.race.events import Seed
from samedeal.wire import views
from samedeal.wire.documents import Opened, RaceList, Slug
from samedeal.wire.messages import View
from samedeal_server.access.network import base_url
from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.http.endpoint import V1, BodySpec, Link, ResponseSpec, race_links, route
from samedeal_server.http.race_bodies import OPENINGS
from samedeal_server.http.requests import bearer_token, client_network, read_json
from samedeal_server.http.responses import json_response
from samedeal_server.races.opening import race_options
from samedeal_server.races.registry import Registry, checked_game
from samedeal_server.settings import Settings
from samedeal_server.store.guests import Guests
from samedeal_server.store.live_races import RaceFilter

MAX_OPENING_BYTES: Final = 16_384


class CreateRace(Struct, frozen=True, forbid_unknown_fields=True):
    """A race to create."""

    game: Slug
    seed: Seed | None = None
    """The seed of an open deal. Without a seed, the deal is sealed or daily."""
    daily: bool = False
    """Whether to race today's deal, which permits only the options `max_racers`, `start_delay_ms` and `unlisted`, and
    no variant."""
    variant: dict[str, str | bool] = {}
    """The options of the game that differ from their defaults."""
    options: dict[str, int | float | bool | str] = {}
    """The options of the race that differ from their defaults. The default of `limit_ms` is the game's."""


class Races:
    """The endpoints of live races."""

    def __init__(self, registry: Registry, guests: Guests, rate_limits: RateLimits, settings: Settings) -> None:
        self._registry, self._guests, self._rate_limits, self._settings = registry, guests, rate_limits, settings

    @route(
        "GET",
        f"{V1}/races",
        ResponseSpec(
            kind=RaceList,
            links=(*race_links("/races/0/race"), Link(f"{V1}/races", {"before": "$response.body#/next"})),
        ),
        refuses=("store-unavailable",),
        cost=5,
    )
    async def all(self, request: Request, query: RaceFilter) -> RaceList:
        """List the live races that are not unlisted, newest first."""
        return RaceList(*await self._registry.live.page(query))

    @route(
        "POST",
        f"{V1}/races",
        ResponseSpec(
            201,
            Opened,
            headers={"Location": "The URL of the race in this API."},
            links=race_links("/race"),
        ),
        body=BodySpec(OPENINGS),
        refuses=("not-found", "bad-token", "foreign-page", "draining", "store-unavailable"),
        cost=20,
    )
    async def open(self, request: Request) -> Response:
        """Create a race. With a guest's token, it counts towards that guest's limit."""
        opening = await read_json(request, CreateRace, MAX_OPENING_BYTES, self._settings.hello_timeout_ms / 1000)
        game = checked_game(opening.game)
        variant, options = race_options(
            game, seed=opening.seed, daily=opening.daily, variant=opening.variant, options=opening.options
        )
        client = client_network(request)
        if not opening.daily:
            self._registry.deal_finder.check(game, options.filter, client)
        self._rate_limits.races.take(client)
        owners = {self._registry.opener.address_owner(client): self._settings.open_races_per_address}
        if token := bearer_token(request):
            owners[f"guest:{(await self._guests.authenticate(token)).player}"] = self._settings.open_races_per_guest
        room = await self._registry.create(game, variant, opening.seed, options, daily=opening.daily, owners=owners)
        header = room.race.header
        link = f"{base_url(request, self._settings)}/r/{header.race}"
        return json_response(Opened(header.race, link, header), 201, {"Location": f"{V1}/races/{header.race}"})

    @route("GET", f"{V1}/races/{{race}}", refuses=("not-found", "unsupported-version", "store-unavailable"))
    async def one(self, request: Request) -> View:
        """Return a race as a spectator sees it, with its header."""
        room = await self._registry.room(request.path_params["race"])
        return views.view(room.race, None, self._registry.clock.now(), header=True)
