"""Moves: accepted moves per second, and the latency at half that load, compared with the echo."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from redis import Redis

from bench.figures import Figures
from bench.load import Drive, Interval, LoadError, close_all, opened
from bench.plan import Case, Plan
from bench.racing import begin, guests
from bench.services import Echo, Server, Store

ECHO_BYTES = 40


def echo(plan: Plan) -> Iterator[Case]:
    """Measure the echo with as many connections as racers."""
    for count in sorted({*plan.racers, plan.held_to}):
        yield Case(f"echo/{count}", partial(_echo, plan, count))


def moves(plan: Plan) -> Iterator[Case]:
    """Measure the moves of each game, relative to the echo of the same round."""
    for game in plan.games:
        for count in plan.racers:
            yield Case(f"moves/{game}/{count}", partial(_moves, plan, f"moves/{game}/{count}", game, count, plan.legal))
    if plan.legal:
        game, count = plan.games[0], plan.held_to
        name = f"moves-without-legal/{game}/{count}"
        yield Case(name, partial(_moves, plan, name, game, count, False))


async def _echo(plan: Plan, count: int, figures: Figures) -> None:
    with tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder, Echo(Path(folder)) as service:
        frames = [b"\x00" * ECHO_BYTES] * 1_000_000
        lines = await opened(service.address, count, echoing=True)
        for line in lines:
            line.frames = frames
        drive = Drive(lines, {"server": [service]})
        flat_out = await drive.flat_out(*plan.pace)
        note(figures, f"echo/{count}", flat_out)
        note_half(figures, f"echo/{count}", await drive.scheduled(flat_out.rate / 2, *plan.pace, seed="echo"))
        await close_all(lines)


async def _moves(plan: Plan, name: str, game: str, count: int, legal: bool, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, count)
        drive = Drive(lines, {"server": [server], "store": [store]})
        races = await begin(server, lines, game, legal=legal, views=plan.views)
        flat_out = await drive.flat_out(*plan.pace)
        check_log(store, races, sum(line.at for line in lines))
        note(figures, name, flat_out)
        if plain := figures.now(f"echo/{count}/rate"):
            figures.note(f"{name}/of-echo", flat_out.rate / plain)
        figures.note(f"{name}/store-us", flat_out.cpu_us("store"))
        figures.note(f"{name}/bytes-in", flat_out.bytes_out / flat_out.answers)
        figures.note(f"{name}/bytes-out", flat_out.bytes_in / flat_out.answers)
        await begin(server, lines, game, legal=legal, views=plan.views)
        note_half(figures, name, await drive.scheduled(flat_out.rate / 2, *plan.pace, seed=name))
        await close_all(lines)


def check_log(store: Store, races: list[str], accepted: int) -> None:
    """Raise LoadError unless all acknowledged moves are in the log and the store flushes every write."""
    with Redis.from_url(store.url) as redis:
        logged = sum(redis.xlen(f"race:{{{race}}}:log") for race in races)
        if logged < accepted or redis.config_get("appendfsync") != {"appendfsync": "always"}:
            raise LoadError(f"{accepted} moves were accepted, and {logged} entries are in the log")


def note(figures: Figures, name: str, measured: Interval) -> None:
    """Record the results at full load."""
    figures.note(f"{name}/rate", measured.rate)
    figures.note(f"{name}/p50-ms", measured.quantile_ms(0.5))
    figures.note(f"{name}/p99-ms", measured.quantile_ms(0.99))
    figures.note(f"{name}/server-us", measured.cpu_us("server"))
    figures.note(f"{name}/server-cpu", measured.cpu_share("server"))
    figures.note(f"{name}/load-cpu", measured.cpu_share("load"))


def note_half(figures: Figures, name: str, measured: Interval) -> None:
    """Record the results at half load."""
    figures.note(f"{name}/half/rate", measured.rate)
    figures.note(f"{name}/half/p50-ms", measured.quantile_ms(0.5))
    figures.note(f"{name}/half/p99-ms", measured.quantile_ms(0.99))
    figures.note(f"{name}/half/server-cpu", measured.cpu_share("server"))
    figures.note(f"{name}/half/load-cpu", measured.cpu_share("load"))
