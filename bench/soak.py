"""Soak: thousands of races on several workers at a steady load, with the latency and memory of every interval.

``python -m bench.soak --minutes 10`` finds the rate at which all processes together use 60 % of the cores, and keeps it
up: the workers, the store and the load generator share the cores. It measures how much CPU time a move takes at a low
rate, and then at the rate that follows from that. The highest rate is no measure: when moves have to wait, more of them
are written together, and others are told about several at once, so that each takes much less. It needs Linux.
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

WARM_S, TRIAL_S = 2.0, 10.0
"""How long the load runs before each interval, and how long each trial takes (s), at most."""
TRIALS = 3
TRIAL_RATE = 0.2
"""Moves per second of each racer in the first trial."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=10, show_default=True)
@click.option("--interval", "interval_s", type=click.FloatRange(0, min_open=True), default=60, show_default=True)
@click.option("--racers", type=click.IntRange(RACERS), default=10_000, show_default=True, help="In races of five.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Worker processes.")
@click.option(
    "--load", type=click.FloatRange(0, 1, min_open=True), default=0.6, show_default=True, help="Of the cores."
)
@click.option("--game", default="the-edge", show_default=True)
@click.option("--p99", "most_ms", type=float, help="Fail if the p99 of an interval is higher (ms).")
def main(
    minutes: float, interval_s: float, racers: int, workers: int, load: float, game: str, most_ms: float | None
) -> None:
    """Keep up a steady load and print the latency and memory of every interval (s)."""
    machine.raise_open_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        count = max(2, round(60 * minutes / interval_s))
        highest_ms = runner.run(_soak(count, interval_s, racers - racers % RACERS, workers, load, game))
    sys.exit(most_ms is not None and highest_ms > most_ms)


async def _soak(count: int, interval_s: float, racers: int, workers: int, load: float, game: str) -> float:
    """Return the highest p99 of an interval (ms)."""
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
        warm_s = min(WARM_S, interval_s / 5)
        rate = TRIAL_RATE * racers
        for number in range(1, TRIALS + 1):
            trial = await drive.scheduled(rate, min(TRIAL_S, interval_s), warm_s, f"trial {number}")
            rate = load * len(cores) * trial.answers / sum(trial.cpu_s.values())
        click.echo(f"{racers} racers in {len(races)} races on {workers} workers, {rate:,.0f} moves per second")
        titles = ("moves/s", "p50 ms", "p99 ms", "server cores", "store cores", "all cores", "server MiB")
        click.echo("       s" + "".join(f"{title:>12}" for title in titles))
        moves, rss, highest_ms = [0], [_rss(server)], 0.0
        for number in range(1, count + 1):
            found = await drive.scheduled(rate, interval_s, warm_s, f"interval {number}")
            moves.append(moves[-1] + found.answers)
            rss.append(_rss(server))
            highest_ms = max(highest_ms, found.quantile_ms(0.99))
            shares = [found.cpu_share(party) for party in found.cpu_s]
            figures = (found.quantile_ms(0.5), found.quantile_ms(0.99), *shares[:2], sum(shares), rss[-1] / 2**20)
            cells = "".join(f"{figure:12.2f}" for figure in figures)
            click.echo(f"{number * interval_s:8.0f}{found.rate:12,.0f}{cells}")
        await close_all(lines)
    per_s, per_move = linear_regression(range(len(rss)), rss).slope / interval_s, linear_regression(moves, rss).slope
    click.echo(f"Memory grows by {60 * per_s / 2**20:.2f} MiB per minute, {per_move:.1f} bytes per move.")
    return highest_ms


def _rss(server: Server) -> int:
    return sum(map(machine.rss_bytes, server.pids))


if __name__ == "__main__":
    main()
