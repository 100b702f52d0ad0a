"""Races on daily deals, for tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from samedeal.day import Day
from samedeal.race.events import LONGEST_MS, Dealt
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.logged_server import request
from support.servers import MASTER_KEY, Racer
from support.timed_server import TimedServer
from support.waiting import LIMIT_S

KEY = bytes.fromhex(MASTER_KEY)


def next_day(day: Day) -> Day:
    return Day(day.number + 1)


def opened(server: TimedServer, game: str = "corner-stones", **options: Any) -> str:
    """Open a race on the daily deal of a game, without a delay before the start."""
    opening = {"game": game, "daily": True, "options": {"start_delay_ms": 0, **options}}
    answer = request(server, "POST", "/api/v1/races", json.dumps(opening).encode())
    assert answer.status == 201, answer.body
    race: str = answer.json["race"]
    return race


def daily(server: TimedServer, day: Day, game: str = "corner-stones") -> dict[str, Any]:
    answer = request(server, "GET", f"/api/v1/daily/{day.date}/{game}")
    assert answer.status == 200, answer.body
    document: dict[str, Any] = answer.json
    return document


def reveal(server: TimedServer, day: Day) -> None:
    """Set the clock to a minute after the deal is revealed. The server's clock may be a little behind this one."""
    server.set_clock(day.ends_at + LONGEST_MS + 60_000)


@asynccontextmanager
async def player(server: TimedServer, name: str, known: Racer | None = None) -> AsyncIterator[Racer]:
    """A connected racer; a second connection of a `known` one."""
    racer = Racer(name)
    racer.token = known.token if known else None
    await racer.connect(server)
    try:
        yield racer
    finally:
        await racer.close()


async def stopped(racer: Racer, moves: int = 0) -> None:
    """Make a number of moves and resign."""
    for _ in range(moves):
        assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
    assert isinstance(await racer.ask(m.Resign), m.View)
    await racer.until(lambda view: view.stage == "over")


async def alone(server: TimedServer, name: str, game: str = "corner-stones", moves: int = 0, **options: Any) -> str:
    """Run a race with one player to its end. Return its id."""
    race = opened(server, game, max_racers=1, **options)
    async with player(server, name) as racer:
        await racer.begin(race)
        await stopped(racer, moves)
    return race


async def once(
    server: TimedServer, day: Day, true: Callable[[dict[str, Any]], object], game: str = "corner-stones"
) -> dict[str, Any]:
    """Return the daily deal once a condition holds. Races are archived shortly after they end."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            document = await asyncio.to_thread(daily, server, day, game)
            if true(document):
                return document
            await asyncio.sleep(0.02)


async def kept(server: TimedServer, day: Day, count: int, game: str = "corner-stones") -> list[dict[str, Any]]:
    """Return the results of a day once there are `count`."""
    result = await once(server, day, lambda document: len(document["results"]) >= count, game)
    return list(result["results"])


def k_of(replay: Replay) -> int:
    (dealt,) = (entry.event for entry in replay.entries if isinstance(entry.event, Dealt))
    return dealt.k
