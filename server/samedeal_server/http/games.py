"""Games: the layouts and options that clients need."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal_server.http.endpoint import V1, Link, ResponseSpec, route
from samedeal_server.races.registry import checked_game

Slug = Annotated[str, Meta(description="The slug of a game.", extra_json_schema={"enum": list(GAMES)})]


class GameDescription(Struct, frozen=True):
    """A game."""

    slug: Slug
    title: str
    rules: str
    """The version of its rules."""
    layout: str
    """The rows of the table: a line of place names for each."""
    fanned: Sequence[str]
    """The places whose piles are fanned out."""
    foundations: Sequence[str]
    """The places of the foundations."""
    labels: Mapping[str, str]
    """The ranks of the places that are reserved for one rank."""
    hidden: Sequence[str]
    """The places whose cards are face down."""
    goal: int
    """The number of cards to move to the foundations."""
    limit_ms: int
    """The default time limit of a race, in milliseconds."""
    options: Mapping[str, Sequence[str | bool]]
    """The options of the game and their choices, the default first."""

    @classmethod
    def of(cls, game: type[Game]) -> "GameDescription":
        fields: dict[str, Any] = {name: getattr(game, name) for name in cls.__struct_fields__}
        return cls(**fields | {name: sorted(fields[name]) for name in ("fanned", "foundations", "hidden")})


class GameList(Struct, frozen=True):
    """All games."""

    games: Sequence[GameDescription]


class Games:
    """The endpoints of games."""

    @route(
        "GET",
        f"{V1}/games",
        ResponseSpec(
            kind=GameList,
            links=[
                Link(path, {"game": "$response.body#/games/0/slug"})
                for path in (f"{V1}/games/{{game}}", "/rules/{game}")
            ],
        ),
    )
    async def all(self, request: Request) -> GameList:
        """List all games."""
        return GameList([GameDescription.of(game) for game in GAMES.values()])

    @route("GET", f"{V1}/games/{{game}}", refuses=("not-found",))
    async def one(self, request: Request) -> GameDescription:
        """Return a game."""
        return GameDescription.of(checked_game(request.path_params["game"]))
