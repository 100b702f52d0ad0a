"""The program: runs the parts that are asked for, round by round, and prints and writes what came out."""

import asyncio
import json
import time
from pathlib import Path

import click
import uvloop

from bench import machine
from bench.figures import Figures
from bench.moves import NORMAL, QUICK, RACERS, echo, moves
from samedeal.catalogue import GAMES

RESULTS = Path(__file__).parent / "results"


@click.command()
@click.argument("parts", nargs=-1)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--quick", is_flag=True, help="One short round, to try it.")
@click.option("--games", default=",".join(GAMES), help="Only these, with commas between them.")
@click.option("--racers", default=",".join(map(str, RACERS)), help="Only with so many racers, with commas between.")
@click.option("--no-legal", is_flag=True, help="Without the legal moves in the answers.")
def main(parts: tuple[str, ...], rounds: int, quick: bool, games: str, racers: str, no_legal: bool) -> None:
    """Measure the server."""
    machine.raise_open_files()
    machine.pin(0, machine.LOAD_CORE)
    figures, pace = Figures(), QUICK if quick else NORMAL
    counts = [int(count) for count in racers.split(",")]
    if quick:
        rounds, counts = 1, [50] if racers == ",".join(map(str, RACERS)) else counts

    async def run() -> None:
        for _ in range(rounds):
            await echo(figures, counts, pace)
            for game in games.split(","):
                await moves(figures, game, counts, pace, legal=not no_legal)

    began = time.monotonic()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    for name, figure in figures.summary().items():
        click.echo(f"{name:50} {figure.median:12.2f}  ({figure.least:.2f}-{figure.greatest:.2f})")
    click.echo(f"{time.monotonic() - began:.0f} s")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(
        json.dumps({"machine": machine.described(), "rounds": rounds, "figures": figures.values}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
