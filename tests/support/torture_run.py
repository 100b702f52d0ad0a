"""One run of the torture test."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from samedeal.race.run import MAX_MOVES
from support.campaign import Persistent, racing, start_server
from support.faults import FAULTS, Service, replica_promoted_without_the_tail, start_replication
from support.faulty_proxy import Proxy
from support.faulty_store import Valkey, compiled
from support.race_check import find_violations
from support.random_games import RESTARTABLE
from support.servers import Server

AFTER = 10
"""Moves that each racer makes after the last fault."""
STEP_S, REST_S = 15, 60
"""Maximum duration of a run (s): for each step, and for the start and the end."""
FAILOVER_EVERY, WORKERS_EVERY = 5, 3
"""Every n-th run has one server and a store with a replica, or a server with two workers."""
FEW, MANY = (5, 0.03), (10, 0.01)
"""Maximum number of racers and maximum pause before a move (s), for runs of one race and of several races."""
MORE = 3
"""How much more often faults occur that the name of a run requests."""
PLANTED = {"everysec": ("everything-killed",), "early": ("everything-killed",)}
"""Bugs that can be planted, and the faults that reveal them: a store that does not wait for its disk, and a server that
acknowledges moves before they are written."""
EARLY = """
import asyncio
from samedeal_server import __main__
from samedeal_server.store.chained_logs import RaceLog

append, under_way = RaceLog.append, set()

async def appended(its, race, before, entries):
    writing = append(its, race, before, entries)
    if type(entries[0].event).__name__ == "Moved":
        under_way.add(asyncio.ensure_future(writing))
    else:
        await writing

RaceLog.append = appended
__main__.main()
"""
"""The server with the bug `early`."""


class Outcome(msgspec.Struct):
    """The result of a run."""

    name: str
    faults: list[str]
    moves: int = 0
    """The number of acknowledged moves."""
    violations: list[str] = []


class Early(Server):
    program = ("-c", EARLY)


Plan = list[tuple[str, ...]]


def make_plan(name: str, steps: int, *, failover: bool, knobs: bool) -> Plan:
    """Plan the faults of a run, sometimes two at once. All occur once before any occurs again."""
    chance = Random(f"{name} plan")
    fit = [fault for fault in FAULTS if knobs or not re.search("disk|clock", fault)]
    if failover:
        fit = [fault for fault in fit if target_of(fault) in {"line", "door"}] + [
            "store-frozen",
            "store-full",
            "store-asleep",
        ]
    plan: Plan = []
    deck: list[str] = []
    while len(plan) < steps:
        if len(deck) < 2:
            deck = chance.sample(fit, len(fit)) + deck
        step = [deck.pop()]
        targets = {target_of(step[0]), target_of(deck[-1])}
        if chance.random() < 0.3 and len(targets) == 2 and "everything" not in targets:
            step.append(deck.pop())
        plan.append(tuple(step))
        if failover and len(plan) % 2:
            plan.append(("replica-promoted-without-the-tail",))
    return plan


def target_of(fault: str) -> str:
    """Return the target of a fault."""
    return fault.partition("-")[0]


@asynccontextmanager
async def running_service(
    name: str, folder: Path, races: int, *, failover: bool, planted: str
) -> AsyncIterator[Service]:
    """Start the service of a run and create races with racers."""
    chance = Random(f"{name} racers")
    library = compiled(folder)
    lazy = ("--appendfsync", "everysec") if planted == "everysec" else ()
    async with AsyncExitStack() as stack:
        store = Valkey(folder / "store", library, lazy)
        await store.start()
        lines, servers, doors = list[Proxy](), list[Server](), list[Proxy]()
        for _ in range(1 if failover else 2):
            lines.append(await stack.enter_async_context(Proxy(store.url)))
            kind = Early if planted == "early" else Server
            workers = 2 if not servers and not failover and not planted and number(name) % WORKERS_EVERY == 1 else 1
            durability = "everysec" if planted == "everysec" else "always"
            settings: dict[str, Any] = {
                "connections_per_address": "0",
                "store_durability": durability,
                "workers": str(workers),
            }
            servers.append(kind(lines[-1].url, **settings))
        await asyncio.gather(*(start_server(server) for server in servers))
        for server in servers:
            doors.append(await stack.enter_async_context(Proxy(server.url)))
        players, (most, pause_s) = list[Persistent](), FEW if races == 1 else MANY
        for _ in range(races):
            game, seats, delay_ms = chance.choice(RESTARTABLE), chance.randint(1, most), chance.choice((0, 1000))
            options: dict[str, Any] = {"max_racers": seats, "start_delay_ms": delay_ms, "limit_ms": 7_200_000}
            race = await asyncio.to_thread(servers[0].create, game, **options)
            players += [
                Persistent(f"racer {seat}", race, doors[:: chance.choice((1, -1))], Random(chance.random()))
                for seat in range(seats)
            ]
        for player in players:
            player.insists, player.pause_s, player.ping_s, player.close_s = True, pause_s, 1.5, 0.5
        service = Service(store, servers, lines, doors, players)
        if failover:
            service.spare = Valkey(folder / "spare", library)
            await service.spare.start()
            service.copying = await stack.enter_async_context(Proxy(store.url))
            await start_replication(service)
        yield service


async def run(name: str, folder: Path, plan: Plan, races: int = 1, planted: str = "") -> Outcome:
    """Run concurrent races through a plan of faults, and check them."""
    outcome = Outcome(name, [" & ".join(step) for step in plan])
    failover = any("replica-promoted-without-the-tail" in step for step in plan)
    async with running_service(name, folder, races, failover=failover, planted=planted) as service:
        try:
            async with asyncio.timeout(STEP_S * len(plan) + REST_S):
                async with racing(service.players):
                    for player in service.players:
                        player.allowance = MAX_MOVES
                    await inject_faults(service, plan, name)
                for race in dict.fromkeys(player.race for player in service.players):
                    replay, *others = [await server.replay(race, 20) for server in service.servers]
                    if any(other != replay for other in others):
                        outcome.violations.append("the servers have different replays")
                    racers = [player.history for player in service.players if player.race == race]
                    outcome.violations += find_violations(replay, racers)
        except TimeoutError:
            outcome.violations.append("racing stopped: " + progress_of(service))
    outcome.moves = sum(len(player.history.acknowledged) for player in service.players)
    return outcome


async def inject_faults(service: Service, plan: Plan, name: str) -> None:
    """Inject all faults of a plan, and wait until every racer has made more moves after the last one."""
    chance = Random(f"{name} what")
    await wait_for_moves_since(service, 0.0, 3)
    for step in plan:
        await asyncio.sleep(chance.uniform(0, 0.3))
        async with asyncio.TaskGroup() as group:
            for fault in step:
                group.create_task(ALL[fault](service, Random(chance.random())))
        if chance.random() < 0.7:  # otherwise the next fault occurs before recovery
            await wait_for_moves_since(service, time.monotonic(), 1)
    await wait_for_moves_since(service, time.monotonic(), AFTER)


ALL = {**FAULTS, "replica-promoted-without-the-tail": replica_promoted_without_the_tail}


def answer_times(player: Persistent, last: int) -> list[float]:
    """Return the times of the acknowledgements of a racer's `last` moves."""
    return [move.answered_at for move in player.history.tries[-last:] if move.answered_at is not None]


async def wait_for_moves_since(service: Service, moment: float, moves: int) -> None:
    """Wait until each racer who can move has had a number of acknowledgements since a time."""
    while True:
        playing = [player for player in service.players if not player.done]
        if all(sum(at > moment for at in answer_times(player, moves + 1)) >= moves for player in playing):
            return
        await asyncio.sleep(0.005)


def progress_of(service: Service) -> str:
    """Describe the progress of all racers."""
    return "; ".join(
        f"{player.name} at {player.view.n if player.view else 0} {player.view.stage if player.view else 'nowhere'},"
        f" {len(player.history.acknowledged)} moves, {player.unavailable} times without a store,"
        f" lost connections {player.losses[-3:]}"
        for player in service.players
    )


def number(name: str) -> int:
    """The number of a run, which determines its kind."""
    _, _, last = name.rpartition(".")
    return int(last) if last.isdigit() else 0
