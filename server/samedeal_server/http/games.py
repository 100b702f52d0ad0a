"""Games: the layouts and options that clients need."""

from starlette.requests import Request

from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import GameDescription, GameList
from samedeal_server.http.endpoint import V1, Link, ResponseSpec, route
from samedeal_server.races.registry import checked_game


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
