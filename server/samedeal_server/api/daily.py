"""Daily deals and their results."""

from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import Daily, Today
from samedeal_server.api.endpoint import STORE_REFUSALS, V1, route
from samedeal_server.live.dailies import Dailies, day_of
from samedeal_server.live.fields import Page
from samedeal_server.live.opening import checked_game
from samedeal_server.store.guest_tokens import Guest


class DailyDeals:
    """The endpoints of daily deals."""

    def __init__(self, dailies: Dailies) -> None:
        self._dailies = dailies

    @route("GET", f"{V1}/daily", refuses=STORE_REFUSALS, cost=5)
    async def today(self, query: Page, guest: Guest | None) -> Today:
        """Return today's deal of every game, each with a page of results and, with a guest's token, that guest's."""
        today = self._dailies.today
        return Today([await self._dailies.get(game, today, query, guest) for game in GAMES.values()])

    @route("GET", f"{V1}/daily/{{date}}/{{game}}", refuses=("not-found", *STORE_REFUSALS), cost=5)
    async def one(self, date: str, game: str, query: Page, guest: Guest | None) -> Daily:
        """Return the deal of a game on a date (at most a year ahead) with a page of results and, with a guest's token,
        that guest's.
        """
        return await self._dailies.get(checked_game(game), day_of(date), query, guest)
