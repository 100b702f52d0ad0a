"""Games: the layouts and options that clients need."""

import gzip
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import GameDescription, GameList
from samedeal_server.api.endpoint import V1, ResponseSpec, route
from samedeal_server.live.opening import checked_game
from samedeal_server.net.responses import MEDIA, gzip_response


class Games:
    """The endpoints of games."""

    @route("GET", f"{V1}/games", ResponseSpec(kind=GameList, headers=("Vary",)))
    async def all(self, request: Request) -> Response:
        """List all games."""
        return await gzip_response(request, _all_games(), MEDIA["json"], {})

    @route("GET", f"{V1}/games/{{game}}", refuses=("not-found",))
    async def one(self, game: str) -> GameDescription:
        """Return a game."""
        return GameDescription.of(checked_game(game))


@cache
def _all_games() -> bytes:
    """Return all games in JSON, compressed."""
    return gzip.compress(codec.encode(GameList([GameDescription.of(game) for game in GAMES.values()]), "json"), mtime=0)
