"""The report: saves results as a file, and renders them as tables and a plot for docs/operate/performance.md."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bench import machine
from bench.figures import Figure, Figures, summary
from bench.plan import Plan
from bench.plot import bars
from bench.racing import RACERS
from samedeal.games.catalogue import GAMES

ROOT = Path(__file__).parent.parent
LATEST, QUICK = ROOT / "bench/results/latest.json", ROOT / "bench/results/quick.json"
PAGE, PLOT = ROOT / "docs/operate/performance.md", ROOT / "docs/operate/performance.svg"
BEGIN, END = "<!-- from bench/results/latest.json -->", "<!-- to here -->"
BEGIN_CAPACITY = "<!-- capacity from bench/results/latest.json -->"
GRID_GAMES = ("the-edge", "kings-in-the-corners")
GROWS = 1.5
"""The allowed growth of the cost per item at a hundred times as many items, because of CPU caches."""
BUSIEST_LOAD = 0.9
MAX_INSTRUCTIONS = dict.fromkeys(GAMES, 240_000) | dict.fromkeys(("gallery", "corner-stones"), 265_000)
"""The allowed user instructions per move, on an interpreter with profile-guided optimization."""
MAX_WITH_CHANGES = 185_000
MAX_SERVER_US = 35
MAX_ROUTED = 1.1
PEERS = {"boardgame": "boardgame.io", "colyseus": "Colyseus"}


def save(figures: Figures, plan: Plan, file: Path, *, took_s: float, left_out: Mapping[str, str]) -> None:
    """Write the machine, the plan, and the value of each figure in each round."""
    file.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "at": datetime.now(UTC).date().isoformat(),
        "took_s": round(took_s),
        "machine": machine.described(),
        "plan": asdict(plan),
        "left_out": dict(left_out),
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
        left_out = run["left_out"]
        self.left_out: dict[str, str] = left_out if isinstance(left_out, dict) else {}
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
    for what, why in found.left_out.items():
        yield f"Left out: {what}, because {why}."
        yield ""
    for name, why in run["missing"].items():
        yield f"Missing in a round: {name}, because {why}."
        yield ""
    yield "### Targets"
    yield ""
    yield from table(("Target", "Measured", ""), _targets(found))
    yield "![Moves per second with 50 racers, next to an echo and two peers in memory](performance.svg)"
    yield ""
    yield "### Moves"
    yield ""
    head: tuple[str, ...] = ("Game", "Racers", "Moves per second", "Ratio to the echo", "Server µs", "Store µs")
    head += ("p50 ms at half load", "p99 ms at half load", "Load generator's CPU")
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
    yield f"{found.games[0]} with {found.held_to} racers who do not request legal moves:"
    yield f"{cell(f'{without}/rate')} moves per second, {cell(f'{without}/server-us', '.1f')} µs."
    yield ""
    yield f"### Instructions with {found.held_to} racers"
    yield ""
    yield from table(
        ("Game", "User instructions per move", "Moves per group commit"),
        (
            (game, cell(f"{name}/per-move"), cell(f"{name}/moves-per-commit", ".1f"))
            for game, name in ((game, f"instructions/{game}/{found.held_to}") for game in found.games)
        ),
    )
    yield "### Peers"
    yield ""
    head = ("Peer", "Players", "Moves per second", "Server µs", "p99 ms at full load", "Load generator's CPU")
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
            for kind, title in PEERS.items()
            for count in found.racers
        ),
    )
    yield "### Bytes and verification"
    yield ""
    head = (
        "Game",
        "Client sends per move",
        "Client receives per move",
        "Store per move",
        "Store per race without moves",
    )
    yield from table(
        (*head, "Entries verified per second"),
        (
            (
                game,
                cell(f"moves/{game}/{found.held_to}/bytes-in"),
                cell(f"moves/{game}/{found.held_to}/bytes-out"),
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
        "two-workers": "`--workers 2`",
        "two-races-apart": "two processes, each race on one",
        "two-races-shared": "two processes, each race on both",
    }
    yield from table(
        (
            f"{found.held_to} racers, not pinned to cores",
            "Moves per second",
            "Server µs",
            "Store µs",
            "Load generator µs",
            "Cores used by the server",
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
    yield "The cost of one item, with ten and a hundred times as many of them."
    yield ""
    yield from table(("What", "Number", "Cost per item"), _growth(found))


def _targets(found: Found) -> Iterator[tuple[str, str, str]]:
    def one(target: str, name: str, form: str, least: float = -inf, most: float = inf) -> tuple[str, str, str]:
        if name not in found.figures:
            return target, "–", "not measured"
        return target, found.cell(name, form), verdict(least <= found[name].median <= most)

    held_to, size, most = found.held_to, found.sizes[-1], found.idle[-1]
    peer = found.figures.get(f"peers/boardgame/{held_to}/rate")
    for game in found.games:
        name, allowed = f"moves/{game}/{held_to}", MAX_INSTRUCTIONS[game]
        target = f"{game}: ≤ {allowed:,} user instructions per move"
        yield one(target, f"instructions/{game}/{held_to}/per-move", ",.0f", most=allowed)
        yield _server_us(found, game)
        yield one(f"{game}: p99 at half load ≤ 3 ms", f"{name}/half/p99-ms", ".2f", most=3)
        if peer:
            target = f"{game}: ≥ 2 × the rate of boardgame.io in memory ({peer.median:,.0f} per second)"
            yield one(target, f"{name}/rate", ",.0f", 2 * peer.median)
    if (name := f"instructions-with-changes/{found.games[0]}/{held_to}/per-move") in found.figures:
        target = f"{found.games[0]}, `views: changes`: ≤ {MAX_WITH_CHANGES:,} user instructions per move"
        yield one(target, name, ",.0f", most=MAX_WITH_CHANGES)
    for kind, title in PEERS.items():
        if (name := f"same-work/{kind}/{RACERS}/ours") in found.figures:
            yield one(f"the same work: ≥ 1 × the rate of {title}", name, ".2f", 1)
    yield from _routed(found)
    yield one("≤ 18 KiB for an idle connection", f"memory/idle/{most}/kib", ".1f", most=18)
    for game in found.games:
        yield one(f"{game}: ≤ 48 KiB for a live race", f"memory/race/{game}/{found.some_live}/kib", ".1f", most=48)
    yield one(f"{most:,} connections held while {size:,} race", "memory/idle/still-held", ",.0f", most)
    name = f"fanout/{size}"
    yield one(f"{size:,} spectators: ≥ 80,000 messages per second", f"{name}/rate", ",.0f", 80_000)
    target = f"{size:,} spectators, 20 updates per second: p99 ≤ 15 ms"
    yield one(target, f"{name}/steady/p99-ms", ".1f", most=15)
    for game in found.games:
        name = f"store/{game}/bytes"
        yield one(f"{game}: ≤ 12 bytes per move in the store", f"{name}-per-move", ".1f", most=12)
        yield one(f"{game}: ≤ 1 KiB in the store for a race without moves", f"{name}-besides", ",.0f", most=1024)
    for game in (game for game in found.games if game in GRID_GAMES):
        target = f"{game}: ≥ 20,000 entries verified per second"
        yield one(target, f"verify/{game}/{found.plies[1]}/entries-per-s", ",.0f", 20_000)
    yield _steady(found)
    yield _load(found)


def _server_us(found: Found, game: str) -> tuple[str, str, str]:
    """Check the least CPU time per move of all rounds, since other load only ever adds to it."""
    target, name = f"{game}: ≤ {MAX_SERVER_US} µs of the server per move", f"moves/{game}/{found.held_to}/server-us"
    if name not in found.figures:
        return target, "–", "not measured"
    return target, found.cell(name, ".1f"), verdict(found[name].least <= MAX_SERVER_US)


def _routed(found: Found) -> Iterator[tuple[str, str, str]]:
    """Check that a move costs hardly more on two workers than on one, if each race is on one of them."""
    target = f"two workers, each race on one: ≤ {MAX_ROUTED} × the server's CPU time per move on one"
    one, two = (found.figures.get(f"processes/{way}/server-us") for way in ("one", "two-workers-routed"))
    if one and two:
        ratio = two.median / one.median
        yield target, f"{ratio:.2f}", verdict(ratio <= MAX_ROUTED)


def _steady(found: Found) -> tuple[str, str, str]:
    """Check that nothing costs much more per item at a hundred times as many items."""
    target = f"cost per item with a hundred times as many items: ≤ {GROWS:.1f} times"
    ratios = {}
    for kind in _growing(found):
        first, last = (found.figures.get(kind.name.format(count)) for count in (kind.counts[0], kind.counts[-1]))
        if first and last and min(first.median, last.median) > 0:
            ratios[kind.what] = first.median / last.median if kind.better == "more" else last.median / first.median
    if not ratios:
        return target, "–", "not measured"
    worst = max(ratios, key=lambda what: ratios[what])
    return target, f"{ratios[worst]:.2f} times: {worst}", verdict(ratios[worst] <= GROWS)


def _load(found: Found) -> tuple[str, str, str]:
    """Check that the load generator was never the bottleneck. Unpinned runs and peers are not checked."""
    shares = {
        name.removesuffix("/load-cpu"): figure.median
        for name, figure in found.figures.items()
        if name.endswith("/load-cpu") and not name.startswith(("processes/", "peers/"))
    }
    target = f"CPU share of the load generator ≤ {BUSIEST_LOAD:.0%}"
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
            "open races, 10 of them active: server per move", found.sizes, "growth/races/{}/server-us", ".1f", "µs"
        ),
        Growing("open races, 10 of them active: store per move", found.sizes, "growth/races/{}/store-us", ".1f", "µs"),
        Growing("earlier moves of each racer: server per move", found.plies, "growth/plies/{}/server-us", ".1f", "µs"),
        Growing("racers in each race: server per move", found.per_race, "growth/racers/{}/server-us", ".1f", "µs"),
        Growing("idle connections: memory", found.idle, "memory/idle/{}/kib", ".1f", "KiB"),
        Growing("live races: memory", found.live, f"memory/race/{game}/{{}}/kib", ".1f", "KiB"),
        Growing("spectators: server per message", found.sizes, "fanout/{}/server-us", ".1f", "µs"),
        Growing(
            "races restored after a restart: server per race", found.sizes, "restore/all/{}/server-ms-each", ".2f", "ms"
        ),
        Growing(
            *("moves of each of 5 racers: verification", found.plies, f"verify/{game}/{{}}/entries-per-s"),
            *(",.0f", "entries per second", "more"),
        ),
    )


def _growth(found: Found) -> Iterator[tuple[str, str, str]]:
    for kind in _growing(found):
        for count in kind.counts:
            yield kind.what, f"{count:,}", f"{found.cell(kind.name.format(count), kind.form)} {kind.unit}"
    for count in found.sizes:
        took = f"{found.cell(f'restore/all/{count}/s', '.2f')} s"
        yield "races: time until all racers are back after a restart", f"{count:,}", took
    for count in found.sizes:
        steady = f"fanout/{count}/steady"
        told = found.cell(f"{steady}/until-the-last-p50-ms", ".1f")
        yield "spectators, 20 updates per second: time until the last has one", f"{count:,}", f"{told} ms"
        yield (
            "spectators, 20 updates per second: share of the server's core",
            f"{count:,}",
            found.cell(f"{steady}/server-cpu", ".2f"),
        )


def _plot(found: Found) -> str:
    count = found.held_to
    names = [("Starlette echo", f"echo/{count}/rate")]
    names += [(game, f"moves/{game}/{count}/rate") for game in found.games]
    names += [("boardgame.io, in memory", f"peers/boardgame/{count}/rate")]
    names += [("Colyseus, in memory", f"peers/colyseus/{count}/rate")]
    rows = [(title, found[name]) for title, name in names if name in found.figures]
    return bars(f"Moves per second with {count} racers; those of Same Deal are validated and written to disk", rows)
