"""A torture: race after race on two servers and a store, while misfortunes befall them; then everything is checked.

Run it as ``make torture ARGS="--seed 7 --minutes 5"``. A run is a process of its own, in a directory of its own, and
its name, such as 7.3, is the seed of everything that befalls it. It ends with 1 at the first violation.
"""

import argparse
import asyncio
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NoReturn

import msgspec

from campaign import faults, started
from misfortunes import MISFORTUNES, Service, Survivor, of, replica_promoted_without_the_tail, replicated
from proxy import Proxy
from rough_store import Valkey, compiled
from samedeal import receipts
from samedeal.catalogue import GAMES
from samedeal.replay import Replay
from samedeal.verification import verify
from servers import Server

STEPS = 8
"""Misfortunes in a run, some of them two at once."""
AFTER = 10
"""Moves that everybody makes when it is all over."""
STEP_S, REST_S = 15, 60
"""How long a run may take at most: for each misfortune, and for the beginning and the end."""
FAILOVER_EVERY = 5
"""Every so many runs the service is of one server and a store with a replica."""
PLANTED = {"everysec": ("everything-killed",), "early": ("everything-killed",)}
"""Faults that can be planted, and what brings each of them out: a store that does not wait for its disk, and a server
that acknowledges moves before they are written."""
EARLY = """
import asyncio
from samedeal_server import __main__, log

append, under_way = log.RaceLog.append, set()

async def appended(its, race, before, entries):
    writing = append(its, race, before, entries)
    if type(entries[0].event).__name__ == "Moved":
        under_way.add(asyncio.ensure_future(writing))
    else:
        await writing

log.RaceLog.append = appended
__main__.main()
"""
"""The server of the fault `early`."""


class Outcome(msgspec.Struct):
    """What came of a run."""

    name: str
    befell: list[str]
    moves: int = 0
    """Acknowledged ones."""
    waited_s: float = 0.0
    """The longest time without an acknowledgement that anybody had after the last misfortune."""
    back_s: dict[str, list[float]] = {}
    """By misfortune, from its end until every racer had had an acknowledgement, where that was waited for."""
    overtaken: int = 0
    """Connections that were replaced by an older one of the same racer, which had been held up."""
    violations: list[str] = []


class Early(Server):
    program = ("-c", EARLY)


Plan = list[tuple[str, ...]]


def planned(name: str, steps: int, *, failover: bool, knobs: bool) -> Plan:
    """What befalls a run: everything once before anything twice; now and then two things at once."""
    chance = Random(f"{name} plan")
    fit = [which for which in MISFORTUNES if knobs or not re.search("disk|clock", which)]
    if failover:
        fit = [which for which in fit if of(which) in {"line", "door"}] + ["store-frozen", "store-full", "store-asleep"]
    plan: Plan = []
    deck: list[str] = []
    while len(plan) < steps:
        if len(deck) < 2:
            deck = chance.sample(fit, len(fit)) + deck
        step = [deck.pop()]
        if chance.random() < 0.3 and of(deck[-1]) != of(step[0]) and "everything" not in {of(deck[-1]), of(step[0])}:
            step.append(deck.pop())
        plan.append(tuple(step))
        if failover and len(plan) % 2:
            plan.append(("replica-promoted-without-the-tail",))
    return plan


# One run.


@asynccontextmanager
async def serving(name: str, folder: Path, *, failover: bool, planted: str) -> AsyncIterator[Service]:
    """The service of a run, with the racers of a new race."""
    chance = Random(f"{name} racers")
    library = compiled(folder)
    options = ("--appendfsync", "everysec") if planted == "everysec" else ()
    async with AsyncExitStack() as stack:
        store = Valkey(folder / "store", library, options)
        await store.start()
        lines, servers, doors = list[Proxy](), list[Server](), list[Proxy]()
        for _ in range(1 if failover else 2):
            lines.append(await stack.enter_async_context(Proxy(store.url)))
            kind = Early if planted == "early" else Server
            servers.append(kind(lines[-1].url, connections_per_address="0"))
        await asyncio.gather(*(started(server) for server in servers))
        for server in servers:
            doors.append(await stack.enter_async_context(Proxy(server.url)))
        game = chance.choice(sorted(GAMES))
        racers = chance.randint(1, 5)
        race = await asyncio.to_thread(
            servers[0].create, game, max_racers=racers, start_delay_ms=chance.choice((0, 1000)), limit_ms=7_200_000
        )
        players = [
            Survivor(f"racer {number}", race, doors[:: chance.choice((1, -1))], Random(chance.random()))
            for number in range(racers)
        ]
        service = Service(store, servers, lines, doors, players)
        if failover:
            service.spare = Valkey(folder / "spare", library)
            await service.spare.start()
            service.copying = await stack.enter_async_context(Proxy(store.url))
            await replicated(service)
        yield service


async def run(name: str, folder: Path, plan: Plan, planted: str = "") -> Outcome:
    """One race through all of the plan."""
    outcome = Outcome(name, [" & ".join(step) for step in plan])
    failover = any("replica-promoted-without-the-tail" in step for step in plan)
    enough = asyncio.Event()
    async with serving(name, folder, failover=failover, planted=planted) as service:
        try:
            async with asyncio.timeout(STEP_S * len(plan) + REST_S):
                await asyncio.gather(*(player.join(player.race) for player in service.players))
                async with asyncio.TaskGroup() as group:
                    for player in service.players:
                        group.create_task(player.race_until(enough))
                    await befallen(service, plan, outcome)
                    enough.set()
                await asyncio.gather(*(player.close() for player in service.players))
                replays = [await server.replay(service.players[0].race, 20) for server in service.servers]
        except TimeoutError:
            outcome.violations.append("play did not go on: " + whereabouts(service))
        else:
            if replays != replays[:1] * len(replays):
                outcome.violations.append("the servers have different replays")
            outcome.violations += violations(replays[0], service.players)
    outcome.moves = sum(len(player.history.acknowledged) for player in service.players)
    outcome.overtaken = sum(player.overtaken for player in service.players)
    return outcome


async def befallen(service: Service, plan: Plan, outcome: Outcome) -> None:
    """Has all of the plan happen, and returns when play has gone on for a while after it."""
    chance = Random(f"{outcome.name} what")
    await since(service, 0.0, 3)
    for step in plan:
        await asyncio.sleep(chance.uniform(0, 0.3))
        async with asyncio.TaskGroup() as group:
            for which in step:
                group.create_task(ALL[which](service, Random(chance.random())))
        over_at = time.monotonic()
        if chance.random() < 0.7:  # otherwise the next comes before they have got over it
            back_s = await since(service, over_at, 1) - over_at
            if len(step) == 1:
                outcome.back_s.setdefault(step[0], []).append(round(back_s, 3))
    over_at = time.monotonic()
    await since(service, over_at, AFTER)
    for player in service.players:
        times = [over_at, *(at for at in player.answered_at if at > over_at)]
        gaps = [after - before for before, after in pairwise(times)]
        outcome.waited_s = max(outcome.waited_s, round(max(gaps, default=0.0), 3))


ALL = {**MISFORTUNES, "replica-promoted-without-the-tail": replica_promoted_without_the_tail}


async def since(service: Service, moment: float, moves: int) -> float:
    """When everybody who can still move has had so many acknowledgements since a moment."""
    while True:
        playing = [player for player in service.players if not player.done]
        if all(sum(at > moment for at in player.answered_at[-moves:]) >= moves for player in playing):
            return time.monotonic()
        await asyncio.sleep(0.005)


def whereabouts(service: Service) -> str:
    """Where everybody is when play does not go on."""
    return "; ".join(
        f"{player.name} at {player.view.n if player.view else 0} {player.view.stage if player.view else 'nowhere'},"
        f" {len(player.history.acknowledged)} moves, {player.unavailable} times without a store,"
        f" lost connections {player.losses[-3:]}"
        for player in service.players
    )


def violations(replay: Replay, players: Sequence[Survivor]) -> list[str]:
    """Everything in the replay that is not as the racers were told."""
    found = faults(replay, [player.history for player in players])
    found += [f"{player.name} was refused {refusal}" for player in players for refusal in player.refusals]
    for player in players:
        (kept,) = receipts.read(map(receipts.line, player.receipts))
        failed = [fact.note for fact in verify(replay, receipts=kept) if not fact.holds]
        found += [f"with the receipts of {player.name}: {note}" for note in failed]
        last = player.view
        if not last or last.standings != replay.standings:
            found.append(f"{player.name} was told other standings than the replay's")
    return found


# The torture: run after run.


def tortured(name: str, steps: int, planted: str) -> tuple[Outcome, str]:
    """A run in a process of its own, with what its servers logged. Nothing is left of it."""
    limit_s = 2 * (STEP_S * (steps + 1) + REST_S)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        noted = Path(folder, "servers.log")
        with noted.open("wb") as log:
            command = [sys.executable, __file__, "--run", name, "--steps", str(steps), "--planted", planted]
            process = subprocess.Popen(
                [*command, "--folder", folder], stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
            try:
                said, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                said = b""
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # whoever is left
                process.wait()
                if process.stdout:
                    process.stdout.close()
        text = noted.read_text(errors="replace")
    try:
        outcome = msgspec.json.decode(said, type=Outcome)
    except msgspec.DecodeError:
        outcome = Outcome(name, [], violations=[f"the run broke off with status {process.returncode}"])
    if "Traceback" in text:
        outcome.violations.append("a server logged a failure of its own")
    return outcome, text


def repeated(name: str, steps: int, planted: str) -> str:
    """The command that repeats a run."""
    words = f"--run {name} --steps {steps}" + (f" --planted {planted}" if planted else "")
    return f'make torture ARGS="{words}"'


def told(outcome: Outcome) -> str:
    """A line about a run."""
    befell = ", ".join(outcome.befell)
    verdict = "VIOLATED" if outcome.violations else "ok"
    return f"{outcome.name:>8}  {outcome.moves:>5} moves  {outcome.waited_s:6.3f} s  {verdict:<8}  {befell}"


def table(outcomes: Sequence[Outcome]) -> str:
    """How often each thing happened in all runs, and how soon play went on after it."""
    counts = Counter(which for outcome in outcomes for step in outcome.befell for which in step.split(" & "))
    back_s = defaultdict[str, list[float]](list)
    for outcome in outcomes:
        for which, times in outcome.back_s.items():
            back_s[which] += times
    lines = [f"{'misfortune':<42} {'times':>5}   {'back, median':>12}   {'back, longest':>13}"]
    for which, count in sorted(counts.items()):
        times = sorted(back_s[which])
        back = f"{times[len(times) // 2]:>10.3f} s   {times[-1]:>11.3f} s" if times else ""
        lines.append(f"{which:<42} {count:>5}   {back}")
    moves, bad = sum(outcome.moves for outcome in outcomes), sum(bool(outcome.violations) for outcome in outcomes)
    overtaken = sum(outcome.overtaken for outcome in outcomes)
    lines.append(
        f"{overtaken} times a connection lost its seat to an older one of the same racer that had been held up"
    )
    lines.append(f"{len(outcomes)} runs, {counts.total()} misfortunes, {moves} moves acknowledged, {bad} runs violated")
    return "\n".join(lines)


def is_failover(name: str) -> bool:
    number = name.rpartition(".")[2]
    return number.isdigit() and int(number) % FAILOVER_EVERY == FAILOVER_EVERY - 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Torture servers and stores, and check that no move is lost.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="what decides all that happens")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to begin new runs")
    parser.add_argument("--runs", type=int, help="how many runs, instead of --minutes")
    parser.add_argument("--steps", type=int, default=STEPS, help="misfortunes in each run")
    parser.add_argument("--keep-going", action="store_true", help="go on after a violation")
    parser.add_argument("--run", metavar="NAME", help="repeat this run, such as 7.3")
    parser.add_argument("--planted", choices=["", *PLANTED], default="", help="plant a fault that must be found")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.folder:
        knobs = compiled(args.folder) is not None
        plan = planned(args.run, args.steps, failover=is_failover(args.run) and not args.planted, knobs=knobs)
        if args.planted:
            plan = [PLANTED[args.planted]] * args.steps
        print(msgspec.json.encode(asyncio.run(run(args.run, args.folder, plan, args.planted))).decode())
        return 0
    signal.signal(signal.SIGTERM, _ended)
    return campaign(args)


def campaign(args: argparse.Namespace) -> int:
    """Run after run; 1 if there was a violation."""
    until = time.monotonic() + 60 * args.minutes
    outcomes: list[Outcome] = []
    print(f"{'run':>8}  {'acknowledged':>11}  {'waited':>8}  {'outcome':<8}  what befell it", flush=True)
    try:
        while args.run is None or not outcomes:
            name = args.run or f"{args.seed}.{len(outcomes)}"
            outcome, log = tortured(name, args.steps, args.planted)
            outcomes.append(outcome)
            print(told(outcome), flush=True)
            if outcome.violations:
                print("\n".join(log.splitlines()[-40:]))
                print(*(f"    {violation}" for violation in outcome.violations[:20]), sep="\n")
                print(f"    again: {repeated(name, args.steps, args.planted)}", flush=True)
                if not args.keep_going:
                    break
            if len(outcomes) >= args.runs if args.runs else time.monotonic() > until:
                break
    finally:  # also when somebody has had enough
        print(table(outcomes), flush=True)
    return int(any(outcome.violations for outcome in outcomes))


def _ended(*_: object) -> NoReturn:
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
