"""The clock of the store's machine is set while races run, as after a suspension or with the first answer of NTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Moved
from samedeal_server.races.room import Room
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store, Word
from support.rooms import opened
from support.stores import process, run, that

pytestmark = [pytest.mark.xfail(strict=True, raises=AssertionError, reason="F-F8"), pytest.mark.tier(2)]


class SteppedStore(Store):
    """A store whose clock can be set ahead."""

    ahead_s = 0

    async def ask(self, *command: Word) -> Any:
        answer = await super().ask(*command)
        return [b"%d" % (int(answer[0]) + self.ahead_s), answer[1]] if command == ("TIME",) else answer


@asynccontextmanager
async def race_with_a_step(redis_url: str, step_s: int) -> AsyncIterator[Room]:
    """Start a race of ten minutes, set the clock, and measure it as servers do every few seconds."""
    store = SteppedStore(redis_url)
    try:
        async with process(redis_url, clock=lambda _: Clock(store)) as parts:
            room = await opened(parts, seed="1", limit_ms=600_000)
            await run(room)
            store.ahead_s = step_s
            await parts.clock.measure()
            yield room
    finally:
        await store.close()


async def moves(room: Room, count: int) -> list[int]:
    """Make moves, some milliseconds apart. Return their times."""
    game, times = GAMES["corners"].from_seed("1"), list[int]()
    for _ in range(count):
        await asyncio.sleep(0.005)
        (move, *_) = game.moves()
        times.append((await room.submit(that(Moved(seat=1, move=move)))).at)
        game = game.after(move)
    return times


async def test_a_step_forwards_does_not_end_running_races(redis_url: str) -> None:
    async with race_with_a_step(redis_url, 3600) as room:
        with suppress(Refused):
            await moves(room, 1)
        assert room.race.stage == "running"


async def test_after_a_step_back_moves_have_different_times(redis_url: str) -> None:
    async with race_with_a_step(redis_url, -120) as room:
        first, second = await moves(room, 2)
        assert first < second
