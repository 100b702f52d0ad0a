"""The clock of the store's machine is set while races run, as after a suspension or with the first answer of NTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Moved, Readied, Resigned
from samedeal_server.live.room import Room
from samedeal_server.net import metrics
from samedeal_server.store.connection import Store, Word
from support.rooms import opened
from support.stores import Heard, Movable, Process, process, run, seat_for, that, until

pytestmark = pytest.mark.tier(2)


class SteppedStore(Store):
    """A store whose clock can be set."""

    ahead_s = 0
    url = ""

    async def ask(self, *command: Word) -> Any:
        answer = await super().ask(*command)
        return [b"%d" % (int(answer[0]) + self.ahead_s), answer[1]] if command == ("TIME",) else answer


@pytest.fixture
async def stepped(redis_url: str) -> AsyncIterator[SteppedStore]:
    store = SteppedStore(redis_url)
    store.url = redis_url
    yield store
    await store.close()


def server(stepped: SteppedStore, *, started: bool = False) -> AbstractAsyncContextManager[Process]:
    """Return a process that takes its time from a store whose clock can be set."""
    return process(stepped.url, clock=lambda _: Movable(stepped), started=started)


async def step(parts: Process, stepped: SteppedStore, by_s: int) -> None:
    """Set the clock, and measure it as servers do every few seconds."""
    stepped.ahead_s += by_s
    await parts.clock.measure()


async def running(parts: Process) -> Room:
    """Start a race of ten minutes."""
    room = await opened(parts, seed="1", limit_ms=600_000)
    await run(room)
    return room


async def moves(room: Room, count: int) -> list[int]:
    """Make moves, some milliseconds apart. Return their times."""
    game, times = GAMES["corners"].from_seed("1"), list[int]()
    for _ in range(count):
        await asyncio.sleep(0.005)
        (move, *_) = game.moves()
        times.append((await room.submit(that(Moved(seat=1, move=move)))).at)
        game = game.after(move)
    return times


def left_ms(room: Room) -> int:
    return room.view(None).clock_ms or 0


@pytest.mark.parametrize("by_s", [3600, -120, -3600])
async def test_a_step_neither_ends_nor_prolongs_a_running_race(
    stepped: SteppedStore, by_s: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(stepped) as parts:
        room, steps = await running(parts), metrics.CLOCK_STEPS._value.get()
        await step(parts, stepped, by_s)
        first, second = await moves(room, 2)
        assert first < second
        assert 0 < left_ms(room) <= 600_000
        assert f"was set by {by_s:+}.0 s" in caplog.text
        assert metrics.CLOCK_STEPS._value.get() == steps + 1


@pytest.mark.parametrize("by_s", [3600, -3600])
async def test_new_races_use_the_new_time(stepped: SteppedStore, by_s: int) -> None:
    async with server(stepped) as parts:
        before = (await opened(parts)).race.header.opened_at
        await step(parts, stepped, by_s)
        after = (await opened(parts)).race.header.opened_at
        assert abs(after - before - 1000 * by_s) < 600_000


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_a_race_whose_room_is_opened_again_keeps_its_time(stepped: SteppedStore, is_recorded: bool) -> None:
    """The same process knows of the step, another one needs the record of it."""
    async with server(stepped) as parts:
        room = await running(parts)
        race = room.race.id
        if is_recorded:
            await step(parts, stepped, 3600)
            await moves(room, 1)
        async with server(stepped) if is_recorded else nullcontext(parts) as later:
            if not is_recorded:
                await parts.registry._drop(race)
                await step(parts, stepped, 3600)
            again = await later.registry.room(race)
            assert again is not room
            await again.submit(that(Resigned(seat=1)))
            assert 0 < left_ms(again) <= 600_000


async def test_a_process_that_has_not_noticed_the_step_yet_keeps_the_time(stepped: SteppedStore) -> None:
    async with server(stepped) as first, server(stepped) as second:
        room = await running(first)
        await step(first, stepped, 3600)
        await moves(room, 1)
        other = await second.registry.room(room.race.id)
        await second.clock.measure()
        assert abs(left_ms(other) - left_ms(room)) < 2_000


async def test_a_lobby_of_a_clock_that_is_set_back_starts_on_time(stepped: SteppedStore) -> None:
    """Also one that another process opens, which has only the log."""
    async with server(stepped) as parts:
        await step(parts, stepped, 3600)
        room = await opened(parts, seed="1", start_delay_ms=60_000)
        for seat in (1, 2):
            await room.submit(seat_for(seat))
            await room.submit(that(Readied(seat=seat)))
        await step(parts, stepped, -3600)
        async with server(stepped) as later:
            for each in (room, await later.registry.room(room.race.id)):
                assert each.race.stage == "countdown"
                assert 0 < left_ms(each) <= 60_000


async def test_a_countdown_that_a_process_with_a_wrong_clock_starts_is_no_longer_elsewhere(
    stepped: SteppedStore,
) -> None:
    async with server(stepped) as right:
        room = await opened(right, seed="1", start_delay_ms=60_000)
        stepped.ahead_s = 3600
        async with server(stepped) as wrong:
            other = await wrong.registry.room(room.race.id)
            for seat in (1, 2):
                await other.submit(seat_for(seat))
                await other.submit(that(Readied(seat=seat)))
            stepped.ahead_s = 0
            await wrong.clock.measure()
            room.follow(await right.log.read(room.race.id))
            for each in (room, other):
                assert each.race.stage == "countdown"
                assert 0 < left_ms(each) <= 60_000


async def test_rooms_record_a_step_without_a_move(stepped: SteppedStore) -> None:
    async with server(stepped, started=True) as parts:
        room = await running(parts)
        room.broadcast.add(Heard())
        await step(parts, stepped, -120)
        await until(lambda: parts.registry.live.behind_ms(room.race.id))
