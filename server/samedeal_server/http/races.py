"""Races: create, list and view."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal.computer.deal_filters import usual_filter
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.events import Header, Options, Seed
from samedeal.wire import views
from samedeal.wire.messages import View
from samedeal_server.access.network import base_url
from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.http.endpoint import V1, BodySpec, Link, ResponseSpec, route
from samedeal_server.http.games import Slug
from samedeal_server.http.links import race_links
from samedeal_server.http.race_bodies import CHOSEN_FOR_DAILY, OPENINGS, VISIBLE
from samedeal_server.http.requests import bearer_token, client_network, read_json, validate
from samedeal_server.http.responses import json_response
from samedeal_server.races.live_races import Listed, RaceFilter
from samedeal_server.races.registry import Registry, checked_game
from samedeal_server.settings import Settings
from samedeal_server.store.guests import Guests

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


class Opened(Struct, frozen=True):
    """A new race."""

    race: str
    """The ID of the race."""
    link: str
    """The URL to share with people."""
    header: Header


class RaceList(Struct, frozen=True):
    """A page of races, newest first."""

    races: Sequence[Listed]
    next: str | None
    """The value of `before` for the next page; null on the last page."""


class _Chosen(Struct, frozen=True):
    """The options of a CreateRace with defaults, to validate together."""

    options: Options


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
        return RaceList(*await self._registry.live.listed(query))

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
        cost=5,
    )
    async def open(self, request: Request) -> Response:
        """Create a race. With a guest's token, it counts towards that guest's limit."""
        opening = await read_json(request, CreateRace, MAX_OPENING_BYTES, self._settings.hello_timeout_ms / 1000)
        game = checked_game(opening.game)
        usual = {"limit_ms": game.limit_ms, "filter": usual_filter(game) if opening.seed is None else "any"}
        chosen = {name: _integer(value) for name, value in opening.options.items()}
        options = validate({"options": {**usual, **chosen}}, _Chosen).options
        if opening.seed is not None and options.filter != "any":
            raise Refused("bad-request", "An open deal cannot have a filter.")
        if opening.seed is not None and not re.fullmatch(VISIBLE, opening.seed):
            raise Refused("bad-request", "A seed must consist of visible characters.")
        if opening.daily:
            _check_daily(opening)
        variant = chosen_variant(game, opening.variant)
        client = client_network(request)
        if not opening.daily:
            self._registry.dealer.check(game, options.filter, client)
        self._rate_limits.races.take(client)
        owners = {self._registry.address_owner(client): self._settings.open_races_per_address}
        if token := bearer_token(request):
            owners[f"guest:{(await self._guests.known(token)).player}"] = self._settings.open_races_per_guest
        room = await self._registry.create(game, variant, opening.seed, options, daily=opening.daily, owners=owners)
        header = room.race.header
        link = f"{base_url(request, self._settings)}/r/{header.race}"
        return json_response(Opened(header.race, link, header), 201, {"Location": f"{V1}/races/{header.race}"})

    @route("GET", f"{V1}/races/{{race}}", refuses=("not-found", "unsupported-version", "store-unavailable"))
    async def one(self, request: Request) -> View:
        """Return a race as a spectator sees it, with its header."""
        room = await self._registry.room(request.path_params["race"])
        return views.view(room.race, None, self._registry.clock.now(), header=True)


def chosen_variant(game: type[Game], variant: Mapping[str, Any]) -> dict[str, str | bool]:
    """Return the choices of a variant that are not defaults. Raises Refused("bad-request") for unknown options."""
    for option in variant:
        if option not in game.options:
            raise Refused("bad-request", f"{game.title} has no option {option!r}.")
    return {option: choice for option, choice in variant.items() if choice != game.options[option][0]}


def _integer(value: float | bool | str) -> float | bool | str:
    """Convert a number such as 8.0, which is an integer in JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_daily(opening: CreateRace) -> None:
    """Raises Refused("bad-request") if a daily race would differ from the others on its deal."""
    if opening.seed is not None:
        raise Refused("bad-request", "A daily deal cannot have a seed.")
    if opening.variant:
        raise Refused("bad-request", "A daily deal cannot have a variant.")
    if others := sorted(opening.options.keys() - CHOSEN_FOR_DAILY):
        chosen, fixed = ", ".join(sorted(CHOSEN_FOR_DAILY)), ", ".join(others)
        raise Refused("bad-request", f"A daily deal accepts only the options {chosen}, not {fixed}.")
