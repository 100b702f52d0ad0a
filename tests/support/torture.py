"""A torture: race after race on two servers and a store, while misfortunes fault them; then everything is checked.

Run it as ``make torture ARGS="--seed 7 --minutes 5"``, or with ``--long``. A run is a process of its own, in a
directory of its own, and its name, such as 7.3, is the seed of everything that befalls it; 7.3+cuts is a run that has
more of what counts as cuts. It ends with 1 at the first violation.
"""

import argparse
import asyncio
import math
import os
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from support.faulty_store import compiled
from support.torture_run import FAILOVER_EVERY, PLANTED, REST_S, STEP_S, Outcome, extra_counts, make_plan, number, run

STEPS = 8
"""Misfortunes in a run, some of them two at once."""
LONG = {
    "server-kills": 200,
    "store-kills": 200,
    "stalled-store-kills": 50,
    "cuts": 500,
    "failovers": 20,
    "moves": 500_000,
}
"""What there has to be of each thing in a long torture."""


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


async def run_torture(name: str, shape: Shape) -> tuple[Outcome, str]:
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


def repeat_command(name: str, shape: Shape) -> str:
    """The command that repeats a run."""
    return f'make torture ARGS="--run {name} {" ".join(shape.words)}"'


def told(outcome: Outcome) -> str:
    """A line about a run."""
    faults = ", ".join(outcome.faults)
    verdict = "VIOLATED" if outcome.violations else "ok"
    moves = outcome.tally.get("moves", 0)
    return f"{outcome.name:>8}  {moves:>5} moves  {outcome.waited_s:6.3f} s  {verdict:<8}  {faults}"


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
        outcome, log = await run_torture(name, self.shape)
        self.outcomes.append(outcome)
        self.tally.update(outcome.tally)
        print(told(outcome), flush=True)
        if outcome.violations:
            print("\n".join(log.splitlines()[-40:]))
            print(*(f"    {violation}" for violation in outcome.violations[:20]), sep="\n")
            print(f"    again: {repeat_command(name, self.shape)}", flush=True)
        return outcome

    def table(self) -> str:
        """How often each thing happened in all runs, how soon play went on after it, and what that comes to."""
        counts = Counter(which for outcome in self.outcomes for step in outcome.faults for which in step.split(" & "))
        back_s = defaultdict[str, list[float]](list)
        for outcome in self.outcomes:
            for which, times in outcome.back_s.items():
                back_s[which] += times
        lines = [f"{'misfortune':<42} {'times':>5}   {'back, median':>12}   {'back, longest':>13}"]
        for which, number_of_times in sorted(counts.items()):
            times = sorted(back_s[which])
            back = f"{times[len(times) // 2]:>10.3f} s   {times[-1]:>11.3f} s" if times else ""
            lines.append(f"{which:<42} {number_of_times:>5}   {back}")
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


def is_failover(name: str) -> bool:
    return number(name) % FAILOVER_EVERY == FAILOVER_EVERY - 1 or "failovers" in extra_counts(name)


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
    parser.add_argument("--long", action="store_true", help="the torture of docs/reliability.md")
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
        plan = make_plan(args.run, shape.steps, failover=is_failover(args.run) and not shape.planted, knobs=knobs)
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
    print(f"{'run':>8}  {'acknowledged':>11}  {'waited':>8}  {'outcome':<8}  faults", flush=True)
    await work


if __name__ == "__main__":
    sys.exit(main())
