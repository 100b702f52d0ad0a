"""The command: runs the requested parts, round by round, and prints and writes the results."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import uvloop
from msgspec.structs import replace

from bench import machine, report
from bench.busy_core import busy_core
from bench.challenges import challenges
from bench.clubs import clubs
from bench.fanout import fanout
from bench.finished import finished
from bench.instructions import instructions
from bench.memory import memory
from bench.moves import echo, moves
from bench.processes import processes
from bench.restoring import restoring
from bench.run import QUICK, TINY, Case, Plan, Run

Part = Callable[[Plan], Iterator[Case]]
EVERY_ROUND: dict[str, Part] = {"echo": echo, "moves": moves, "fanout": fanout, "processes": processes}
ONCE: dict[str, Part] = {
    "instructions": instructions,
    "finished": finished,
    "challenges": challenges,
    "clubs": clubs,
    "memory": memory,
    "restoring": restoring,
    "busy-core": busy_core,
}
"""Parts whose results hardly vary between rounds, or that take long."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice([*EVERY_ROUND, *ONCE]))
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Number of rounds.")
@click.option("--quick", is_flag=True, help="One short round with smaller numbers.")
@click.option("--tiny", is_flag=True, help="Minimal numbers, to check that everything runs.")
@click.option("--games", help="Comma-separated games. Parts that need only one use the first.")
@click.option("--racers", help="Comma-separated numbers of racers.")
@click.option("--to", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file.")
@click.option("--write", is_flag=True, help="Put the results of the latest full run into docs/operate/performance.md.")
def main(
    parts: Sequence[str],
    rounds: int,
    quick: bool,
    tiny: bool,
    games: str | None,
    racers: str | None,
    to: Path | None,
    write: bool,
) -> None:
    """Measure the server's performance, in all PARTS by default, next to a plain echo. Needs Linux and two cores.

    Results of a full run are written to bench/results/latest.json, of others to quick.json. If a measurement fails, the
    others continue, and the exit code is 1.
    """
    machine.raise_open_files()
    machine.pin(0, machine.LOAD_CORE)
    plan = TINY if tiny else QUICK if quick else Plan()
    if games:
        plan = replace(plan, games=tuple(games.split(",")))
    if racers:
        plan = replace(plan, racers=tuple(map(int, racers.split(","))))
    whole = not parts and plan == Plan()
    run = Run(plan, machine.described(), datetime.now(UTC).date().isoformat())
    began = time.monotonic()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_rounds(run, parts or [*EVERY_ROUND, *ONCE], 1 if quick or tiny else rounds))
    run.took_s = round(time.monotonic() - began)
    run.save(to or (report.LATEST if whole else report.QUICK))
    for name, values in run.figures.items():
        click.echo(f"{name:50} {run.median(name):12.2f}  ({min(values):.2f}-{max(values):.2f})")
    click.echo(f"{run.took_s} s")
    if write:
        report.write()
    for name, why in run.missing.items():
        click.echo(f"Missing: {name}: {why}", err=True)
    sys.exit(bool(run.missing))


async def _rounds(run: Run, wanted: Sequence[str], rounds: int) -> None:
    for number in range(1, rounds + 1):
        for name, part in (EVERY_ROUND | ONCE if number == 1 else EVERY_ROUND).items():
            if name in wanted:
                for case in part(run.plan):
                    click.echo(f"{time.strftime('%H:%M:%S')}  round {number}  {case.name}", err=True)
                    await _measure(case, run)


async def _measure(case: Case, run: Run) -> None:
    try:
        async with asyncio.timeout(case.timeout_s):
            await case.measure(run)
    except Exception as error:  # continue with the other measurements
        run.missing[case.name] = f"{error}" or f"{type(error).__name__} within {case.timeout_s:.0f} s"
        click.echo(f"          failed: {run.missing[case.name]}", err=True)


if __name__ == "__main__":
    main()
