"""Requests for par, and the expected answers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote

import pytest
from redis import Redis

from samedeal.computer.par import Par
from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from samedeal_server.work.stored_results import InProgress, JobProgress
from support.http_api import problem
from support.logged_server import Answer, request
from support.servers import Server, racers
from support.waiting import LIMIT_S

T = TypeVar("T")
SIGNING_KEY = "a5" * 32


def address(code: str, more: str = "") -> str:
    """Return the path of a deal's par."""
    return f"/api/v1/deals/{quote(code, safe='')}/par{more}"


async def computed(server: Server, target: str, **headers: str) -> tuple[Answer, list[dict[str, int]]]:
    """Wait for the computation. Return the answer, and the progress before it."""
    progress: list[dict[str, int]] = []
    async with asyncio.timeout(LIMIT_S):
        while True:
            answer = await asyncio.to_thread(request, server, "GET", target, None, **headers)
            if answer.status != 202:
                return answer, progress
            assert answer.headers["retry-after"] == "1"
            progress.append(answer.json)
            await asyncio.sleep(0.02)


async def settled(ask: Callable[[], Awaitable[T]]) -> T:
    """Wait for a computation and return its result."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            with suppress(InProgress):
                return await ask()
            await asyncio.sleep(0.02)


async def progress_of(asking: Awaitable[object]) -> JobProgress:
    """Return the progress of a computation."""
    with pytest.raises(InProgress) as caught:
        await asking
    return caught.value.progress


async def all_sealed(*targets: tuple[Server, str]) -> bool:
    """Return whether the servers refuse all targets with "deal-sealed"."""
    answers = [await asyncio.to_thread(request, server, "GET", target) for server, target in targets]
    return all(problem(answer, "deal-sealed") for answer in answers)


def par_json(expected: Par) -> dict[str, Any]:
    """Return the expected JSON of a par."""
    return {
        "game": expected.game,
        "deal": expected.deal,
        "variant": expected.variant,
        "bot": expected.bot,
        "plays": expected.plays,
        "goal": GAMES[expected.game].goal,
        "counted": expected.counted,
        "homes": list(expected.homes),
        "results": list(expected.results),
        "minimum": expected.minimum,
        "median": expected.median,
        "mean": expected.mean,
        "maximum": expected.maximum,
        "solved": expected.solved,
    }


def par_keys(store_url: str) -> list[bytes]:
    """Return the keys of all stored pars."""
    with Redis.from_url(store_url) as redis:
        return [key for key in redis.scan_iter("par:*", count=1000) if isinstance(key, bytes)]


async def finished_race(server: Server, game: str, seed: str | None, **options: Any) -> str:
    """Run a race in which ada makes three moves and resigns, and bo resigns at once. Return its id."""
    race_id = server.create(game, seed=seed, start_delay_ms=0, **options)
    async with racers(server, "ada", "bo") as (ada, bo):
        await asyncio.gather(ada.begin(race_id), bo.begin(race_id))
        for _ in range(3):
            await ada.move((ada.board.moves or [""])[-1])
        for racer in (ada, bo):
            await racer.ask(m.Resign)
    await server.replay(race_id)
    return race_id
