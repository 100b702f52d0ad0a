"""Races of the demo: bots take seats, play, and check the replay."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final

from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.proof.receipts import about
from samedeal.proof.verification import verify
from samedeal.race.events import Header
from samedeal.race.standings import Standing
from samedeal.replays.replay import Replay, read
from samedeal_cli.bots.bot import RandomPlayer, play
from samedeal_cli.commands.mode import Mode
from samedeal_cli.commands.output import write_file
from samedeal_cli.failure import Unverified
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import race_request
from samedeal_cli.net.replay_loader import fetch_archived
from samedeal_cli.net.temporary_server import Server
from samedeal_cli.settings import state_dir

NAMES: Final = ("ada", "bo", "cy", "dee", "eli", "fay", "gus", "hal")


@dataclass(frozen=True)
class Plan:
    """The options of the command."""

    game: str
    bots: int
    speed: float
    seed: str | None
    save: Path | None
    mode: Mode | None = None
    """Whether the demo has a full screen."""


@dataclass
class BotRace:
    """A race with bots."""

    server: Server
    plan: Plan
    id: str
    connections: list[Connection] = field(default_factory=list)
    """The connections of the bots that have joined."""
    tokens: list[str | None] = field(default_factory=list)
    """The tokens of the bots, if they have raced before."""
    has_bots: bool = False
    """Whether all bots have joined."""

    @classmethod
    async def open(cls, server: Server, plan: Plan, token: str | None = None, **options: int | str) -> "BotRace":
        """Open a race, with the guest with a token as the host."""
        body = race_request(plan.game, plan.seed, options)
        return cls(server, plan, (await asyncio.to_thread(server.api.open_race, body, token)).race)

    @property
    def header(self) -> Header:
        """The header, once a bot has joined."""
        return self.connections[0].header

    @property
    def title(self) -> str:
        return GAMES[self.header.game].title

    @property
    def standings(self) -> tuple[Standing, ...]:
        return self.connections[0].standings if self.connections else ()

    @property
    def stage(self) -> str:
        return self.connections[0].view.stage if self.connections else "open"

    @property
    def bots(self) -> str:
        """The names of the bots."""
        return " and ".join(connection.welcome.name for connection in self.connections)

    def guests_are_ready(self) -> bool:
        """Return whether there are guests, people or programs, and all of them are ready."""
        seats = {connection.seat for connection in self.connections}
        guests = [standing for standing in self.standings if standing.seat not in seats]
        return bool(guests) and all(standing.outcome == "ready" for standing in guests)

    def rematch(self, race_id: str) -> "BotRace":
        """Return the rematch of the race, for the same bots."""
        return BotRace(self.server, self.plan, race_id, tokens=[each.token for each in self.connections])

    @asynccontextmanager
    async def seated(self, names: tuple[str, ...]) -> AsyncIterator[None]:
        """Let bots join, and keep them connected. They only need receipts if the replay is saved."""
        folder = state_dir() if self.plan.save else None
        async with AsyncExitStack() as stack:
            for name, token in zip_longest(names, self.tokens):
                connection = Connection(self.server.url, self.id, name=name, token=token, bot=True, keep_in=folder)
                self.connections.append(await stack.enter_async_context(connection))
            self.has_bots = True
            yield

    async def run(self, *, max_moves: int = 400, with_guests: bool = False) -> Replay:
        """Let the bots play to the end. Return the replay, verified and, if the plan says so, saved."""
        ready = self.guests_are_ready if with_guests else lambda: True
        player, speed = RandomPlayer(moves=max_moves), self.plan.speed
        await asyncio.gather(*(play(each, player, speed=speed, ready_when=ready) for each in self.connections))
        replay = read(await fetch_archived(self.server.api, self.id))
        receipts = about(replay.header, [connection.receipts for connection in self.connections])
        facts = await asyncio.to_thread(verify, replay, receipts=receipts)
        if failed := [fact for fact in facts if not fact.holds]:
            raise Unverified(f"the replay of {self.id} failed verification: {failed[0].note}")
        if file := self.plan.save:
            write_file(file, codec.encode(replay, "msgpack" if file.suffix == ".msgpack" else "json"))
        return replay
