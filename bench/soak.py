"""Soak: thousands of races on several workers at a steady load, with the latency and memory of every minute.

``python -m bench.soak --minutes 10`` measures the highest rate for a moment and then keeps up 60 % of it. It needs
Linux. The load generator and the store use the same cores as the workers.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from statistics import linear_regression

import click
import uvloop

from bench import machine
from bench.load import Drive, close_all
from bench.racing import RACERS, begin, create, guests
from bench.services import Server, Store

INTERVAL_S = 60.0
WARM_S = 2.0
HIGHEST_S = 10.0
"""How long the highest rate is measured (s)."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--minutes", type=click.IntRange(2), default=10, show_default=True, help="How long to keep up the load.")
@click.option("--racers", type=click.IntRange(RACERS), default=10_000, show_default=True, help="In races of five.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Worker processes.")
@click.option("--load", type=click.FloatRange(0, 1, min_open=True), default=0.6, show_default=True, help="Of capacity.")
@click.option("--game", default="the-edge", show_default=True)
@click.option("--p99", "most_ms", type=float, help="Fail if the p99 of a minute is higher (ms).")
def main(minutes: int, racers: int, workers: int, load: float, game: str, most_ms: float | None) -> None:
    """Keep up a steady load and print the latency and memory of every minute."""
    machine.raise_open_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        highest_ms = runner.run(_soak(minutes, racers - racers % RACERS, workers, load, game))
    sys.exit(most_ms is not None and highest_ms > most_ms)


async def _soak(minutes: int, racers: int, workers: int, load: float, game: str) -> float:
    """Return the highest p99 of a minute (ms)."""
    cores = sorted(os.sched_getaffinity(0))
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder), cores) as store,
        Server(store, Path(folder), cores, workers=f"{workers}") as server,
    ):
        races = create(server, game, racers // RACERS)
        lines = await guests(server, racers, [race for race in races for _ in range(RACERS)])
        await begin(server, lines, game, races=races)
        drive = Drive(lines, {"server": [server], "store": [store]})
        rate = load * (await drive.flat_out(HIGHEST_S, WARM_S)).rate
        click.echo(f"{racers} racers in {len(races)} races on {workers} workers, {rate:,.0f} moves per second")
        click.echo("minute  moves/s  p50 ms  p99 ms  server cores  store cores  server MiB")
        moves, rss, highest_ms = [0], [_rss(server)], 0.0
        for minute in range(1, minutes + 1):
            found = await drive.scheduled(rate, INTERVAL_S, WARM_S, f"minute {minute}")
            moves.append(moves[-1] + found.answers)
            rss.append(_rss(server))
            highest_ms = max(highest_ms, found.quantile_ms(0.99))
            click.echo(
                f"{minute:6} {found.rate:8,.0f} {found.quantile_ms(0.5):7.2f} {found.quantile_ms(0.99):7.2f}"
                f" {found.cpu_share('server'):13.2f} {found.cpu_share('store'):12.2f} {rss[-1] / 2**20:11.1f}"
            )
        await close_all(lines)
    per_minute, per_move = linear_regression(range(len(rss)), rss).slope, linear_regression(moves, rss).slope
    click.echo(f"Memory grows by {per_minute / 2**20:.2f} MiB per minute, {per_move:.1f} bytes per move.")
    return highest_ms


def _rss(server: Server) -> int:
    return sum(map(machine.rss_bytes, server.pids))


if __name__ == "__main__":
    main()
