"""Capacity: what the results mean for somebody who hosts races."""

from collections.abc import Callable, Iterator

from bench.found import Found
from bench.racing import RACERS
from tools.markdown import table

MOVE_EVERY_S = 2
"""How often a racer moves (s)."""
HOSTED = (10, 100, 1000, 10_000)
"""Numbers of racers."""


def capacity(found: Found) -> Iterator[str]:
    """Yield the generated lines at the start of docs/operate/performance.md, with the figures of the slowest game."""

    def slowest(name: str, choose: Callable[[Iterator[float]], float] = max) -> float:
        return choose(found[name.format(game)].median for game in found.games)

    try:
        moves = f"moves/{{}}/{found.held_to}"
        rate, server_us = slowest(f"{moves}/rate", min), slowest(f"{moves}/server-us")
        p99_ms, bytes_out = slowest(f"{moves}/half/p99-ms"), slowest(f"{moves}/bytes-out")
        race_kib = slowest(f"memory/race/{{}}/{found.some_live}/kib")
        connection_kib = found[f"memory/idle/{found.idle[-1]}/kib"].median
    except KeyError as missing:
        yield f"{missing} was not measured."
        return
    yield f"On one core ({found.run['machine']['processor'].partition(' × ')[2]}), a server process handles"
    yield f"**{rate:,.0f} moves per second**, each of them validated, written to disk and answered. At half that load,"
    yield f"99 % of the answers take less than {p99_ms:.1f} ms. A connection takes {connection_kib:.0f} KiB of memory,"
    yield f"and a race of {RACERS} racers {race_kib:.0f} KiB. These are the figures of the slowest of the games."
    yield ""
    yield f"If each racer moves every {MOVE_EVERY_S} s, this is what you need:"
    yield ""
    head = (
        "Racers",
        "Races",
        "Moves per second",
        "Share of one core",
        "Memory besides the process",
        "Mbit/s to clients",
    )
    yield from table(
        head, (_row(racers, server_us, connection_kib + race_kib / RACERS, bytes_out) for racers in HOSTED)
    )


def _row(racers: int, server_us: float, racer_kib: float, bytes_out: float) -> tuple[str, ...]:
    moves = racers / MOVE_EVERY_S
    return (
        *(f"{racers:,}", f"{racers // RACERS:,}", f"{moves:,.0f}", f"{max(0.001, moves * server_us / 1e6):.1%}"),
        *(f"{max(1, racers * racer_kib / 1024):,.0f} MiB", f"{moves * bytes_out * 8 / 1e6:,.2f}"),
    )
