"""Finished races: how fast they are verified, and how many bytes they take in the store."""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from redis import Redis

from bench.figures import Figures
from bench.load import Drive, Line, LoadError, close_all
from bench.plan import Case, Plan
from bench.racing import RACERS, begin, guests
from bench.services import Server, Store
from samedeal.proof.verification import verify
from samedeal.replays.replay import read


def finished(plan: Plan) -> Iterator[Case]:
    """Play races of each game to the end, and measure their replays."""
    for game in plan.games:
        yield Case(f"finished/{game}", partial(_finished, plan, game))


async def _finished(plan: Plan, game: str, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, RACERS)
        few, many = plan.plies[:2]
        sizes = {}
        await finish_race(server, store, lines, game, few)  # so that the players' lists of races exist
        for plies in plan.plies if game == plan.games[0] else (few, many):
            replay, sizes[plies] = await finish_race(server, store, lines, game, plies)
            _verify(figures, f"verify/{game}/{plies}", replay)
        await close_all(lines)
        per_move = (sizes[many] - sizes[few]) / (many - few) / RACERS
        figures.note(f"store/{game}/bytes-per-move", per_move)
        figures.note(f"store/{game}/bytes-besides", sizes[few] - per_move * few * RACERS)


async def finish_race(server: Server, store: Store, lines: Sequence[Line], game: str, plies: int) -> tuple[bytes, int]:
    """Play a race with `plies` moves per racer. Return its replay and the bytes that it takes in the store."""
    with Redis.from_url(store.url) as redis:
        before = _lasting(redis)
        (race,) = await begin(server, lines, game)
        await Drive(lines, {}).until(plies)
        for line in lines:
            await line.ask("resign")
        for _ in range(200):
            if not redis.exists("races:due"):  # races are removed from this key after they are archived
                break
            await asyncio.sleep(0.05)
        else:
            raise LoadError(f"the replay of {race} was not stored")
        return server.fetch(f"/api/v1/replays/{race}.json"), _lasting(redis) - before


def _lasting(redis: Redis) -> int:
    """Return the bytes of all keys that do not expire: lists and replays."""
    keys = [key for key in redis.scan_iter(count=1000) if redis.ttl(key) < 0]
    return sum(redis.memory_usage(key, samples=0) or 0 for key in keys)


def _verify(figures: Figures, name: str, data: bytes) -> None:
    replay = read(data)
    began = time.process_time()
    facts = verify(read(data))
    used = time.process_time() - began
    if not all(fact.holds for fact in facts):
        raise LoadError(f"the replay is not valid: {[fact for fact in facts if not fact.holds]}")
    figures.note(f"{name}/entries-per-s", len(replay.entries) / used)
