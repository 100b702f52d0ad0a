"""Finished races: how fast they are verified, and how many bytes they take in the store."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from functools import partial

from redis import Redis

from bench.load import Drive, Line, LoadError, close_all
from bench.racing import RACERS, begin, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store
from samedeal.proof.verification import verify
from samedeal.replays.replay import read


def finished(plan: Plan) -> Iterator[Case]:
    """Play races of each game to the end, and measure their replays."""
    for game in plan.games:
        yield Case(f"finished/{game}", partial(_finished, game))


async def _finished(game: str, run: Run) -> None:
    few, many = run.plan.plies
    with Store() as store, Server(store) as server:
        lines = await guests(server, RACERS)
        await _finish_race(server, store, lines, game, few)  # so that the players' lists of races exist
        _, size = await _finish_race(server, store, lines, game, few)
        replay, longer = await _finish_race(server, store, lines, game, many)
        await close_all(lines)
    per_move = (longer - size) / (many - few) / RACERS
    run.note(f"store/{game}/bytes-per-move", per_move)
    run.note(f"store/{game}/bytes-besides", size - per_move * few * RACERS)
    began = time.process_time()
    facts = verify(read(replay))
    used = time.process_time() - began
    if not all(fact.holds for fact in facts):
        raise LoadError(f"the replay is not valid: {[fact for fact in facts if not fact.holds]}")
    run.note(f"verify/{game}/{many}/entries-per-s", len(read(replay).entries) / used)


async def _finish_race(server: Server, store: Store, lines: Sequence[Line], game: str, plies: int) -> tuple[bytes, int]:
    """Play a race with `plies` moves per racer. Return its replay and the bytes that it takes in the store."""
    with Redis.from_url(store.address) as redis:
        before = _lasting(redis)
        (race,) = await begin(server, lines, game)
        await Drive(lines, {}).until(plies)
        for line in lines:
            await line.ask("resign")
        while redis.exists("races:due"):  # noqa: ASYNC110 - races are removed from it after they are archived
            await asyncio.sleep(0.05)
        return server.fetch(f"/api/v1/replays/{race}.json"), _lasting(redis) - before


def _lasting(redis: Redis) -> int:
    """Return the bytes of all keys that do not expire: lists and replays."""
    keys = [key for key in redis.scan_iter(count=1000) if redis.ttl(key) < 0]
    return sum(redis.memory_usage(key, samples=0) or 0 for key in keys)
