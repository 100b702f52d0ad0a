"""The report: what a run found as a file, and that file as the table and the plot of docs/performance.md."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import machine
from bench.figures import Figure, Figures
from bench.finished import FEW, MANY, MOST
from bench.growth import PLIES, RACERS
from bench.plan import Plan
from bench.plot import bars

ROOT = Path(__file__).parent.parent
LATEST, QUICK = ROOT / "bench/results/latest.json", ROOT / "bench/results/quick.json"
PAGE, PLOT = ROOT / "docs/performance.md", ROOT / "docs/performance.svg"
BEGIN, END = "<!-- from bench/results/latest.json -->", "<!-- to here -->"
GRID_GAMES = ("the-edge", "kings-in-the-corners")
LEAST_OF_ECHO = {
    **dict.fromkeys(("the-edge", "kings-in-the-corners", "corners"), 0.35),
    **dict.fromkeys(("corner-stones", "gallery"), 0.25),
}


def save(figures: Figures, plan: Plan, file: Path, *, took_s: float, left_out: str) -> None:
    """Writes what a run found: the machine, the plan, and every figure with its value in each round."""
    file.parent.mkdir(exist_ok=True)
    found = {
        "at": datetime.now(UTC).date().isoformat(),
        "took_s": round(took_s),
        "machine": machine.described(),
        "plan": asdict(plan),
        "left_out": left_out,
        "figures": {name: [float(f"{value:.5g}") for value in values] for name, values in figures.values.items()},
    }
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


class Found:
    """What a run found, read again."""

    def __init__(self, file: Path = LATEST) -> None:
        run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.run = run
        self.figures = Figures(run["figures"]).summary()
        self.games: list[str] = run["plan"]["games"]
        self.racers: list[int] = run["plan"]["racers"]
        self.sizes: list[int] = run["plan"]["sizes"]
        self.idle: list[int] = run["plan"]["idle"]

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def cell(self, name: str, form: str = ",.0f") -> str:
        """The median with its least and greatest, or a dash for what was left out."""
        if name not in self.figures:
            return "–"
        middle, least, greatest = (format(value, form) for value in self.figures[name])
        return middle if least == greatest else f"{middle} ({least} to {greatest})"


def write() -> None:
    """Puts table and plot of the latest run into the docs. Raises OSError where there is none."""
    found = Found()
    PLOT.write_text(_plot(found), encoding="utf-8")
    put_between(PAGE, "\n".join(_page(found)))


def put_between(page: Path, text: str) -> None:
    """Replaces what stands between the two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{page} has no place between {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _page(found: Found) -> Iterator[str]:
    run, cell = found.run, found.cell
    about = ", ".join(f"{name} {value}" for name, value in run["machine"].items())
    rounds = max(len(values) for values in run["figures"].values())
    yield f"Measured on {run['at']} in {run['took_s'] / 60:.0f} minutes, {rounds} rounds: {about}."
    yield ""
    yield f"Left out: boardgame.io and Colyseus, because {run['left_out']}." if run["left_out"] else ""
    yield ""
    yield "### Targets"
    yield ""
    yield from table(("Target", "Measured", ""), _targets(found))
    yield "![Accepted moves a second with 50 racers, beside an echo and two peers](performance.svg)"
    yield ""
    yield "### Moves"
    yield ""
    head: tuple[str, ...] = ("Game", "Racers", "Accepted a second", "Of the echo", "Server µs", "Store µs")
    head += ("p50 ms at half load", "p99 ms at half load", "Load's CPU")
    rows = [("echo", f"echo/{count}", count) for count in found.racers]
    rows += [(game, f"moves/{game}/{count}", count) for game in found.games for count in found.racers]
    yield from table(
        head,
        (
            (
                game,
                f"{count:,}",
                cell(f"{name}/rate"),
                cell(f"{name}/of-echo", ".2f"),
                cell(f"{name}/server-us", ".1f"),
                cell(f"{name}/store-us", ".1f"),
                cell(f"{name}/half/p50-ms", ".2f"),
                cell(f"{name}/half/p99-ms", ".2f"),
                f"{found[f'{name}/load-cpu'].median:.2f}",
            )
            for game, name, count in rows
        ),
    )
    without = f"moves-without-legal/{found.games[0]}/50"
    yield f"Without the legal moves in the answers, {found.games[0]} with 50 racers:"
    yield f"{cell(f'{without}/rate')} a second, {cell(f'{without}/server-us', '.1f')} µs."
    yield ""
    yield "### Peers"
    yield ""
    head = ("Peer", "Players", "Moves a second", "Server µs", "p99 ms flat out", "Load's CPU")
    yield from table(
        head,
        (
            (
                title,
                f"{count:,}",
                cell(f"peers/{kind}/{count}/rate"),
                cell(f"peers/{kind}/{count}/server-us", ".1f"),
                cell(f"peers/{kind}/{count}/p99-ms", ".1f"),
                cell(f"peers/{kind}/{count}/load-cpu", ".2f"),
            )
            for kind, title in (("boardgame", "boardgame.io"), ("colyseus", "Colyseus"))
            for count in found.racers
        ),
    )
    yield "### Bytes and verification"
    yield ""
    head = ("Game", "Sent for a move", "Received for a move", "In the store for a move", "… besides")
    yield from table(
        (*head, "Entries verified a second"),
        (
            (
                game,
                cell(f"moves/{game}/1/bytes-in"),
                cell(f"moves/{game}/1/bytes-out"),
                cell(f"store/{game}/bytes-per-move", ".1f"),
                cell(f"store/{game}/bytes-besides"),
                cell(f"verify/{game}/{MANY}/entries-per-s"),
            )
            for game in found.games
        ),
    )
    yield "### Two server processes"
    yield ""
    ways = {
        "one": "one process",
        "two-workers": "`--workers 2`",
        "two-races-apart": "two processes, each race on one",
        "two-races-shared": "two processes, each race on both",
    }
    yield from table(
        ("50 racers, nothing pinned", "Accepted a second", "Server µs", "Store µs", "Load µs", "Server's cores"),
        (
            (
                title,
                cell(f"processes/{way}/rate"),
                *(cell(f"processes/{way}/{party}-us", ".1f") for party in ("server", "store", "load")),
                cell(f"processes/{way}/server-cpu", ".2f"),
            )
            for way, title in ways.items()
        ),
    )
    yield "### Growth"
    yield ""
    yield "Of each kind so many, ten and a hundred times as many, and what one of them costs."
    yield ""
    yield from table(("What", "How many", "Cost of each"), _growth(found))


def _targets(found: Found) -> Iterator[tuple[str, str, str]]:
    def one(target: str, name: str, form: str, holds: bool | None) -> tuple[str, str, str]:
        verdict = "–" if holds is None or name not in found.figures else "met" if holds else "**missed**"
        return target, found.cell(name, form), verdict

    def value(name: str) -> float:
        return found[name].median if name in found.figures else float("nan")

    peer = value("peers/boardgame/50/rate")
    for game in found.games:
        name = f"moves/{game}/50"
        least = LEAST_OF_ECHO[game]
        yield one(f"{game}: ≥ {least} of the echo", f"{name}/of-echo", ".2f", value(f"{name}/of-echo") >= least)
        if peer == peer:
            yield one(
                f"{game}: ≥ 2 × boardgame.io's {peer:,.0f} a second",
                f"{name}/rate",
                ",.0f",
                value(f"{name}/rate") >= 2 * peer,
            )
        yield one(f"{game}: p99 at half load ≤ 5 ms", f"{name}/half/p99-ms", ".2f", value(f"{name}/half/p99-ms") <= 5)
    most, size = found.idle[-1], found.sizes[-1]
    name = f"memory/idle/{most}/kib"
    yield one("≤ 32 KiB for an idle connection", name, ".1f", value(name) <= 32)
    for game in found.games:
        name = f"memory/race/{game}/{size}/kib"
        yield one(f"{game}: ≤ 64 KiB for a live race", name, ".1f", value(name) <= 64)
    yield one(
        f"{most:,} connections held while {size:,} race",
        "memory/idle/still-held",
        ",.0f",
        value("memory/idle/still-held") >= most,
    )
    name = f"fanout/{size}"
    yield one(f"{size:,} onlookers: ≥ 80,000 deliveries a second", f"{name}/rate", ",.0f", value(f"{name}/rate") >= 8e4)
    late = f"{name}/steady/p99-ms"
    yield one(f"{size:,} onlookers, 20 updates a second: p99 ≤ 25 ms", late, ".1f", value(late) <= 25)
    for game in found.games:
        name = f"store/{game}/bytes"
        yield one(f"{game}: ≤ 12 bytes a move in the store", f"{name}-per-move", ".1f", value(f"{name}-per-move") <= 12)
        yield one(f"{game}: and ≤ 1 KB besides", f"{name}-besides", ",.0f", value(f"{name}-besides") <= 1024)
    for game in (game for game in found.games if game in GRID_GAMES):
        name = f"verify/{game}/{MANY}/entries-per-s"
        yield one(f"{game}: ≥ 20,000 entries verified a second", name, ",.0f", value(name) >= 20_000)


def _growth(found: Found) -> Iterator[tuple[str, str, str]]:
    game = found.games[0]
    kinds: list[tuple[str, Sequence[int], str, str, str]] = [
        ("races there, 10 of them played: server for a move", found.sizes, "growth/races/{}/server-us", ".1f", "µs"),
        ("the same: store for a move", found.sizes, "growth/races/{}/store-us", ".1f", "µs"),
        ("moves made before: server for a move", PLIES, "growth/plies/{}/server-us", ".1f", "µs"),
        ("racers in each race: server for a move", RACERS, "growth/racers/{}/server-us", ".1f", "µs"),
        ("idle connections: memory", found.idle, "memory/idle/{}/kib", ".1f", "KiB"),
        ("live races: memory", found.sizes, f"memory/race/{game}/{{}}/kib", ".1f", "KiB"),
        ("onlookers: server for a delivery", found.sizes, "fanout/{}/server-us", ".1f", "µs"),
        ("races come back to after a restart: server", found.sizes, "restore/all/{}/server-ms-each", ".2f", "ms"),
        (
            "moves of each of 5: verification",
            (FEW, MANY, MOST),
            f"verify/{game}/{{}}/entries-per-s",
            ",.0f",
            "a second",
        ),
    ]
    for what, counts, name, form, unit in kinds:
        for count in counts:
            yield what, f"{count:,}", f"{found.cell(name.format(count), form)} {unit}"
    for count in found.sizes:
        took = f"{found.cell(f'restore/all/{count}/s', '.2f')} s"
        yield "races, until all racers are back after a restart", f"{count:,}", took
    for count in found.sizes:
        steady = f"fanout/{count}/steady"
        told = found.cell(f"{steady}/until-the-last-p50-ms", ".1f")
        yield "onlookers, 20 updates a second: until the last has one", f"{count:,}", f"{told} ms"
        yield "the same: the server's core", f"{count:,}", found.cell(f"{steady}/server-cpu", ".2f")


def _plot(found: Found) -> str:
    names = [("Starlette echo", "echo/50/rate")]
    names += [(game, f"moves/{game}/50/rate") for game in found.games]
    names += [("boardgame.io, in memory", "peers/boardgame/50/rate"), ("Colyseus, in memory", "peers/colyseus/50/rate")]
    rows = [(title, found[name]) for title, name in names if name in found.figures]
    return bars("Moves answered a second, 50 racers; ours are validated and on the disk", rows)
