"""A torture: race after race on two servers and a store, while misfortunes befall them; then everything is checked.

Run it as ``make torture ARGS="--seed 7 --minutes 5"``, or with ``--long``. A run is a process of its own, in a
directory of its own, and its name, such as 7.3, is the seed of everything that befalls it; 7.3+cuts is a run that has
more of what counts as cuts. It ends with 1 at the first violation.
"""

import argparse
import asyncio
import math
import os
import re
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from samedeal.games.catalogue import GAMES
from samedeal.proof import receipts
from samedeal.replays.replay import Replay
from support.campaign import faults, started
from support.faults import COUNTS_AS, MISFORTUNES, Service, Survivor, of, replica_promoted_without_the_tail, replicated
from support.faulty_proxy import Proxy
from support.faulty_store import Valkey, compiled
from support.servers import Server

STEPS = 8
"""Misfortunes in a run, some of them two at once."""
AFTER = 10
"""Moves that everybody makes when it is all over."""
STEP_S, REST_S = 15, 60
"""How long a run may take at most: for each misfortune, and for the beginning and the end."""
FAILOVER_EVERY, WORKERS_EVERY = 5, 3
"""Every so many runs the service is of one server and a store with a replica, or of a server and two workers."""
FEW, MANY = (5, 0.03), (10, 0.01)
"""Racers of a race, and how long each thinks about a move, both at most: of the one race of a run, or of several."""
LONG = {
    "server-kills": 200,
    "store-kills": 200,
    "stalled-store-kills": 50,
    "cuts": 500,
    "failovers": 20,
    "moves": 500_000,
}
"""What there has to be of each thing in a long torture."""
MORE = 3
"""How many times more there is of what a run's name asks for."""
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
    tally: dict[str, int] = {}
    """How many acknowledged `moves` there were, and what is counted in `Service.tally`."""
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


def wants(name: str) -> set[str]:
    """What a run is to have more of than others, by its name."""
    return set(name.split("+")[1:])


def planned(name: str, steps: int, *, failover: bool, knobs: bool) -> Plan:
    """What befalls a run: everything once before anything twice, but for what its name asks for; now and then two
    things at once.
    """
    chance = Random(f"{name} plan")
    fit = [which for which in MISFORTUNES if knobs or not re.search("disk|clock", which)]
    fit += [which for which in fit if wants(name) & set(COUNTS_AS[which])] * MORE
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
async def serving(name: str, folder: Path, races: int, *, failover: bool, planted: str) -> AsyncIterator[Service]:
    """The service of a run, with the racers of new races."""
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
        await asyncio.gather(*(started(server) for server in servers))
        for server in servers:
            doors.append(await stack.enter_async_context(Proxy(server.url)))
        players, (most, pause_s) = list[Survivor](), FEW if races == 1 else MANY
        for _ in range(races):
            game, seats, delay_ms = chance.choice(sorted(GAMES)), chance.randint(1, most), chance.choice((0, 1000))
            options: dict[str, Any] = {"max_racers": seats, "start_delay_ms": delay_ms, "limit_ms": 7_200_000}
            race = await asyncio.to_thread(servers[0].create, game, **options)
            players += [
                Survivor(f"racer {seat}", race, doors[:: chance.choice((1, -1))], Random(chance.random()), pause_s)
                for seat in range(seats)
            ]
        service = Service(store, servers, lines, doors, players)
        if failover:
            service.spare = Valkey(folder / "spare", library)
            await service.spare.start()
            service.copying = await stack.enter_async_context(Proxy(store.url))
            await replicated(service)
        yield service


async def run(name: str, folder: Path, plan: Plan, races: int = 1, planted: str = "") -> Outcome:
    """So many races at once through all of the plan."""
    outcome = Outcome(name, [" & ".join(step) for step in plan])
    failover = any("replica-promoted-without-the-tail" in step for step in plan)
    enough = asyncio.Event()
    async with serving(name, folder, races, failover=failover, planted=planted) as service:
        try:
            async with asyncio.timeout(STEP_S * len(plan) + REST_S):
                await asyncio.gather(*(player.join(player.race) for player in service.players))
                async with asyncio.TaskGroup() as group:
                    for player in service.players:
                        group.create_task(player.race_until(enough))
                    await befallen(service, plan, outcome)
                    enough.set()
                await asyncio.gather(*(player.close() for player in service.players))
                for race in dict.fromkeys(player.race for player in service.players):
                    replay, *others = [await server.replay(race, 20) for server in service.servers]
                    if any(other != replay for other in others):
                        outcome.violations.append("the servers have different replays")
                    outcome.violations += violations(replay, [one for one in service.players if one.race == race])
        except TimeoutError:
            outcome.violations.append("play did not go on: " + whereabouts(service))
    moves = sum(len(player.history.acknowledged) for player in service.players)
    outcome.tally = {**service.tally, "moves": moves}
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
    kept = [its for player in players for its in receipts.read(map(receipts.line, player.receipts))]
    found = faults(replay, [player.history for player in players], receipts.about(replay.header, kept))
    if any(its.header != replay.header for its in kept):
        found.append("somebody was told another header than the replay's")
    found += [f"{player.name} was refused {refusal}" for player in players for refusal in player.refusals]
    for player in players:
        last = player.view
        if not last or last.standings != replay.standings:
            found.append(f"{player.name} was told other standings than the replay's")
    return found


# The torture: run after run.


@dataclass(frozen=True)
class Shape:
    """What is the same for all runs of a torture."""

    steps: int
    races: int
    planted: str

    @property
    def words(self) -> tuple[str, ...]:
        """The options that bring it about."""
        planted = ("--planted", self.planted) if self.planted else ()
        return ("--steps", f"{self.steps}", "--races", f"{self.races}", *planted)


async def tortured(name: str, shape: Shape) -> tuple[Outcome, str]:
    """A run in a process of its own, with what its servers logged. Nothing is left of it."""
    limit_s = 2 * (STEP_S * (shape.steps + 1) + REST_S)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        noted = Path(folder, "servers.log")
        with noted.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "support.torture", "--run", name, *shape.words, "--folder", folder),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
            said = b""
            try:
                async with asyncio.timeout(limit_s):
                    said, _ = await process.communicate()
            except TimeoutError:
                pass
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # whoever is left
                await process.wait()
        text = noted.read_text(errors="replace")
    try:
        outcome = msgspec.json.decode(said, type=Outcome)
    except msgspec.DecodeError:
        outcome = Outcome(name, [], violations=[f"the run broke off with status {process.returncode}"])
    if "Traceback" in text:
        outcome.violations.append("a server logged a failure of its own")
    return outcome, text


def repeated(name: str, shape: Shape) -> str:
    """The command that repeats a run."""
    return f'make torture ARGS="--run {name} {" ".join(shape.words)}"'


def told(outcome: Outcome) -> str:
    """A line about a run."""
    befell = ", ".join(outcome.befell)
    verdict = "VIOLATED" if outcome.violations else "ok"
    moves = outcome.tally.get("moves", 0)
    return f"{outcome.name:>8}  {moves:>5} moves  {outcome.waited_s:6.3f} s  {verdict:<8}  {befell}"


class Torture:
    """Run after run, so many at a time, until there is enough of everything that is wanted or the time is up."""

    def __init__(self, seed: int, shape: Shape, goals: dict[str, int], minutes: float, runs: int | None) -> None:
        self.shape, self.goals, self.runs = shape, goals, runs
        self.outcomes: list[Outcome] = []
        self.tally = Counter[str]()
        self.over = False
        self._names = (f"{seed}.{number}" for number in count())
        self._begun_at, self._until = time.monotonic(), time.monotonic() + 60 * minutes

    @property
    def missing(self) -> list[str]:
        """The goals that have not been reached."""
        return [goal for goal, least in self.goals.items() if self.tally[goal] < least]

    @property
    def _furthest(self) -> list[str]:
        """What is furthest from its goal, of what misfortunes bring."""
        missing = [goal for goal in self.missing if goal != "moves"]
        return sorted(missing, key=lambda goal: self.tally[goal] / self.goals[goal])[:1]

    @property
    def failed(self) -> bool:
        return bool(self.missing) or any(outcome.violations for outcome in self.outcomes)

    async def go(self, jobs: int, keep_going: bool) -> None:
        """Until it is over, which a violation makes it unless it is to keep going."""
        await asyncio.gather(*(self._one_after_another(keep_going) for _ in range(jobs)))

    async def _one_after_another(self, keep_going: bool) -> None:
        while not self.over:
            outcome = await self.run("+".join([next(self._names), *self._furthest]))
            enough = len(self.outcomes) >= self.runs if self.runs else time.monotonic() > self._until
            violated = bool(outcome.violations) and not keep_going
            self.over |= enough or violated or (bool(self.goals) and not self.missing)

    async def run(self, name: str) -> Outcome:
        outcome, log = await tortured(name, self.shape)
        self.outcomes.append(outcome)
        self.tally.update(outcome.tally)
        print(told(outcome), flush=True)
        if outcome.violations:
            print("\n".join(log.splitlines()[-40:]))
            print(*(f"    {violation}" for violation in outcome.violations[:20]), sep="\n")
            print(f"    again: {repeated(name, self.shape)}", flush=True)
        return outcome

    def table(self) -> str:
        """How often each thing happened in all runs, how soon play went on after it, and what that comes to."""
        counts = Counter(which for outcome in self.outcomes for step in outcome.befell for which in step.split(" & "))
        back_s = defaultdict[str, list[float]](list)
        for outcome in self.outcomes:
            for which, times in outcome.back_s.items():
                back_s[which] += times
        lines = [f"{'misfortune':<42} {'times':>5}   {'back, median':>12}   {'back, longest':>13}"]
        for which, times_befallen in sorted(counts.items()):
            times = sorted(back_s[which])
            back = f"{times[len(times) // 2]:>10.3f} s   {times[-1]:>11.3f} s" if times else ""
            lines.append(f"{which:<42} {times_befallen:>5}   {back}")
        lines += [
            f"{what:<42} {self.tally[what]:>7}" + (f" of {self.goals[what]}" if what in self.goals else "")
            for what in LONG
        ]
        bad = sum(bool(outcome.violations) for outcome in self.outcomes)
        overtaken = sum(outcome.overtaken for outcome in self.outcomes)
        minutes = (time.monotonic() - self._begun_at) / 60
        lines.append(
            f"{overtaken} times a connection lost its seat to an older one of the same racer that had been held up"
        )
        lines.append(
            f"{len(self.outcomes)} runs in {minutes:.1f} minutes, {counts.total()} misfortunes,"
            f" {self.tally['moves']} moves acknowledged, {bad} runs violated"
        )
        return "\n".join(lines)


def number(name: str) -> int:
    """The number of a run, of which its kind depends."""
    _, _, last = name.partition("+")[0].rpartition(".")
    return int(last) if last.isdigit() else 0


def is_failover(name: str) -> bool:
    return number(name) % FAILOVER_EVERY == FAILOVER_EVERY - 1 or "failovers" in wants(name)


def goals(text: str) -> dict[str, int]:
    """What `--goal` says, such as cuts=500,moves=10000."""
    wanted = {}
    for goal in text.split(","):
        what, _, least = goal.partition("=")
        if what not in LONG or not least.isdigit():
            raise argparse.ArgumentTypeError(f"{goal} is not one of {', '.join(LONG)} with = and a number")
        wanted[what] = int(least)
    return wanted


def main() -> int:
    parser = argparse.ArgumentParser(description="Torture servers and stores, and check that no move is lost.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="what decides all that happens")
    parser.add_argument("--minutes", type=float, help="how long to begin new runs, 5 if there is no goal")
    parser.add_argument("--runs", type=int, help="how many runs, instead of --minutes")
    parser.add_argument("--steps", type=int, default=STEPS, help="misfortunes in each run")
    parser.add_argument("--races", type=int, default=1, help="races in each run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--goal", type=goals, default={}, help="go on until there is so much, as in cuts=50,moves=9000")
    parser.add_argument("--long", action="store_true", help="the torture of docs/contribute/reliability.md")
    parser.add_argument("--keep-going", action="store_true", help="go on after a violation")
    parser.add_argument("--run", metavar="NAME", help="repeat this run, such as 7.3")
    parser.add_argument("--planted", choices=["", *PLANTED], default="", help="plant a fault that must be found")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.long:
        args.goal, args.steps, args.races, args.jobs = LONG, 20, 3, 3
    shape = Shape(args.steps, args.races, args.planted)
    if args.folder:
        knobs = compiled(args.folder) is not None
        plan = planned(args.run, shape.steps, failover=is_failover(args.run) and not shape.planted, knobs=knobs)
        if shape.planted:
            plan = [PLANTED[shape.planted]] * shape.steps
        outcome = asyncio.run(run(args.run, args.folder, plan, shape.races, shape.planted))
        print(msgspec.json.encode(outcome).decode())
        return 0
    torture = Torture(args.seed, shape, args.goal, args.minutes or (math.inf if args.goal else 5), args.runs)
    try:
        asyncio.run(_ended_by_sigterm(torture.run(args.run) if args.run else torture.go(args.jobs, args.keep_going)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 143
    finally:  # also when somebody has had enough
        print(torture.table(), flush=True)
    return int(torture.failed)


async def _ended_by_sigterm(work: Coroutine[Any, Any, object]) -> None:
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    print(f"{'run':>8}  {'acknowledged':>11}  {'waited':>8}  {'outcome':<8}  what befell it", flush=True)
    await work


if __name__ == "__main__":
    sys.exit(main())
