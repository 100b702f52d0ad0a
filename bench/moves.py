"""Moves: accepted moves per second, and the latency at half that load, next to a plain echo."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from redis import Redis

from bench.load import Drive, Interval, LoadError, close_all, opened
from bench.machine import SERVER_CORE
from bench.racing import begin, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Service, Store

ECHO = (sys.executable, str(Path(__file__).with_name("echo.py")))
ECHO_BYTES = 40


def echo(plan: Plan) -> Iterator[Case]:
    """Measure the echo with as many connections as racers."""
    for count in sorted({*plan.racers, plan.held_to}):
        yield Case(f"echo/{count}", partial(_echo, count))


def moves(plan: Plan) -> Iterator[Case]:
    """Measure the moves of each game, and of one game without legal moves."""
    for game in plan.games:
        for count in sorted({*plan.racers, plan.held_to}):
            name = f"moves/{game}/{count}"
            yield Case(name, partial(_moves, name, game, count, True))
    game, count = plan.games[0], plan.held_to
    name = f"moves-without-legal/{game}/{count}"
    yield Case(name, partial(_moves, name, game, count, False))


async def _echo(count: int, run: Run) -> None:
    name, pace = f"echo/{count}", run.plan.pace
    with Service(ECHO, (SERVER_CORE,)) as service:
        frames = [b"\x00" * ECHO_BYTES] * 1_000_000
        lines = await opened(service.address, count, echoing=True)
        for line in lines:
            line.frames = frames
        drive = Drive(lines, {"server": [service]})
        flat_out = await drive.flat_out(*pace)
        note(run, name, flat_out)
        note(run, f"{name}/half", await drive.scheduled(flat_out.rate / 2, *pace, seed="echo"))
        await close_all(lines)


async def _moves(name: str, game: str, count: int, legal: bool, run: Run) -> None:
    pace = run.plan.pace
    with Store() as store, Server(store) as server:
        lines = await guests(server, count)
        drive = Drive(lines, {"server": [server], "store": [store]})
        races = await begin(server, lines, game, legal=legal)
        flat_out = await drive.flat_out(*pace)
        check_log(store, races, sum(line.at for line in lines))
        note(run, name, flat_out)
        run.note(f"{name}/bytes-in", flat_out.bytes_out / flat_out.answers)
        run.note(f"{name}/bytes-out", flat_out.bytes_in / flat_out.answers)
        await begin(server, lines, game, legal=legal)
        note(run, f"{name}/half", await drive.scheduled(flat_out.rate / 2, *pace, seed=name))
        await close_all(lines)


def check_log(store: Store, races: list[str], accepted: int) -> None:
    """Raise LoadError unless all acknowledged moves are in the log and the store flushes every write."""
    with Redis.from_url(store.address) as redis:
        logged = sum(redis.xlen(f"race:{{{race}}}:log") for race in races)
        if logged < accepted or redis.config_get("appendfsync") != {"appendfsync": "always"}:
            raise LoadError(f"{accepted} moves were accepted, and {logged} entries are in the log")


def note(run: Run, name: str, measured: Interval) -> None:
    """Record the rate, the latency, and what each party used per answer (µs) and of a core."""
    run.note(f"{name}/rate", measured.rate)
    run.note(f"{name}/p50-ms", measured.quantile_ms(0.5))
    run.note(f"{name}/p99-ms", measured.quantile_ms(0.99))
    for party in measured.cpu_s:
        run.note(f"{name}/{party}-us", measured.cpu_us(party))
        run.note(f"{name}/{party}-cpu", measured.cpu_share(party))
