"""Races: create, list and view."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from samedeal.errors import Refused
from samedeal.race.events import MAX_DEALS, Header, RaceId, Seed
from samedeal.scores.evening import Evening
from samedeal.wire.documents import OpenedRace, RaceList, Slug
from samedeal.wire.messages import View
from samedeal_server.api.endpoint import RACE_REFUSALS, STORE_REFUSALS, V1, ResponseSpec, route
from samedeal_server.live.challenges import Challenges
from samedeal_server.live.lobby_changes import Change
from samedeal_server.live.opening import Quotas, checked_game, deal_of_races, race_options
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematches import Rematches
from samedeal_server.net.responses import json_response
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.live_races import RaceFilter


class CreateRace(Struct, frozen=True, forbid_unknown_fields=True):
    """A race to create."""

    game: Slug | UnsetType = UNSET
    """Required except for a rematch and a heat."""
    again: RaceId | UnsetType = UNSET
    """The finished race to open a rematch of, with the token of a guest who had a seat in it. A rematch inherits the
    options and permits only another `game`. If there is one already, it is returned. Before the countdown, with the
    token of the host, the race to replace by one with another `game` or other `options`; all others stay."""
    challenge: RaceId | UnsetType = UNSET
    """The challenge to open a heat of, instead of `game`. It permits only the options `max_racers` and
    `start_delay_ms`."""
    deal: Annotated[float, Meta(ge=1, le=MAX_DEALS, multiple_of=1)] = 1
    """The number of the challenge's deal, if there is a `challenge`."""
    club: RaceId | UnsetType = UNSET
    """The club whose members the race is for. Its deal is sealed, and it is unlisted."""
    seed: Seed | None = None
    """The seed of an open deal. Without a seed, the deal is sealed or daily."""
    daily: bool = False
    """Whether to race today's deal, which permits only the options `max_racers`, `start_delay_ms` and `unlisted`, and
    no variant."""
    ghosts: Annotated[tuple[RaceId, ...], Meta(max_length=8)] = ()
    """Finished races on the same deal, which is public: the new race is on that deal, and their racers take part as
    ghosts. It permits only `options`."""
    variant: dict[str, str | bool] = {}
    """The options of the game that differ from their defaults."""
    options: dict[str, int | float | bool | str] = {}
    """The options of the race that differ from their defaults. The default of `limit_ms` is the game's."""


class Races:
    """The endpoints of live races."""

    def __init__(self, registry: Registry, rematches: Rematches, challenges: Challenges, quotas: Quotas) -> None:
        self._registry, self._rematches, self._quotas = registry, rematches, quotas
        self._challenges = challenges

    @route("GET", f"{V1}/races", refuses=STORE_REFUSALS, cost=5)
    async def all(self, query: RaceFilter) -> RaceList:
        """List the live races that are not unlisted, newest first. Abandoned lobbies are left out."""
        return RaceList(*await self._registry.live.page(query))

    @route(
        "POST",
        f"{V1}/races",
        ResponseSpec(201, OpenedRace, headers=("Location",)),
        ResponseSpec(200, OpenedRace, headers=("Location",), description="The rematch that was open already."),
        refuses=(*RACE_REFUSALS, "not-seated", "untimely", "draining", "not-allowed", "replay-sealed"),
        cost=20,
    )
    async def open(self, request: Request, base: str, body: CreateRace, guest: Guest | None, client: str) -> Response:
        """Create a race, return the rematch of a finished one, or replace a race before its countdown. A race can be a
        heat of a challenge.

        The guest whose token is sent is the host, and the race counts towards the guest's limit.
        """
        if body.challenge is not UNSET:
            if body != CreateRace(challenge=body.challenge, deal=body.deal, options=body.options):
                raise Refused("bad-request", "A race in a challenge accepts only deal and options.")
            if guest is None:
                raise Refused("bad-token", "A race in a challenge needs the token of the guest who opens it.")
            room = await self._challenges.open_heat(body.challenge, int(body.deal), body.options, guest, client)
            header, is_new = room.race.header, True
        elif body.again is not UNSET:
            header, is_new = await self._open_rematch(body, body.again, guest, client)
        else:
            header, is_new = await self._open_new(body, guest, client), True
        location = {"Location": f"{request.scope['root_path']}{V1}/races/{header.race}"}
        opened = OpenedRace(header.race, f"{base}/r/{header.race}", header)
        return json_response(opened, 201 if is_new else 200, location)

    async def _open_new(self, opening: CreateRace, guest: Guest | None, client: str) -> Header:
        if opening.ghosts:
            opening = await self._with_deal_of_ghosts(opening)
        if opening.game is UNSET:
            raise Refused("bad-request", "A race needs a `game`.")
        club, chosen = None, opening.options
        if opening.club is not UNSET:
            if opening.seed is not None or opening.daily:
                raise Refused("bad-request", "A race in a club has a sealed deal: without a seed, and not today's.")
            if guest is None:
                raise Refused("bad-token", "A race in a club needs the token of the member who opens it.")
            club, chosen = (opening.club, guest.player), {**chosen, "unlisted": True}
        game = checked_game(opening.game)
        variant, options = race_options(
            game, seed=opening.seed, daily=opening.daily, variant=opening.variant, options=chosen
        )
        if not opening.daily:
            self._registry.deal_finder.check(game, options.filter, client)
        owners = self._quotas.take(client, guest.player if guest else None)
        room = await self._registry.create(
            game,
            variant,
            opening.seed,
            options,
            daily=opening.daily,
            ghosts=opening.ghosts,
            owners=owners,
            host=guest,
            club=club,
        )
        return room.race.header

    async def _with_deal_of_ghosts(self, opening: CreateRace) -> CreateRace:
        """Return an opening that names ghosts with their game, variant and seed."""
        if opening != CreateRace(ghosts=opening.ghosts, options=opening.options):
            raise Refused("bad-request", "A race with ghosts takes its deal from theirs.")
        ghosts = tuple(dict.fromkeys(opening.ghosts))
        registry, unlisted = self._registry, opening.options.get("unlisted") is True
        deal = await deal_of_races(registry.archive, ghosts, registry.clock.now(), unlisted=unlisted)
        return replace(opening, game=deal.game.slug, variant=deal.variant, seed=deal.seed, ghosts=ghosts)

    async def _open_rematch(
        self, opening: CreateRace, again: str, guest: Guest | None, client: str
    ) -> tuple[Header, bool]:
        """Return the header of a rematch, and whether it is new."""
        if guest is None:
            raise Refused("bad-token", "A rematch needs the token of a guest who had a seat in the race.")
        if opening != CreateRace(game=opening.game, again=again, options=opening.options):
            raise Refused("bad-request", "A rematch inherits everything except the game.")
        game = None if opening.game is UNSET else opening.game
        room, is_new = await self._rematches.ask(again, guest, client, Change(game, opening.options))
        return room.race.header, is_new

    @route("GET", f"{V1}/races/{{race}}", refuses=RACE_REFUSALS, cost=5)
    async def one(self, race: str, client: str) -> View:
        """Return a race as a spectator sees it, with its header."""
        return (await self._registry.room(race, client)).view(None, header=True)

    @route("GET", f"{V1}/races/{{race}}/evening", refuses=RACE_REFUSALS, cost=5)
    async def evening(self, race: str, client: str) -> Evening:
        """Return the scores over the finished races that this one follows or that follow it, and over this one."""
        return await self._rematches.evenings.get(race, client)
