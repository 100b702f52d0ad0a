"""The command: runs the requested parts, round by round, and prints and writes the results."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
import uvloop

from bench import machine, report
from bench.busy_core import busy_core
from bench.capacity import capacity
from bench.counters import counted_by
from bench.fanout import fanout
from bench.figures import Figures, summary
from bench.finished import finished
from bench.found import LATEST, Found
from bench.found import QUICK as QUICK_RESULTS
from bench.growth import growth
from bench.instructions import instructions
from bench.memory import memory
from bench.moves import echo, moves
from bench.page import misses, page
from bench.plan import QUICK, TINY, Case, Plan
from bench.processes import processes
from bench.restoring import restoring
from tools.markdown import put_between

Part = Callable[[Plan], Iterator[Case]]
EVERY_ROUND: dict[str, Part] = {
    "moves": moves,
    "fanout": fanout,
    "processes": processes,
    "growth": growth,
}
ONCE: dict[str, Part] = {"instructions": instructions, "finished": finished, "memory": memory, "restoring": restoring}
"""Parts whose results hardly vary between rounds, or that take long."""
ON_REQUEST: dict[str, Part] = {"page": page, "busy-core": busy_core}
"""Parts that a full run leaves out, because they need other programs or can take minutes."""
LONGEST_S = 12 * 60.0
"""No round starts that would end later than this (s), so that a run takes at most 15 minutes on a slow machine."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice([*EVERY_ROUND, *ONCE, *ON_REQUEST]))
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Maximum number of rounds.",
)
@click.option("--quick", is_flag=True, help="One short round with smaller numbers.")
@click.option("--tiny", is_flag=True, help="Minimal numbers, to check that everything runs.")
@click.option("--games", help="Comma-separated games. Parts that need only one use the first.")
@click.option("--racers", help="Comma-separated numbers of racers.")
@click.option("--no-legal", is_flag=True, help="Do not request legal moves.")
@click.option("--views", type=click.Choice(["full", "changes"]), default="full", help="What answers moves.")
@click.option("--to", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this file.")
@click.option("--write", is_flag=True, help="Put the results of the latest full run into docs/operate/performance.md.")
def main(
    parts: Sequence[str],
    rounds: int,
    quick: bool,
    tiny: bool,
    games: str | None,
    racers: str | None,
    no_legal: bool,
    views: str,
    to: Path | None,
    write: bool,
) -> None:
    """Measure the server's performance, in all PARTS but "page" and "busy-core" by default, next to a plain echo.
    Needs Linux and two cores.

    Results of a full run are written to bench/results/latest.json, of others to quick.json. If a measurement fails, the
    others continue, and the exit code is 1.
    """
    machine.raise_open_files()
    machine.pin(0, machine.LOAD_CORE)
    plan = TINY if tiny else QUICK if quick else Plan()
    plan = replace(plan, legal=not no_legal, views=views)
    if games:
        plan = replace(plan, games=games.split(","))
    if racers:
        plan = replace(plan, racers=[int(count) for count in racers.split(",")])
    whole = not (parts or quick or tiny or games or racers or no_legal or views != "full")
    file = to or (LATEST if whole else QUICK_RESULTS)
    wanted = set(parts or [*EVERY_ROUND, *ONCE])
    left_out = _left_out(wanted)
    for what, why in left_out.items():
        click.echo(f"Left out: {what}, because {why}.")
    figures, began = Figures(), time.monotonic()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_rounds(plan, figures, wanted, 1 if quick or tiny else rounds, began))
    took_s = time.monotonic() - began
    report.save(figures, plan, file, took_s=took_s, left_out=left_out)
    for name, figure in summary(figures.by_name()).items():
        click.echo(f"{name:50} {figure.median:12.2f}  ({figure.least:.2f}-{figure.greatest:.2f})")
    click.echo(f"{took_s:.0f} s")
    if write:
        report.write()
        put_between(report.PAGE, "\n".join(capacity(Found())), report.BEGIN_CAPACITY)
    for name, why in figures.missing.items():
        click.echo(f"Missing: {name}: {why}", err=True)
    missed = [*misses(figures)]
    for miss in missed:
        click.echo(f"Missed: {miss}", err=True)
    sys.exit(bool(figures.missing or missed))


def _left_out(wanted: set[str]) -> dict[str, str]:
    """Remove the parts that cannot be measured here, and return the reason for each."""
    left_out = {}
    if "instructions" in wanted and not counted_by():
        left_out["instructions"] = "there are no hardware counters, and valgrind or faketime is not installed"
        wanted.discard("instructions")
    return left_out


async def _rounds(plan: Plan, figures: Figures, wanted: set[str], rounds: int, began: float) -> None:
    once = [part for name, part in (ONCE | ON_REQUEST).items() if name in wanted]
    await _measure([case for part in once for case in part(plan)], figures, began)
    parts = [part for name, part in EVERY_ROUND.items() if name in wanted]
    first_began = time.monotonic()
    for figures.round in range(1, rounds + 1 if parts else 1):
        round_s = (time.monotonic() - first_began) / max(1, figures.round - 1)
        if figures.round > 1 and time.monotonic() - began + round_s > LONGEST_S:
            click.echo(f"Stopping after {figures.round - 1} rounds: no time for another one.")
            break
        await _measure([case for part in (echo, *parts) for case in part(plan)], figures, began)


async def _measure(cases: Sequence[Case], figures: Figures, began: float) -> None:
    for case in cases:
        click.echo(f"{time.monotonic() - began:4.0f} s  {case.name}", err=True)
        try:
            async with asyncio.timeout(case.timeout_s):
                await case.measure(figures)
        except Exception as error:  # continue with the other measurements
            figures.missing[case.name] = f"{error}" or f"{type(error).__name__} within {case.timeout_s:.0f} s"
            click.echo(f"        failed: {figures.missing[case.name]}", err=True)


if __name__ == "__main__":
    main()
