"""Finished races: how soon they are verified, what they take in the store, and how soon they are folded again."""

import asyncio
import tempfile
import time
from pathlib import Path

from redis import Redis

from bench.figures import Figures
from bench.load import Drive, LoadError, close_all
from bench.plan import Plan
from bench.racing import RACERS, begin, guests
from bench.services import Server, Store
from samedeal.replay import read
from samedeal.verification import verify

FEW, MANY, MOST = 20, 200, 2000
"""How many moves each of the racers makes, for a race that is short, long, and ten times as long as that."""


async def finished(figures: Figures, plan: Plan) -> None:
    """Plays races of each game to their end and looks at what is left of them."""
    for game in plan.games:
        with (
            tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
            Store(Path(folder)) as store,
            Server(store, Path(folder)) as server,
        ):
            sizes = {}
            growing = game == plan.games[0] and len(plan.sizes) > 2
            for plies in (FEW, MANY, MOST) if growing else (FEW, MANY):
                replay, sizes[plies] = await _race(server, store, game, plies)
                await _verify(figures, f"verify/{game}/{plies}", replay)
            per_move = (sizes[MANY] - sizes[FEW]) / (MANY - FEW) / RACERS
            figures.note(f"store/{game}/bytes-per-move", per_move)
            figures.note(f"store/{game}/bytes-besides", sizes[FEW] - per_move * FEW * RACERS)


async def _race(server: Server, store: Store, game: str, plies: int) -> tuple[bytes, int]:
    """The replay of a race in which every racer made so many moves, and the bytes that the store needs for it."""
    lines = await guests(server, RACERS)
    (race,) = await begin(server, lines, game)
    await Drive(lines, {}).until(plies)
    for line in lines:
        await line.ask("resign")
    await close_all(lines)
    with Redis.from_url(store.url) as redis:
        for _ in range(200):
            kept = [key for key in redis.scan_iter(f"*{race}*") if redis.ttl(key) < 0]
            if any(b"replay" in key for key in kept):
                break
            await asyncio.sleep(0.05)
        else:
            raise LoadError(f"the replay of {race} does not come")
        await asyncio.sleep(0.2)
        kept = [key for key in redis.scan_iter(f"*{race}*") if redis.ttl(key) < 0]
        return server.fetch(f"/api/v1/replays/{race}.json"), sum(redis.memory_usage(key, samples=0) for key in kept)


async def _verify(figures: Figures, name: str, data: bytes) -> None:
    replay = read(data)
    began = time.process_time()
    facts = verify(read(data))
    used = time.process_time() - began
    if not all(fact.holds for fact in facts):
        raise LoadError(f"the replay does not hold: {[fact for fact in facts if not fact.holds]}")
    figures.note(f"{name}/entries-per-s", len(replay.entries) / used)
