"""Faults of a simulated world."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, cast

from support.simulated_racer import Scene

Fault = Callable[[Scene, Random], Any]


async def process_killed(scene: Scene, chance: Random) -> None:
    slot = chance.choice(scene.slots)
    if slot.process.serving:
        slot.process.kill()
        await asyncio.sleep(outage_s(chance))


async def process_ended(scene: Scene, chance: Random) -> None:
    slot = chance.choice(scene.slots)
    if slot.process.serving:
        process = slot.process
        process.call(scene.world.loop.create_task, process.end())
        await eventually(lambda: process.gone)


async def process_frozen(scene: Scene, chance: Random) -> None:
    process = chance.choice(scene.slots).process
    if process.serving and not process.frozen:
        scene.world.held_up.add(process)
        scene.world.loop.freeze(process)
        await asyncio.sleep(outage_s(chance))
        if not process.gone:
            scene.world.loop.thaw(process)


async def store_away(scene: Scene, chance: Random) -> None:
    scene.world.store.away = True
    await asyncio.sleep(outage_s(chance))
    scene.world.store.away = False


async def store_frozen(scene: Scene, chance: Random) -> None:
    scene.world.store.frozen = True
    await asyncio.sleep(outage_s(chance))
    scene.world.store.thaw()


async def store_full(scene: Scene, chance: Random) -> None:
    scene.world.store.full = True
    await asyncio.sleep(outage_s(chance))
    scene.world.store.full = False


async def store_without_scripts(scene: Scene, chance: Random) -> None:
    scene.world.store.model.scripts.clear()


async def store_with_a_wrong_clock(scene: Scene, chance: Random) -> None:
    ahead_ms = chance.randrange(-60_000, 60_000)
    scene.world.store.ahead_ms += ahead_ms
    await asyncio.sleep(chance.uniform(0, 8))
    scene.world.store.ahead_ms -= ahead_ms


async def line_cut(scene: Scene, chance: Random) -> None:
    process = chance.choice(scene.slots).process
    process.cut_off = True
    await asyncio.sleep(outage_s(chance))
    process.cut_off = False


async def connections_lost(scene: Scene, chance: Random) -> None:
    for player in scene.players:
        socket = cast(Any, player._socket)
        if socket and chance.random() < 0.7:
            if chance.random() < 0.5:
                socket.vanish()
            else:
                socket.end()


async def sessions_cancelled(scene: Scene, chance: Random) -> None:
    for session in chance.choice(scene.slots).process.sessions:
        if chance.random() < 0.5:
            session.cancel()


async def tail_lost(scene: Scene, chance: Random) -> None:
    """A replica without the last writes takes over. Requires a single process."""
    store = scene.world.store
    if scene.failing_over:
        return
    scene.failing_over = scene.failed_over = True
    copy = store.model.copy()
    await asyncio.sleep(chance.choice((0.01, 0.1, 0.5)) * chance.random())
    store.away = True
    await asyncio.sleep(outage_s(chance))
    store.model.restore(copy)
    store.model.scripts.clear()
    store.away = scene.failing_over = False


FAULTS: tuple[Fault, ...] = (
    process_killed,
    process_ended,
    process_frozen,
    store_away,
    store_frozen,
    store_full,
    store_without_scripts,
    store_with_a_wrong_clock,
    line_cut,
    connections_lost,
    sessions_cancelled,
)
SINGLE_PROCESS_FAULTS: tuple[Fault, ...] = (tail_lost, tail_lost, store_frozen, connections_lost, sessions_cancelled)
"""The faults of a single process, which must keep its memory."""


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    while not condition():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.05)


def outage_s(chance: Random) -> float:
    """Return the length of an outage (s): usually shorter than the server's timeouts, sometimes longer."""
    return chance.uniform(1, 4) if chance.random() < 0.3 else chance.uniform(0, 0.5)
