"""The games over HTTP: what a client has to know of each to draw it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal_server.http.endpoint import V1, Answer, Link, at
from samedeal_server.races.registry import checked_game

Slug = Annotated[str, Meta(description="The slug of a game.", extra_json_schema={"enum": list(GAMES)})]


class GameDescription(Struct, frozen=True):
    """A game as it is played here."""

    slug: Slug
    title: str
    rules: str
    """The version of its rules."""
    layout: str
    """A picture made of place names: a line for each row of the table."""
    fanned: Sequence[str]
    """The places whose piles are drawn as fans."""
    foundations: Sequence[str]
    """The places that cards are sent home to."""
    labels: Mapping[str, str]
    """The rank that a place is meant for, where it is meant for one."""
    hidden: Sequence[str]
    """The places whose cards lie face down."""
    goal: int
    """How many cards there are to bring home."""
    limit_ms: int
    """How long a race runs unless its creator wants it otherwise."""
    options: Mapping[str, Sequence[str | bool]]
    """The choices of a variant, the usual one first."""

    @classmethod
    def of(cls, game: type[Game]) -> "GameDescription":
        return cls(
            slug=game.slug,
            title=game.title,
            rules=game.rules,
            layout=game.layout,
            fanned=sorted(game.fanned),
            foundations=sorted(game.foundations),
            labels=game.labels,
            hidden=sorted(game.hidden),
            goal=game.goal,
            limit_ms=game.limit_ms,
            options=game.options,
        )


class GameList(Struct, frozen=True):
    """All games."""

    games: Sequence[GameDescription]


class Games:
    """The endpoints about games."""

    @at(
        "GET",
        f"{V1}/games",
        Answer(
            kind=GameList,
            links=[
                Link(path, {"game": "$response.body#/games/0/slug"})
                for path in (f"{V1}/games/{{game}}", "/rules/{game}")
            ],
        ),
    )
    async def all(self, request: Request) -> GameList:
        """All games."""
        return GameList([GameDescription.of(game) for game in GAMES.values()])

    @at("GET", f"{V1}/games/{{game}}", refuses=("not-found",))
    async def one(self, request: Request) -> GameDescription:
        """One game."""
        return GameDescription.of(checked_game(request.path_params["game"]))
