"""Practice: a race for one without a server or a clock, with advice. It stands in for a connection."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, Self

from samedeal.analysis.advice import Advice
from samedeal.errors import IllegalMove, Refused
from samedeal.game import Move
from samedeal.games.catalogue import GAMES
from samedeal.race.run import RESTART, UNDO
from samedeal.race.standings import Standing
from samedeal.replays.bot_replay import replay_of_line
from samedeal.wire import messages as m
from samedeal.wire.documents import GameDescription
from samedeal.wire.views import board_after
from samedeal_cli import searches
from samedeal_cli.net.connection import Answer, Connection, News
from samedeal_cli.net.http_api import Api
from samedeal_cli.searches import NO_KEY, PublicDeal

PRACTICE: Final = "practice"
"""What stands for the id of the race."""


class Practice(Connection):
    """Plays alone from a public deal, with undo as far as the deal."""

    def __init__(self, deal: PublicDeal, moves: Sequence[Move] = ()) -> None:
        """Start after some moves. Raises Misused for a deal that is unknown."""
        super().__init__("", PRACTICE)
        self._deal, self._start, self._moves = deal, deal.game, tuple(moves)
        self.header = replay_of_line(GAMES[deal.slug], deal.seed, (), NO_KEY, deal.variant).header
        self.welcome = m.Welcome(player=PRACTICE, name="you", server="")
        self._advice: dict[tuple[Move, ...], Advice] = {}
        self._show_moves(self._moves)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """There is nothing to close."""

    async def __aiter__(self) -> AsyncIterator[News]:
        """Nothing happens by itself."""
        await asyncio.Event().wait()
        yield self.view

    async def move(self, move: str) -> m.View:
        if move in (UNDO, RESTART):
            if not self._moves:
                raise IllegalMove("No move has been made yet.")
            self._show_moves(self._moves[:-1] if move == UNDO else ())
        else:
            self._show_moves((*self._moves, move))
        return self.view

    async def ask(self, request: m.Request, kind: type[Answer]) -> Answer:
        raise Refused("not-allowed", "You cannot do that in practice.")

    async def advice(self) -> Advice | None:
        """Return advice on the position; None if another one has followed before it is found."""
        moves = self._moves
        if moves not in self._advice:
            self._advice[moves] = await searches.advice(self._deal, moves)
        return self._advice[moves] if moves == self._moves else None

    def _show_moves(self, moves: tuple[Move, ...]) -> None:
        board, goal = board_after(self._start, moves), self._start.goal
        self._moves = moves
        standing = Standing(
            place=1,
            seat=1,
            name="you",
            bot=False,
            outcome="playing",
            done=False,
            home=board.home,
            goal=goal,
            progress=board.home / goal,
            attempts=1,
            ms=0,
        )
        n, h = len(moves), "0" * 64
        self.apply_view(m.View(race=PRACTICE, n=n, h=h, stage="running", standings=(standing,), seat=1, board=board))


class Library(Api):
    """Describes games without a server."""

    def __init__(self) -> None:
        super().__init__("")

    def game(self, slug: str) -> GameDescription:
        return GameDescription.of(GAMES[slug])
