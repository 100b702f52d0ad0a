"""Simulation of whole races in simulated time, with faults at times that a seed determines.

The same seed gives the same history, step by step. A replay must not contradict what a racer received.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from support.campaign import PAUSE_S
from support.random_games import RESTARTABLE
from support.simulated_faults import FAULTS, SINGLE_PROCESS_FAULTS, Fault
from support.simulated_racer import Player, Scene
from support.simulated_world import Slot, World, active
from support.simulation_check import check_race
from support.store_model import Script
from support.virtual_loop import Stuck

TROUBLED_S = 3.0
"""How long faults are injected (s)."""
LONGEST_S = 120.0
"""Maximum duration of a history in simulated time (s). Most take two or three seconds."""


@dataclass
class Outcome:
    """The result of a history."""

    trace: list[str]
    violations: list[str]
    faults: list[str]
    moves: int
    """Acknowledged moves."""


def simulate(seed: str, scripts: Mapping[str, Script] | None = None) -> Outcome:
    """Simulate the history of a seed and check it. `scripts` replaces models of the store's scripts."""
    world = World(seed, scripts)
    chance = world.chance
    faults: list[str] = []
    with active(world):
        alone = chance.random() < 0.3
        world.away_s = chance.choice((0.5, 30.0))
        scene = Scene(world, [])
        violations: list[str] = []
        try:
            found = world.loop.run_until_complete(run_history(scene, faults, 1 if alone else 2))
            violations += found
        except Exception as error:
            violations.append(f"the history ended with {error!r}")
        violations += [
            f"the server logged: {message}"
            for message in world.failures
            if not (scene.failed_over and "writing them again" in message)
        ]
        violations += world.loop.failures
        violations += [wrong for player in scene.players for wrong in player.wrong]
        try:
            world.stop(scene.processes)
        except Stuck as error:
            violations.append(f"tasks of its processes did not end: {error!r}")
    moves = sum(len(player.history.acknowledged) for player in scene.players)
    return Outcome(world.trace, violations, faults, moves)


async def run_history(scene: Scene, faults: list[str], slots: int) -> list[str]:
    world, chance = scene.world, scene.world.chance
    failover = slots == 1 and chance.random() < 0.5
    scene.slots += [Slot(world, name) for name in "AB"[:slots]]
    await asyncio.gather(*(slot.ready() for slot in scene.slots))
    world.store.trouble = chance.choice((0.0, 0.01, 0.05, 0.2))
    plan = [
        (
            chance.uniform(0, 1.5) if chance.random() < 0.7 else 0.0,
            chance.choice(SINGLE_PROCESS_FAULTS if failover else FAULTS),
        )
        for _ in range(chance.randrange(5))
    ]
    try:
        async with asyncio.timeout(LONGEST_S):
            for number in range(1 if chance.random() < 0.8 else 2):
                await create_race(scene, number)
            injecting = world.loop.create_task(_inject_faults(scene, plan, faults))
            await asyncio.gather(injecting, *(player.play_race() for player in scene.players))
            return [violation for race in scene.races for violation in await check_race(scene, race)]
    except TimeoutError:
        return ["racing stopped: " + "; ".join(map(_progress_of, scene.players))]


def _progress_of(player: Player) -> str:
    n = player.view.n if player.view else 0
    return f"{player.name} at {n} {player.stage}, {player.unavailable} times without a store"


async def create_race(scene: Scene, number: int) -> None:
    world, chance = scene.world, scene.world.chance
    racers = chance.randint(1, 3)
    options = Options(
        max_racers=racers,
        start_delay_ms=chance.choice((0, 0, 200, 1000)),
        limit_ms=1500 if chance.random() < 0.15 else 3_600_000,
    )
    game = GAMES[chance.choice(RESTARTABLE)]
    seed = "an open deal" if chance.random() < 0.1 else None
    while True:
        slot = chance.choice(scene.slots)
        await slot.ready()
        with suppress(Refused):
            process = slot.process
            room = await process.call(world.loop.create_task, process.registry.create(game, {}, seed, options))
            break
        await asyncio.sleep(PAUSE_S)
    scene.races.append(room.race.id)
    for racer in range(racers):
        name = f"racer {number * 10 + racer}"
        scene.players.append(Player(world, name, room.race.id, scene.slots, Random(chance.random())))


async def _inject_faults(scene: Scene, plan: list[tuple[float, Fault]], faults: list[str]) -> None:
    """Inject the planned faults, at their times or just after an append. Then wait until all servers run."""
    world = scene.world

    async def one(at: float, fault: Fault) -> None:
        if at:
            await asyncio.sleep(at)
        else:
            happened = asyncio.Event()
            count = world.store.appends + world.chance.randint(1, 25)
            world.store.on_append.setdefault(count, happened.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(TROUBLED_S):
                    await happened.wait()
        faults.append(fault.__name__)
        world.note(f"fault: {fault.__name__}")
        await fault(scene, world.chance)

    await asyncio.gather(asyncio.sleep(TROUBLED_S * world.chance.random()), *(one(*what) for what in plan))
    world.store.trouble = 0.0
    await asyncio.gather(*(slot.ready() for slot in scene.slots))
