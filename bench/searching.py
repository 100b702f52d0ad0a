"""Searches: what a move costs while the server searches for deals, and while it does not.

Run it with ``python -m bench.searching`` on an idle machine. The searches share the server's core.
"""

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from redis import Redis

from bench.load import Drive, Line, close_all, opened
from bench.machine import LOAD_CORE, cpu_s, pin
from bench.racing import begin, guests
from bench.services import Server, Store
from samedeal.commitments import nonce_commitment
from samedeal.race.events import RACE_FORMAT

MOVES_PER_S: Final = 1000
NONCE: Final = bytes(32)
"""Sealed deals differ nevertheless, because every race has a secret of its own."""
HEADER: Final = (
    "| Searches finished per minute | Server CPU per move | Store calls per move | p50 | p99 |\n|---|---|---|---|---|"
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--racers", default=50, show_default=True, help="Number of racers.")
@click.option("--seconds", default=20, show_default=True, help="Length of each measurement.")
@click.option("--rounds", default=3, show_default=True, help="Number of measurements of each kind.")
def main(racers: int, seconds: int, rounds: int) -> None:
    """Measure moves without and with searches for brutal deals of Corners, and print a table in Markdown."""
    pin(0, LOAD_CORE)
    click.echo(HEADER)
    for _ in range(rounds):
        for searching in (False, True):
            click.echo(asyncio.run(row(racers, seconds, searching=searching)))


async def row(racers: int, seconds: int, *, searching: bool) -> str:
    """Measure moves at a fixed rate. Return a row of the table."""
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
        Redis.from_url(store.url) as redis,
    ):
        lines = await guests(server, racers)
        (other,) = await opened(server.address, 1, _greet)
        drive = Drive(lines, {})
        await begin(server, lines, "the-edge")
        finished = list[str]()
        task = asyncio.create_task(_search(server, other, finished)) if searching else None
        calls, used = _calls(redis), cpu_s([server.pid])
        interval = await drive.scheduled(MOVES_PER_S, seconds, 0, seed="searching")
        moves = sum(line.at for line in lines)
        used, calls = cpu_s([server.pid]) - used, _calls(redis) - calls
        if task:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await close_all([*lines, other])
    return (
        f"| {60 * len(finished) / seconds:.0f} | {1e6 * used / moves:.0f} µs | {calls / moves:.3f} "
        f"| {interval.quantile_ms(0.5):.2f} ms | {interval.quantile_ms(0.99):.2f} ms |"
    )


async def _greet(line: Line) -> None:
    await line.ask("hello", name="searcher", format=RACE_FORMAT)


async def _search(server: Server, line: Line, finished: list[str]) -> None:
    """Start races for one, one after another, and append the id of each whose deal was found."""
    options = {"filter": "brutal/1", "max_racers": 1, "start_delay_ms": 0}
    while True:
        race = await asyncio.to_thread(server.ask, "/api/v1/races", {"game": "corners", "options": options})
        line.view = {}
        await line.ask("join", race=race["race"], commitment=nonce_commitment(race["race"], NONCE))
        await line.ask("ready")
        await line.until_stage("countdown")
        await line.ask("nonce", nonce=NONCE.hex())
        await line.until_stage("running")
        await line.ask("resign")
        finished.append(race["race"])


def _calls(redis: Redis) -> int:
    """Return the number of commands that the store has executed."""
    return sum(command["calls"] for command in redis.info("commandstats").values())


if __name__ == "__main__":
    main()
