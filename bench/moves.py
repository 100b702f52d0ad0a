"""Moves: how many are accepted a second, and how long they take at half that load; the echo in the same way."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import Figures
from bench.load import Drive, Interval, close_all, opened
from bench.racing import begin, guests
from bench.services import Echo, Server, Store

RACERS = (1, 50, 1000)
ECHO_BYTES = 40


class Pace(NamedTuple):
    """How long is measured, in seconds."""

    measured: float
    warm: float


NORMAL, QUICK = Pace(1.5, 0.5), Pace(1.0, 0.3)


async def echo(figures: Figures, racers: Sequence[int], pace: Pace) -> None:
    """Measures the echo of this round."""
    with tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder, Echo(Path(folder)) as service:
        for count in racers:
            lines = await opened(service.address, count, echoing=True)
            for line in lines:
                line.frames = [b"\x00" * ECHO_BYTES] * 500_000
            drive = Drive(lines, {"server": [service]})
            flat_out = await drive.flat_out(*pace)
            _note(figures, f"echo/{count}", flat_out)
            half = await drive.scheduled(flat_out.rate / 2, *pace, seed=f"echo {count}")
            _note_half(figures, f"echo/{count}", half)
            await close_all(lines)


async def moves(figures: Figures, game: str, racers: Sequence[int], pace: Pace, *, legal: bool = True) -> None:
    """Measures the moves of a game in this round, each against the echo of the round."""
    for count in racers:
        name = f"moves/{game}/{count}" if legal else f"moves-without-legal/{game}/{count}"
        with (
            tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
            Store(Path(folder)) as store,
            Server(store, Path(folder)) as server,
        ):
            lines = await guests(server, count)
            drive = Drive(lines, {"server": [server], "store": [store]})
            await begin(server, lines, game, legal=legal)
            flat_out = await drive.flat_out(*pace)
            _note(figures, name, flat_out)
            figures.note(f"{name}/of-echo", flat_out.rate / figures.last(f"echo/{count}/rate"))
            figures.note(f"{name}/store-us", flat_out.cpu_us("store"))
            figures.note(f"{name}/bytes-in", flat_out.bytes_out / flat_out.answers)
            figures.note(f"{name}/bytes-out", flat_out.bytes_in / flat_out.answers)
            await begin(server, lines, game, legal=legal)
            half = await drive.scheduled(flat_out.rate / 2, *pace, seed=name)
            _note_half(figures, name, half)
            await close_all(lines)


def _note(figures: Figures, name: str, measured: Interval) -> None:
    figures.note(f"{name}/rate", measured.rate)
    figures.note(f"{name}/p50-ms", measured.quantile_ms(0.5))
    figures.note(f"{name}/p99-ms", measured.quantile_ms(0.99))
    figures.note(f"{name}/server-us", measured.cpu_us("server"))
    figures.note(f"{name}/server-cpu", measured.cpu_share("server"))
    figures.note(f"{name}/load-cpu", measured.cpu_share("load"))


def _note_half(figures: Figures, name: str, measured: Interval) -> None:
    figures.note(f"{name}/half/rate", measured.rate)
    figures.note(f"{name}/half/p50-ms", measured.quantile_ms(0.5))
    figures.note(f"{name}/half/p99-ms", measured.quantile_ms(0.99))
    figures.note(f"{name}/half/server-cpu", measured.cpu_share("server"))
