"""A simulation: whole histories of a race in moments, with everything that may go wrong where a seed has it go wrong.

Run it as ``make simulate ARGS="--seed 7 --histories 10000"``. The same seed is the same history, step by step. It ends
with 1 at the first history in which a racer was told something that the replay does not keep.
"""

import argparse
import asyncio
import secrets
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from support.campaign import PAUSE_S
from support.simulated_faults import FAULTS, SINGLE_PROCESS_FAULTS, Fault
from support.simulated_racer import Player, Scene
from support.simulated_world import Slot, World, active
from support.simulation_check import check_race
from support.store_model import Script

TROUBLED_S = 3.0
"""For how long things go wrong."""
LONGEST_S = 120.0
"""How long a history may take in all, by its own clock; most take two or three seconds."""


# A history.


@dataclass
class Outcome:
    """What came of a history."""

    seed: str
    trace: list[str]
    violations: list[str]
    steps: int
    lasted_s: float
    faults: list[str]
    moves: int
    """Acknowledged ones."""


def simulate(seed: str, scripts: Mapping[str, Script] | None = None) -> Outcome:
    """The history of a seed, with other models of the scripts if there are any, and all that is wrong with it."""
    world = World(seed, scripts)
    chance = world.chance
    faults: list[str] = []
    with active(world):
        alone = chance.random() < 0.3
        world.away_s = chance.choice((0.5, 30.0))
        scene = Scene(world, [])
        violations: list[str] = []
        try:
            found = world.loop.run_until_complete(_history(scene, faults, 1 if alone else 2))
            violations += found
        except Exception as error:
            violations.append(f"the history broke off: {error!r}")
        violations += [
            f"it logged: {said}" for said in world.failures if not (scene.failed_over and "it is written again" in said)
        ]
        violations += world.loop.failures
        violations += [wrong for player in scene.players for wrong in player.wrong]
        world.bury(scene.processes)
    moves = sum(len(player.history.acknowledged) for player in scene.players)
    return Outcome(seed, world.trace, violations, world.loop.steps, world.loop.time(), faults, moves)


async def _history(scene: Scene, faults: list[str], slots: int) -> list[str]:
    world, chance = scene.world, scene.world.chance
    failover = slots == 1 and chance.random() < 0.5
    scene.slots += [Slot(world, name) for name in "AB"[:slots]]
    await asyncio.gather(*(slot.served() for slot in scene.slots))
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
                await _race(scene, number)
            injecting = world.loop.create_task(_inject_faults(scene, plan, faults))
            await asyncio.gather(injecting, *(player.live() for player in scene.players))
            return [violation for race in scene.races for violation in await check_race(scene, race)]
    except TimeoutError:
        return ["play did not go on: " + "; ".join(map(_progress_of, scene.players))]


def _progress_of(player: Player) -> str:
    n = player.view.n if player.view else 0
    return f"{player.name} at {n} {player.stage}, {player.unavailable} times without a store"


async def _race(scene: Scene, number: int) -> None:
    world, chance = scene.world, scene.world.chance
    racers = chance.randint(1, 3)
    options = Options(
        max_racers=racers,
        start_delay_ms=chance.choice((0, 0, 200, 1000)),
        limit_ms=1500 if chance.random() < 0.15 else 3_600_000,
    )
    game = GAMES[chance.choice(sorted(GAMES))]
    seed = "an open deal" if chance.random() < 0.1 else None
    while True:
        slot = chance.choice(scene.slots)
        await slot.served()
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
    """Has everything of the plan happen, at its time or just after an append; then all is well."""
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
        world.note(f"befalls: {fault.__name__}")
        await fault(scene, world.chance)

    await asyncio.gather(asyncio.sleep(TROUBLED_S * world.chance.random()), *(one(*what) for what in plan))
    world.store.trouble = 0.0
    await asyncio.gather(*(slot.served() for slot in scene.slots))


# The command.


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate races in which anything may go wrong, and check each.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9), help="that of the first history")
    parser.add_argument("--histories", type=int, default=2000, help="how many, each with the next seed")
    parser.add_argument("--keep-going", action="store_true", help="go on after a violation")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens")
    args = parser.parse_args()
    faults, moves, steps, violated = Counter[str](), 0, 0, 0
    for seed in range(args.seed, args.seed + args.histories):
        outcome = simulate(str(seed))
        faults.update(outcome.faults)
        moves, steps = moves + outcome.moves, steps + outcome.steps
        if args.trace:
            print(*outcome.trace, sep="\n")
        if outcome.violations:
            print(f"seed {seed}: {', '.join(outcome.faults)}")
            print(*(f"    {violation}" for violation in outcome.violations[:9]), sep="\n")
            print(f'    again: make simulate ARGS="--seed {seed} --histories 1 --trace"')
            violated += 1
            if not args.keep_going:
                break
    for name, count in sorted(faults.items()):
        print(f"{name:<28} {count:>7}")
    print(f"from seed {args.seed} on: {steps} steps, {moves} moves acknowledged, {violated} histories violated")
    return int(violated > 0)


if __name__ == "__main__":
    sys.exit(main())
