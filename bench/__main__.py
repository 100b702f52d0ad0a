"""The program: runs the parts that are asked for, round by round, and prints and writes what came out."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import click
import uvloop

from bench import machine, peers, report, scaling
from bench.fanout import fanout
from bench.figures import Figures
from bench.finished import finished
from bench.growth import growth
from bench.memory import memory
from bench.moves import echo, moves
from bench.plan import QUICK, Plan
from bench.processes import processes
from bench.restoring import restoring

Part = Callable[[Figures, Plan], Awaitable[None]]
EVERY_ROUND: dict[str, Part] = {
    "moves": moves,
    "peers": peers.peers,
    "fanout": fanout,
    "processes": processes,
    "growth": growth,
}
ONCE: dict[str, Part] = {"finished": finished, "memory": memory, "restoring": restoring}
"""What hardly differs from one round to the next: bytes, processor time of one process, and what takes long."""
LONGEST_S = 12.5 * 60
"""No round is begun that would last beyond this, so that all is done within a quarter of an hour on a slow machine."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice([*EVERY_ROUND, *ONCE]))
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How often all is measured, if there is time.",
)
@click.option("--quick", is_flag=True, help="One short round with fewer of everything, to try it.")
@click.option("--games", help="Only these, with commas between them; the first is played where one will do.")
@click.option("--racers", help="Only with so many racers, with commas between them.")
@click.option("--no-legal", is_flag=True, help="Racers do not ask for the legal moves.")
@click.option(
    "--write", is_flag=True, help="Put what the latest whole run found into docs/performance.md and docs/scaling.md."
)
def main(
    parts: Sequence[str], rounds: int, quick: bool, games: str | None, racers: str | None, no_legal: bool, write: bool
) -> None:
    """Measure what the server carries, all PARTS or those named, beside a plain echo. Needs Linux and two cores.

    What a whole run found is written to bench/results/latest.json, and of others to quick.json beside it.
    """
    machine.raise_open_files()
    machine.pin(0, machine.LOAD_CORE)
    plan = QUICK if quick else Plan()
    plan = replace(plan, legal=not no_legal)
    if games:
        plan = replace(plan, games=games.split(","))
    if racers:
        plan = replace(plan, racers=[int(count) for count in racers.split(",")])
    wanted, left_out = set(parts or [*EVERY_ROUND, *ONCE]), ""
    if "peers" in wanted and (left_out := peers.installed()):
        click.echo(f"Left out: boardgame.io and Colyseus, because {left_out}.")
        wanted.discard("peers")
    figures, began = Figures(), time.monotonic()

    async def run() -> None:
        for name, part in ONCE.items():
            if name in wanted:
                click.echo(f"{time.monotonic() - began:4.0f} s  {name}", err=True)
                await part(figures, plan)
        first_began = time.monotonic()
        for number in range(1, 2 if quick else rounds + 1):
            taken_s = time.monotonic() - first_began
            if number > 1 and time.monotonic() - began + taken_s / (number - 1) > LONGEST_S:
                click.echo(f"There is no time for more than {number - 1} rounds.")
                break
            await echo(figures, plan)
            for name, part in EVERY_ROUND.items():
                if name in wanted:
                    click.echo(f"{time.monotonic() - began:4.0f} s  round {number}: {name}", err=True)
                    await part(figures, plan)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    for name, figure in figures.summary().items():
        click.echo(f"{name:50} {figure.median:12.2f}  ({figure.least:.2f}-{figure.greatest:.2f})")
    took = time.monotonic() - began
    click.echo(f"{took:.0f} s")
    whole = not (parts or quick or games or racers or no_legal)
    report.save(figures, plan, report.LATEST if whole else report.QUICK, took_s=took, left_out=left_out)
    if write:
        report.write()
        scaling.write()


if __name__ == "__main__":
    main()
