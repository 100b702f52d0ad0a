"""Races through a bad network: a rival who moves all the time, and what must hold at the end."""

import asyncio
from typing import Any

from samedeal.proof.verification import verify
from samedeal.race.events import Joined, Moved
from samedeal.race.run import RESTART
from samedeal.race.standings import Standing
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.servers import Racer, Server
from support.vectors import WINS
from support.waiting import until

WIN = WINS["corners"]
"""A deal of Corners, with moves that win it."""
PAUSE_S = 0.03
ATTEMPT = 20
"""How many moves the rival makes in one attempt: too few for a win."""
Result = tuple[int, str, int, str]
"""Place, name, cards home and outcome."""


class Rival(Racer):
    """A racer at the server itself, whose moves are broadcast to a client behind the network."""

    async def compete(self, race: str) -> None:
        """Take part in a race, move all the time until all others are done, and resign."""
        await self.begin(race)
        await self.outlast()

    async def outlast(self) -> None:
        """Move all the time until all others are done, and resign."""
        assert self.view
        while not all(standing.done or standing.seat == self.view.seat for standing in self.view.standings):
            is_tired = self.board.ply % ATTEMPT == ATTEMPT - 1
            await self.move(RESTART if is_tired or not self.board.moves else self.board.moves[0])
            await asyncio.sleep(PAUSE_S)
        await self.ask(m.Resign)

    async def until_home(self, name: str, cards: int) -> None:
        """Wait until a racer has brought home some cards, while `compete` receives the standings."""
        await until(lambda: bool(self.view) and self._has_home(name, cards))

    def _has_home(self, name: str, cards: int) -> bool:
        assert self.view
        return any(each.name == name and each.home >= cards for each in self.view.standings)


def open_race(server: Server, **options: Any) -> str:
    """Open a race of two on the deal of `WIN`; return its id."""
    return server.create("corners", seed=WIN["seed"], max_racers=2, start_delay_ms=0, **options)


def moves_of(replay: Replay, name: str) -> list[str]:
    """Return the moves of a racer."""
    events = [entry.event for entry in replay.entries]
    (seat,) = (event.seat for event in events if isinstance(event, Joined) and event.name == name)
    return [event.move for event in events if isinstance(event, Moved) and event.seat == seat]


def results(standings: tuple[Standing, ...]) -> list[Result]:
    """Return the result that standings show."""
    return [(each.place, each.name, each.home, each.outcome) for each in standings]


async def check_replay(server: Server, race: str, name: str, moves: list[str]) -> Replay:
    """Wait for the replay. Check that it verifies, and has just these moves of a racer."""
    replay = await server.replay(race, 60)
    assert [fact for fact in verify(replay) if not fact.holds] == []
    assert moves_of(replay, name) == moves
    return replay
