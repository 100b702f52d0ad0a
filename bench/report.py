"""The report: saves results as a file, and renders them as tables and a plot for docs/operate/performance.md."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bench import machine
from bench.figures import Figure, Figures, summary
from bench.plan import Plan
from bench.plot import bars

ROOT = Path(__file__).parent.parent
LATEST, QUICK = ROOT / "bench/results/latest.json", ROOT / "bench/results/quick.json"
PAGE, PLOT = ROOT / "docs/operate/performance.md", ROOT / "docs/operate/performance.svg"
BEGIN, END = "<!-- from bench/results/latest.json -->", "<!-- to here -->"
GRID_GAMES = ("the-edge", "kings-in-the-corners")
GROWS = 1.5
"""The allowed growth of the cost per item at a hundred times as many items, because of CPU caches."""
BUSIEST_LOAD = 0.9
LEAST_OF_ECHO = {
    **dict.fromkeys(("the-edge", "kings-in-the-corners", "corners"), 0.35),
    **dict.fromkeys(("corner-stones", "gallery"), 0.25),
}


def save(figures: Figures, plan: Plan, file: Path, *, took_s: float, left_out: str) -> None:
    """Write the machine, the plan, and the value of each figure in each round."""
    file.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "at": datetime.now(UTC).date().isoformat(),
        "took_s": round(took_s),
        "machine": machine.described(),
        "plan": asdict(plan),
        "left_out": left_out,
        "missing": figures.missing,
        "figures": {name: [float(f"{value:.5g}") for value in values] for name, values in figures.by_name().items()},
    }
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


class Found:
    """The results of a run, loaded from a file."""

    def __init__(self, file: Path = LATEST) -> None:
        run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.run = run
        self.figures = summary(run["figures"])
        plan = run["plan"]
        self.games: list[str] = plan["games"]
        self.racers: list[int] = plan["racers"]
        self.held_to: int = plan["held_to"]
        self.sizes: list[int] = plan["sizes"]
        self.per_race: list[int] = plan["per_race"]
        self.plies: list[int] = plan["plies"]
        self.idle: list[int] = plan["idle"]
        self.live: list[int] = plan["live"]
        self.some_live = self.live[0]

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def cell(self, name: str, form: str = ",.0f") -> str:
        """Format the median with minimum and maximum, or a dash if it was not measured."""
        if name not in self.figures:
            return "–"
        middle, least, greatest = (format(value, form) for value in self.figures[name])
        return middle if least == greatest else f"{middle} ({least} to {greatest})"


def write() -> None:
    """Put the tables and the plot of the latest run into the docs. Raises OSError if there is no run."""
    found = Found()
    PLOT.write_text(_plot(found), encoding="utf-8")
    put_between(PAGE, "\n".join(page(found)))


def put_between(page: Path, text: str, begin: str = BEGIN) -> None:
    """Replace the text between the two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{page} has no place between {begin} and {END}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a Markdown table and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def page(found: Found) -> Iterator[str]:
    """Yield the generated lines of docs/operate/performance.md."""
    run, cell = found.run, found.cell
    about = ", ".join(f"{name} {value}" for name, value in run["machine"].items())
    rounds = max((len(values) for values in run["figures"].values()), default=0)
    yield f"Measured on {run['at']} in {run['took_s'] / 60:.0f} minutes, {rounds} rounds: {about}."
    yield ""
    if run["left_out"]:
        yield f"Left out: boardgame.io and Colyseus, because {run['left_out']}."
        yield ""
    for name, why in run["missing"].items():
        yield f"Missing in a round: {name}, because {why}."
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
    rows = [("echo", f"echo/{count}", count) for count in sorted({*found.racers, found.held_to})]
    rows += [(game, f"moves/{game}/{count}", count) for game in found.games for count in found.racers]
    yield from table(
        head,
        (
            (
                game,
                f"{count:,}",
                cell(f"{name}/rate"),
                "1" if game == "echo" else cell(f"{name}/of-echo", ".2f"),
                cell(f"{name}/server-us", ".1f"),
                "0" if game == "echo" else cell(f"{name}/store-us", ".1f"),
                cell(f"{name}/half/p50-ms", ".2f"),
                cell(f"{name}/half/p99-ms", ".2f"),
                cell(f"{name}/load-cpu", ".2f"),
            )
            for game, name, count in rows
        ),
    )
    without = f"moves-without-legal/{found.games[0]}/{found.held_to}"
    yield f"Without the legal moves in the answers, {found.games[0]} with {found.held_to} racers:"
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
                cell(f"moves/{game}/{found.racers[0]}/bytes-in"),
                cell(f"moves/{game}/{found.racers[0]}/bytes-out"),
                cell(f"store/{game}/bytes-per-move", ".1f"),
                cell(f"store/{game}/bytes-besides"),
                cell(f"verify/{game}/{found.plies[1]}/entries-per-s"),
            )
            for game in found.games
        ),
    )
    yield "### Two server processes"
    yield ""
    ways = {
        "one": "one process",
        "two-workers-routed": "`--workers 2`, each race on one",
        "two-workers": "`--workers 2`, each race on both",
        "two-races-apart": "two processes, each race on one",
        "two-races-shared": "two processes, each race on both",
    }
    yield from table(
        (
            f"{found.held_to} racers, nothing pinned",
            "Accepted a second",
            "Server µs",
            "Store µs",
            "Load µs",
            "Server's cores",
        ),
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
    def one(target: str, name: str, form: str, least: float = -inf, most: float = inf) -> tuple[str, str, str]:
        if name not in found.figures:
            return target, "–", "not measured"
        return target, found.cell(name, form), verdict(least <= found[name].median <= most)

    held_to, size, most = found.held_to, found.sizes[-1], found.idle[-1]
    peer = found.figures.get(f"peers/boardgame/{held_to}/rate")
    for game in found.games:
        name, least = f"moves/{game}/{held_to}", LEAST_OF_ECHO[game]
        yield one(f"{game}: ≥ {least} of the echo", f"{name}/of-echo", ".2f", least)
        if peer:
            target = f"{game}: ≥ 2 × boardgame.io's {peer.median:,.0f} a second"
            yield one(target, f"{name}/rate", ",.0f", 2 * peer.median)
        yield one(f"{game}: p99 at half load ≤ 5 ms", f"{name}/half/p99-ms", ".2f", most=5)
    yield one("≤ 32 KiB for an idle connection", f"memory/idle/{most}/kib", ".1f", most=32)
    for game in found.games:
        yield one(f"{game}: ≤ 64 KiB for a live race", f"memory/race/{game}/{found.some_live}/kib", ".1f", most=64)
    yield one(f"{most:,} connections held while {size:,} race", "memory/idle/still-held", ",.0f", most)
    name = f"fanout/{size}"
    yield one(f"{size:,} onlookers: ≥ 80,000 deliveries a second", f"{name}/rate", ",.0f", 80_000)
    target = f"{size:,} onlookers, 20 updates a second: p99 ≤ 25 ms"
    yield one(target, f"{name}/steady/p99-ms", ".1f", most=25)
    for game in found.games:
        name = f"store/{game}/bytes"
        yield one(f"{game}: ≤ 12 bytes a move in the store", f"{name}-per-move", ".1f", most=12)
        yield one(f"{game}: and ≤ 1 KB besides", f"{name}-besides", ",.0f", most=1024)
    for game in (game for game in found.games if game in GRID_GAMES):
        target = f"{game}: ≥ 20,000 entries verified a second"
        yield one(target, f"verify/{game}/{found.plies[1]}/entries-per-s", ",.0f", 20_000)
    yield _steady(found)
    yield _load(found)


def _steady(found: Found) -> tuple[str, str, str]:
    """Check that nothing costs much more per item at a hundred times as many items."""
    target = f"nothing costs more than {GROWS:.1f} times as much for each where there are more"
    ratios = {}
    for kind in _growing(found):
        first, last = (found.figures.get(kind.name.format(count)) for count in (kind.counts[0], kind.counts[-1]))
        if first and last and min(first.median, last.median) > 0:
            ratios[kind.what] = first.median / last.median if kind.better == "more" else last.median / first.median
    if not ratios:
        return target, "–", "not measured"
    worst = max(ratios, key=lambda what: ratios[what])
    return target, f"at most {ratios[worst]:.2f} times: {worst}", verdict(ratios[worst] <= GROWS)


def _load(found: Found) -> tuple[str, str, str]:
    """Check that the load generator was never the bottleneck. Unpinned runs and peers are not checked."""
    shares = {
        name.removesuffix("/load-cpu"): figure.median
        for name, figure in found.figures.items()
        if name.endswith("/load-cpu") and not name.startswith(("processes/", "peers/"))
    }
    target = f"the load is never busy for more than {BUSIEST_LOAD:.0%} of its core"
    if not shares:
        return target, "–", "not measured"
    busiest = max(shares, key=lambda name: shares[name])
    return target, f"{shares[busiest]:.0%}: {busiest}", verdict(shares[busiest] <= BUSIEST_LOAD)


def verdict(holds: bool) -> str:
    """Format the result for a target."""
    return "met" if holds else "**missed**"


class Growing(NamedTuple):
    """A cost that is measured for different numbers of items."""

    what: str
    counts: Sequence[int]
    name: str
    """The name of the figure, with a placeholder for the number."""
    form: str
    unit: str
    better: Literal["less", "more"] = "less"


def _growing(found: Found) -> Sequence[Growing]:
    game = found.games[0]
    return (
        Growing(
            "races there, 10 of them played: server for a move", found.sizes, "growth/races/{}/server-us", ".1f", "µs"
        ),
        Growing("the same: store for a move", found.sizes, "growth/races/{}/store-us", ".1f", "µs"),
        Growing("moves made before: server for a move", found.plies, "growth/plies/{}/server-us", ".1f", "µs"),
        Growing("racers in each race: server for a move", found.per_race, "growth/racers/{}/server-us", ".1f", "µs"),
        Growing("idle connections: memory", found.idle, "memory/idle/{}/kib", ".1f", "KiB"),
        Growing("live races: memory", found.live, f"memory/race/{game}/{{}}/kib", ".1f", "KiB"),
        Growing("onlookers: server for a delivery", found.sizes, "fanout/{}/server-us", ".1f", "µs"),
        Growing(
            "races come back to after a restart: server", found.sizes, "restore/all/{}/server-ms-each", ".2f", "ms"
        ),
        Growing(
            *("moves of each of 5: verification", found.plies, f"verify/{game}/{{}}/entries-per-s"),
            *(",.0f", "a second", "more"),
        ),
    )


def _growth(found: Found) -> Iterator[tuple[str, str, str]]:
    for kind in _growing(found):
        for count in kind.counts:
            yield kind.what, f"{count:,}", f"{found.cell(kind.name.format(count), kind.form)} {kind.unit}"
    for count in found.sizes:
        took = f"{found.cell(f'restore/all/{count}/s', '.2f')} s"
        yield "races, until all racers are back after a restart", f"{count:,}", took
    for count in found.sizes:
        steady = f"fanout/{count}/steady"
        told = found.cell(f"{steady}/until-the-last-p50-ms", ".1f")
        yield "onlookers, 20 updates a second: until the last has one", f"{count:,}", f"{told} ms"
        yield "the same: the server's core", f"{count:,}", found.cell(f"{steady}/server-cpu", ".2f")


def _plot(found: Found) -> str:
    count = found.held_to
    names = [("Starlette echo", f"echo/{count}/rate")]
    names += [(game, f"moves/{game}/{count}/rate") for game in found.games]
    names += [("boardgame.io, in memory", f"peers/boardgame/{count}/rate")]
    names += [("Colyseus, in memory", f"peers/colyseus/{count}/rate")]
    rows = [(title, found[name]) for title, name in names if name in found.figures]
    return bars(f"Moves answered a second, {count} racers; ours are validated and on the disk", rows)
