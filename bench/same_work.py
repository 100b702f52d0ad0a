"""The same work: races of one game on this server and on its peers, validated and logged before each answer."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from redis import Redis

from bench.figures import Figures
from bench.load import Drive, LoadError, close_all
from bench.peers import driven, peer
from bench.plan import Case, Plan
from bench.racing import RACERS, begin, guests
from bench.recorded import book
from bench.services import Server, Store

GAME = "the-edge"
OURS = "samedeal"
TITLES = {OURS: "Same Deal", "boardgame": "boardgame.io", "colyseus": "Colyseus"}
PER_RACE = (1, RACERS)
"""Racers in each race: alone, so that no other client is notified, and as in the other parts."""
PROGRAMS = {"boardgame": "boardgame_race.mjs", "colyseus": "colyseus_race.mjs"}


def same_work(plan: Plan) -> Iterator[Case]:
    """Measure all three, one after the other in each round."""
    for racers in PER_RACE:
        yield Case(name(OURS, racers), partial(_ours, plan, racers))
        for kind in PROGRAMS:
            yield Case(name(kind, racers), partial(_theirs, plan, kind, racers))


def name(kind: str, racers: int) -> str:
    """Return the name of a measurement, for a number of racers per race."""
    return f"same-work/{kind}/{racers}"


HEAD = ("Server", "Racers per race", "Moves per second", "Server µs", "Store µs", "p99 ms at full load", "Load's CPU")


def rows(cell: Callable[[str, str], str]) -> Iterator[Sequence[str]]:
    """Yield the rows of the report, given a function that formats a figure. Their columns are HEAD."""
    forms = {"rate": ",.0f", "server-us": ".1f", "store-us": ".1f", "p99-ms": ".1f", "load-cpu": ".2f"}
    for racers in PER_RACE:
        for kind, title in TITLES.items():
            cells = (cell(f"{name(kind, racers)}/{figure}", form) for figure, form in forms.items())
            yield title, f"{racers}", *cells


def targets() -> Iterator[tuple[str, str]]:
    """Yield the targets, each with the figure that must be more than 1."""
    for racers in PER_RACE:
        for kind in PROGRAMS:
            target = f"{GAME}, racers per race: {racers}: more moves per second than {TITLES[kind]}, on the same work"
            yield target, f"{name(kind, racers)}/ours"


def plotted() -> Iterator[tuple[str, str]]:
    """Yield the titles and figures of the peers for the plot, with as many racers per race as there."""
    for kind in PROGRAMS:
        yield f"{TITLES[kind]}, {GAME}", f"{name(kind, RACERS)}/rate"


async def _ours(plan: Plan, racers: int, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, plan.held_to)
        drive = Drive(lines, {"server": [server], "store": [store]})
        await begin(server, lines, GAME, racers=racers)
        measured = await drive.flat_out(*plan.pace)
        _check_logged(store, sum(line.at for line in lines))
        for kind, value in {
            "rate": measured.rate,
            "p99-ms": measured.quantile_ms(0.99),
            "server-us": measured.cpu_us("server"),
            "store-us": measured.cpu_us("store"),
            "server-cpu": measured.cpu_share("server"),
            "load-cpu": measured.cpu_share("load"),
        }.items():
            figures.note(f"{name(OURS, racers)}/{kind}", value)
        await close_all(lines)


async def _theirs(plan: Plan, kind: str, racers: int, figures: Figures) -> None:
    recorded = book(GAME)
    with tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder, Store(Path(folder)) as store:
        race = Path(folder) / "race.json"
        warm = plan.plies[1] * plan.held_to
        moves = {"racers": min(racers, plan.held_to), "lines": recorded.lines, "warm": warm}
        race.write_text(json.dumps(moves), encoding="utf-8")
        with peer(Path(folder), PROGRAMS[kind], json.dumps(recorded.opening), store.url) as service:
            measured = await driven(plan, kind, plan.held_to, service, f"{store.pids[-1]}", str(race))
        _check_logged(store, int(measured["moves"]))
    for figure, value in measured.items():
        figures.note(f"{name(kind, racers)}/{figure}", value)
    if ours := figures.now(f"{name(OURS, racers)}/rate"):
        figures.note(f"{name(kind, racers)}/ours", ours / measured["rate"])


def _check_logged(store: Store, answered: int) -> None:
    """Raise LoadError unless the logs have all moves that were answered and the store flushes every write."""
    with Redis.from_url(store.url) as redis:
        logged = sum(redis.xlen(key) for key in redis.scan_iter("race:*:log"))
        if logged < answered or redis.config_get("appendfsync") != {"appendfsync": "always"}:
            raise LoadError(f"{answered} moves were answered, and {logged} entries are in the logs")
