"""Races of the demo: bots take seats, play, and check the replay."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from samedeal.games.catalogue import GAMES
from samedeal.proof.receipts import about
from samedeal.proof.verification import verify
from samedeal.race.seat import Standing
from samedeal.replays.replay import Replay, read
from samedeal.wire import codec
from samedeal.wire.documents import Opened
from samedeal.wire.messages import View
from samedeal_cli.commands.bot import RandomPlayer, play, random_pause
from samedeal_cli.commands.demo_server import Server
from samedeal_cli.commands.mode import Mode
from samedeal_cli.commands.output import write_file
from samedeal_cli.commands.parameters import race_request
from samedeal_cli.failure import Failure, Unverified
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.replay_loader import fetch_archived
from samedeal_cli.render.phrases import with_unique_names
from samedeal_cli.settings import state_dir

NAMES: Final = ("ada", "bo", "cy", "dee", "eli", "fay", "gus", "hal")
ARCHIVE_S: Final = 10.0
"""Maximum time until the server publishes the replay of a finished race."""


@dataclass(frozen=True)
class Plan:
    """The options of the command."""

    game: str
    bots: int
    speed: float
    seed: str | None
    save: Path | None
    mode: Mode | None = None
    """The mode of the commands ``join`` and ``watch`` that the demo starts."""


@dataclass
class BotRace:
    """A race with bots."""

    opened: Opened
    receipts_dir: Path | None
    """Where the bots store their receipts. Only needed if the replay is saved."""
    connections: list[Connection] = field(default_factory=list)
    """The connections of the bots."""
    tokens: tuple[str | None, ...] = ()
    """The tokens of the bots, if they have raced before."""
    seated: bool = False
    """Whether all bots have joined."""

    @property
    def id(self) -> str:
        return self.opened.race

    @property
    def title(self) -> str:
        return GAMES[self.opened.header.game].title

    @property
    def bots(self) -> str:
        """The names of the bots."""
        return " and ".join(
            standing.name for standing in with_unique_names(self.standings) if standing.seat in self._seats
        )

    @property
    def _seats(self) -> set[int | None]:
        """The seats of the demo's own bots. Guests can also be bots."""
        return {connection.seat for connection in self.connections}

    @property
    def standings(self) -> tuple[Standing, ...]:
        return self.connections[0].standings if self.connections else ()

    @property
    def stage(self) -> str:
        return self.connections[0].view.stage if self.connections else "open"

    def has_active_person(self) -> bool:
        """Return whether the race is running and a person is still playing."""
        people = [standing for standing in self.standings if not standing.bot]
        return self.stage in ("countdown", "running") and any(not standing.done for standing in people)

    def guests_are_ready(self) -> bool:
        """Return whether there are guests, people or programs, and all of them are ready."""
        guests = [standing for standing in self.standings if standing.seat not in self._seats]
        return bool(guests) and all(standing.outcome == "ready" for standing in guests)


async def open_race(server: Server, plan: Plan, **options: int | str) -> BotRace:
    body = race_request(plan.game, plan.seed, options)
    return BotRace(await asyncio.to_thread(server.api.open_race, body), state_dir() if plan.save else None)


async def open_rematch(server: Server, race: BotRace, race_id: str) -> BotRace:
    """Return the rematch of a race, for the same bots."""
    view = server.api.read(await asyncio.to_thread(server.api.fetch, f"/races/{race_id}"), View)
    if view.header is None:
        raise Failure(f"{server.url} sent no header of {race_id}")
    tokens = tuple(connection.token for connection in race.connections)
    return BotRace(Opened(race_id, f"{server.link}/r/{race_id}", view.header), race.receipts_dir, tokens=tokens)


@asynccontextmanager
async def seated(server: Server, race: BotRace, names: tuple[str, ...]) -> AsyncIterator[None]:
    """Let bots join, and keep them connected."""
    async with AsyncExitStack() as stack:
        for name, token in zip_longest(names, race.tokens):
            connection = Connection(server.url, race.id, name=name, token=token, bot=True, keep_in=race.receipts_dir)
            race.connections.append(await stack.enter_async_context(connection))
        race.seated = True
        yield


async def run_race(
    server: Server, plan: Plan, race: BotRace, *, max_moves: int = 400, with_guests: bool = False
) -> Replay:
    """Let the bots play to the end. Verify the replay, save it if the plan says so, and return it."""
    ready = race.guests_are_ready if with_guests else lambda: True
    pause = random_pause(plan.speed)
    await _run_all(
        play(connection, RandomPlayer(moves=max_moves), pause=pause, ready_when=ready)
        for connection in race.connections
    )
    replay = await _verified_replay(server, race)
    if plan.save:
        write_file(plan.save, codec.encode(replay, "msgpack" if plan.save.suffix == ".msgpack" else "json"))
    return replay


async def _run_all(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all coroutines. If one fails, cancel the others and raise its error."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def _verified_replay(server: Server, race: BotRace) -> Replay:
    """Return the replay of a finished race. Raises Unverified if a check fails."""
    replay = read(await fetch_archived(server.api, race.id, ARCHIVE_S))
    receipts = about(replay.header, [connection.receipts for connection in race.connections])
    if failed := [fact for fact in await asyncio.to_thread(verify, replay, receipts=receipts) if not fact.holds]:
        raise Unverified(f"the replay of {race.id} failed verification: {failed[0].note}")
    return replay
