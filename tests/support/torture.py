"""Torture test: races on two servers and a store while faults are injected. Afterwards, every race is checked.

Run ``make torture ARGS="--seed 7 --minutes 5"``. Each run has its own process and directory. Its name, such as 7.3,
seeds all its faults. Exits with 1 at the first violation.
"""

import argparse
import asyncio
import os
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from support.faulty_store import compiled
from support.torture_run import FAILOVER_EVERY, PLANTED, REST_S, STEP_S, Outcome, make_plan, number, run

STEPS = 8
"""Steps of a run, with one or two faults each."""


@dataclass(frozen=True)
class RunOptions:
    """The options that all runs share."""

    steps: int
    races: int
    planted: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command line arguments."""
        planted = ("--planted", self.planted) if self.planted else ()
        return ("--steps", f"{self.steps}", "--races", f"{self.races}", *planted)


async def run_torture(name: str, shape: RunOptions) -> tuple[Outcome, str]:
    """Run in a separate process. Return the outcome and the servers' logs."""
    limit_s = 2 * (STEP_S * (shape.steps + 1) + REST_S)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        log_file = Path(folder, "servers.log")
        with log_file.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "support.torture", "--run", name, *shape.arguments, "--folder", folder),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
            output = b""
            try:
                async with asyncio.timeout(limit_s):
                    output, _ = await process.communicate()
            except TimeoutError:
                pass
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # remaining processes
                await process.wait()
        text = log_file.read_text(errors="replace")
    try:
        outcome = msgspec.json.decode(output, type=Outcome)
    except msgspec.DecodeError:
        outcome = Outcome(name, [], violations=[f"the run ended with status {process.returncode}"])
    if "Traceback" in text:
        outcome.violations.append("a server logged a traceback")
    return outcome, text


def repeat_command(name: str, shape: RunOptions) -> str:
    """Return the command that repeats a run."""
    return f'make torture ARGS="--run {name} {" ".join(shape.arguments)}"'


def summary_line(outcome: Outcome) -> str:
    """Summarize a run in one line."""
    faults = ", ".join(outcome.faults)
    verdict = "VIOLATED" if outcome.violations else "ok"
    return f"{outcome.name:>8}  {outcome.moves:>5} moves  {verdict:<8}  {faults}"


class Torture:
    """Starts runs, some at a time, until the time is up."""

    def __init__(self, seed: int, shape: RunOptions, minutes: float, runs: int | None) -> None:
        self.shape, self.runs = shape, runs
        self.outcomes: list[Outcome] = []
        self.over = False
        self._names = (f"{seed}.{number}" for number in count())
        self._begun_at, self._until = time.monotonic(), time.monotonic() + 60 * minutes

    @property
    def failed(self) -> bool:
        return any(outcome.violations for outcome in self.outcomes)

    async def go(self, jobs: int, keep_going: bool) -> None:
        """Start runs until the test is over. A violation ends it unless `keep_going`."""
        async with asyncio.TaskGroup() as group:  # when cancelled, waits until all runs have cleaned up
            for _ in range(jobs):
                group.create_task(self._one_after_another(keep_going))

    async def _one_after_another(self, keep_going: bool) -> None:
        while not self.over:
            outcome = await self.run(next(self._names))
            enough = len(self.outcomes) >= self.runs if self.runs else time.monotonic() > self._until
            self.over |= enough or (bool(outcome.violations) and not keep_going)

    async def run(self, name: str) -> Outcome:
        outcome, log = await run_torture(name, self.shape)
        self.outcomes.append(outcome)
        print(summary_line(outcome), flush=True)
        if outcome.violations:
            print("\n".join(log.splitlines()[-40:]))
            print(*(f"    {violation}" for violation in outcome.violations[:20]), sep="\n")
            print(f"    repeat: {repeat_command(name, self.shape)}", flush=True)
        return outcome

    def table(self) -> str:
        """Return a table of all faults, and the totals."""
        counts = Counter(fault for outcome in self.outcomes for step in outcome.faults for fault in step.split(" & "))
        lines = [f"{fault:<42} {times:>5} times" for fault, times in sorted(counts.items())]
        bad = sum(bool(outcome.violations) for outcome in self.outcomes)
        minutes = (time.monotonic() - self._begun_at) / 60
        lines.append(
            f"{len(self.outcomes)} runs in {minutes:.1f} minutes, {counts.total()} faults,"
            f" {sum(outcome.moves for outcome in self.outcomes)} moves acknowledged, {bad} runs violated"
        )
        return "\n".join(lines)


def is_failover(name: str) -> bool:
    return number(name) % FAILOVER_EVERY == FAILOVER_EVERY - 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Inject faults and check that no move is lost.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="seed of all runs")
    parser.add_argument("--minutes", type=float, default=5, help="how long to start new runs")
    parser.add_argument("--runs", type=int, help="number of runs, instead of --minutes")
    parser.add_argument("--steps", type=int, default=STEPS, help="faults in each run")
    parser.add_argument("--races", type=int, default=1, help="concurrent races in each run")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent runs")
    parser.add_argument("--keep-going", action="store_true", help="continue after a violation")
    parser.add_argument("--run", metavar="NAME", help="repeat this run, such as 7.3")
    parser.add_argument("--planted", choices=["", *PLANTED], default="", help="plant a bug, which must be found")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    shape = RunOptions(args.steps, args.races, args.planted)
    if args.folder:
        knobs = compiled(args.folder) is not None
        plan = make_plan(args.run, shape.steps, failover=is_failover(args.run) and not shape.planted, knobs=knobs)
        if shape.planted:
            plan = [PLANTED[shape.planted]] * shape.steps
        outcome = asyncio.run(run(args.run, args.folder, plan, shape.races, shape.planted))
        print(msgspec.json.encode(outcome).decode())
        return 0
    torture = Torture(args.seed, shape, args.minutes, args.runs)
    try:
        asyncio.run(_ended_by_sigterm(torture.run(args.run) if args.run else torture.go(args.jobs, args.keep_going)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 143
    finally:  # also after an interrupt
        print(torture.table(), flush=True)
    return int(torture.failed)


async def _ended_by_sigterm(work: Coroutine[Any, Any, object]) -> None:
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    print(f"{'run':>8}  {'acknowledged':>11}  {'outcome':<8}  faults", flush=True)
    await work


if __name__ == "__main__":
    sys.exit(main())
