"""Daily deals and their results."""

from starlette.requests import Request

from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import Daily, Today
from samedeal_server.api.endpoint import V1, route
from samedeal_server.api.players import viewer_of
from samedeal_server.live.dailies import Dailies, Page, day_of
from samedeal_server.live.opening import checked_game
from samedeal_server.store.guest_tokens import Guests


class DailyDeals:
    """The endpoints of daily deals."""

    def __init__(self, dailies: Dailies, guests: Guests) -> None:
        self._dailies, self._guests = dailies, guests

    @route(
        "GET",
        f"{V1}/daily",
        refuses=("bad-token", "store-unavailable"),
        cost=5,
    )
    async def today(self, request: Request, query: Page) -> Today:
        """Return today's deal of every game, each with a page of results and, with a guest's token, that guest's."""
        today, viewer = self._dailies.today, await viewer_of(request, self._guests)
        return Today([await self._dailies.get(game, today, query, viewer) for game in GAMES.values()])

    @route(
        "GET",
        f"{V1}/daily/{{date}}/{{game}}",
        refuses=("not-found", "bad-token", "store-unavailable"),
        cost=5,
    )
    async def one(self, request: Request, query: Page) -> Daily:
        """Return the deal of a game on a date (at most a year ahead) with a page of results and, with a guest's token,
        that guest's.
        """
        game, day = checked_game(request.path_params["game"]), day_of(request.path_params["date"])
        return await self._dailies.get(game, day, query, await viewer_of(request, self._guests))
