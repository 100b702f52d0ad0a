"""Players: personal scores and head-to-head records."""

from samedeal.scores.tallies import Versus
from samedeal.wire.documents import PlayerPage
from samedeal_server.api.endpoint import STORE_REFUSALS, V1, route
from samedeal_server.live.player_records import Newest, Players
from samedeal_server.store.guest_tokens import Guest


class PlayerScores:
    """The endpoints of players."""

    def __init__(self, players: Players) -> None:
        self._players = players

    @route("GET", f"{V1}/players/{{player}}", refuses=("not-found", *STORE_REFUSALS), cost=10)
    async def one(self, player: str, query: Newest, guest: Guest | None) -> PlayerPage:
        """Return a player's personal scores and newest races. With a guest's token, unlisted races in which that guest
        raced count, too.
        """
        return await self._players.get(player, guest, query)

    @route("GET", f"{V1}/players/{{player}}/versus/{{other}}", refuses=("not-found", *STORE_REFUSALS), cost=10)
    async def versus(self, player: str, other: str, guest: Guest | None) -> Versus:
        """Return how two players did against each other. With a guest's token, unlisted races in which that guest raced
        count, too.
        """
        return await self._players.versus(player, other, guest)
