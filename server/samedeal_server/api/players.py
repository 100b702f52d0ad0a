"""Players: personal scores and head-to-head records."""

from starlette.requests import Request

from samedeal.scores.tallies import Versus
from samedeal.wire.documents import PlayerPage
from samedeal_server.api.endpoint import V1, route
from samedeal_server.live.player_records import Newest, Players
from samedeal_server.net.requests import bearer_token
from samedeal_server.store.guest_tokens import Guest, Guests


class PlayerScores:
    """The endpoints of players."""

    def __init__(self, players: Players, guests: Guests) -> None:
        self._players, self._guests = players, guests

    @route(
        "GET",
        f"{V1}/players/{{player}}",
        refuses=("not-found", "bad-token", "store-unavailable"),
        cost=10,
    )
    async def one(self, request: Request, query: Newest) -> PlayerPage:
        """Return a player's personal scores and newest races. With a guest's token, unlisted races in which that guest
        raced count, too.
        """
        return await self._players.get(request.path_params["player"], await viewer_of(request, self._guests), query)

    @route(
        "GET",
        f"{V1}/players/{{player}}/versus/{{other}}",
        refuses=("not-found", "bad-token", "store-unavailable"),
        cost=10,
    )
    async def versus(self, request: Request) -> Versus:
        """Return how two players did against each other. With a guest's token, unlisted races in which that guest raced
        count, too.
        """
        player, other = request.path_params["player"], request.path_params["other"]
        return await self._players.versus(player, other, await viewer_of(request, self._guests))


async def viewer_of(request: Request, guests: Guests) -> Guest | None:
    """Return the guest whose token a request has, if it has one. Raises Refused("bad-token")."""
    token = bearer_token(request)
    return await guests.authenticate(token) if token else None
