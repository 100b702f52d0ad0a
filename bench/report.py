"""The report: renders the results of a run as tables for docs/operate/performance.md, with the targets they meet."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.processes import WAYS
from bench.racing import RACERS
from bench.run import Plan, Run
from tools.markdown import put_between, table

ROOT = Path(__file__).parents[1]
LATEST, QUICK = ROOT / "bench/results/latest.json", ROOT / "bench/results/quick.json"
PAGE = ROOT / "docs/operate/performance.md"
BEGIN = "<!-- from bench/results/latest.json -->"
BEGIN_CAPACITY = "<!-- capacity from bench/results/latest.json -->"
GRID_GAMES, LARGE_GAMES = ("the-edge", "kings-in-the-corners"), ("corner-stones", "gallery")
MAX_GROWTH = 1.5
"""The allowed growth of the cost per item at a hundred times as many items, because of CPU caches."""
MAX_ROUTED = 1.1
"""How much more a move may cost on two workers, each race on one of them, than on one."""
MAX_LOAD = 0.9
"""The largest share of its core that the load generator may use: above it, it would limit the result."""
MOVE_EVERY_S = 2
"""How often a racer moves (s)."""
HOSTED = (10, 100, 1000, 10_000)
"""Numbers of racers."""


class Row(NamedTuple):
    """A row of a table: a figure for each column, and the target for it."""

    title: str
    name: str
    """The name of the figure, with ``{}`` for the column."""
    form: str = ",.0f"
    target: str = ""
    is_met: Callable[[object, float], bool] = lambda column, value: True
    """Whether a column with this value meets the target."""
    judged: Callable[[Sequence[float]], float] = median
    """Which of the rounds is held to the target."""
    is_flat: bool = False
    """Whether the figure should hardly grow with the number of items, which is the column."""

    @property
    def heading(self) -> str:
        """The title with the target."""
        return f"{self.title} ({self.target})" if self.target else self.title

    def cell(self, run: Run, column: object) -> str:
        """Return the median, in bold if the target is missed, or a dash if it was not measured."""
        values = run.figures.get(self.name.format(column))
        if not values:
            return "–"
        text = format(median(values), self.form)
        return text if self.is_met(column, self.judged(values)) else f"**{text}**"


def write() -> None:
    """Put the tables of the latest run into the docs. Raises OSError if there is no run."""
    run = Run.load(LATEST)
    put_between(PAGE, "\n".join(capacity(run)), BEGIN_CAPACITY)
    put_between(PAGE, "\n".join(page(run)), BEGIN)


def capacity(run: Run) -> Iterator[str]:
    """Yield what the results mean for somebody who hosts races, with the figures of the slowest game."""
    plan = run.plan

    def slowest(name: str, choose: Callable[[Iterator[float]], float] = max) -> float:
        return choose(run.median(name.format(game)) for game in plan.games)

    try:
        moves = f"moves/{{}}/{plan.held_to}"
        rate, server_us = slowest(f"{moves}/rate", min), slowest(f"{moves}/server-us")
        p99_ms, bytes_out = slowest(f"{moves}/half/p99-ms"), slowest(f"{moves}/bytes-out")
        race_kib = slowest(f"memory/race/{{}}/{plan.live[0]}/kib")
        connection_kib = run.median(f"memory/idle/{plan.idle[-1]}/kib")
    except KeyError as missing:
        yield f"{missing} was not measured."
        return
    yield f"On one core ({run.machine['processor'].partition(' × ')[2]}), a server process handles"
    yield f"**{rate:,.0f} moves per second**, each of them validated, written to disk and answered. At half that load,"
    yield f"99 % of the answers take less than {p99_ms:.1f} ms. A connection takes {connection_kib:.0f} KiB of memory,"
    yield f"and a race of {RACERS} racers {race_kib:.0f} KiB. These are the figures of the slowest of the games."
    yield ""
    yield f"If each racer moves every {MOVE_EVERY_S} s, this is what you need:"
    yield ""
    head = ("Racers", "Moves per second", "Share of one core", "Memory besides the process", "Mbit/s to clients")
    rows = []
    for racers in HOSTED:
        per_s = racers / MOVE_EVERY_S
        memory_mib = max(1, racers * (connection_kib + race_kib / RACERS) / 1024)
        share, mbit = max(0.001, per_s * server_us / 1e6), per_s * bytes_out * 8 / 1e6
        rows.append((f"{racers:,}", f"{per_s:,.0f}", f"{share:.1%}", f"{memory_mib:,.0f} MiB", f"{mbit:,.2f}"))
    yield from table(head, rows)


def page(run: Run) -> Iterator[str]:
    """Yield the generated tables of docs/operate/performance.md."""
    plan = run.plan
    about = ", ".join(f"{name} {value}" for name, value in run.machine.items())
    yield f"Measured on {run.at} in {run.took_s / 60:.0f} minutes: {about}."
    yield ""
    for name, why in run.missing.items():
        yield f"Missing in a round: {name}, because {why}."
        yield ""
    games = ((row.heading, *(row.cell(run, game) for game in plan.games)) for row in _by_game(plan))
    yield from table((f"{plan.held_to} racers", *plan.games), games)
    rows = []
    for row, columns in (by_count := [*_by_count(plan)]):
        titles = (f"{column:,}" if isinstance(column, int) else column for column in columns)
        cells = (f"{title}: {row.cell(run, column)}" for title, column in zip(titles, columns, strict=True))
        rows.append((row.heading, "; ".join(cells)))
    yield from table(("What", "By number"), rows)
    growth = {}
    for row, columns in by_count:
        ends = [run.figures.get(row.name.format(column), [0]) for column in (columns[0], columns[-1])]
        if row.is_flat and all(median(values) > 0 for values in ends):
            growth[row.title] = median(ends[1]) / median(ends[0])
    yield _worst("Growth of a cost per item", growth, MAX_GROWTH)
    one, two = (run.figures.get(f"processes/{way}/server-us") for way in ("one", "two-workers-routed"))
    routed = {"each race on one": median(two) / median(one)} if one and two else {}
    yield _worst("Server µs on two workers, relative to one", routed, MAX_ROUTED)
    shares = {name: median(values) for name, values in run.figures.items() if name.endswith("/load-cpu")}
    pinned = {name: share for name, share in shares.items() if not name.startswith("processes/")}
    yield _worst("CPU share of the load generator", pinned, MAX_LOAD)


def _worst(what: str, values: Mapping[str, float], most: float) -> str:
    """Return a list item with the greatest value and its target."""
    if not values:
        return f"- {what}: not measured"
    name = max(values, key=lambda name: values[name])
    text = f"{values[name]:.2f}" if values[name] <= most else f"**{values[name]:.2f}**"
    return f"- {what}: {text} at most ({name}; ≤ {most})"


def _most(limit: float, of: object = None) -> tuple[str, Callable[[object, float], bool]]:
    """Return a target of all columns or one, and whether a value meets it."""
    return f"≤ {limit:,}", lambda column, value: value <= limit or column != (of or column)


def _least(limit: float, of: object) -> tuple[str, Callable[[object, float], bool]]:
    return f"≥ {limit:,}", lambda column, value: value >= limit or column != of


def _by_game(plan: Plan) -> Sequence[Row]:
    """Return the rows of the first table. Its columns are the games."""
    count, others = plan.held_to, [racers for racers in plan.racers if racers != plan.held_to]
    moves = f"moves/{{}}/{count}"
    return (
        Row(
            "user instructions per move",
            f"instructions/{{}}/{count}/per-move",
            target="≤ 340,000, or 365,000 in gallery and corner-stones",
            is_met=lambda game, value: value <= (365_000 if game in LARGE_GAMES else 340_000),
        ),
        Row("moves per second", f"{moves}/rate"),
        # Of the CPU time, the least of all rounds counts, since other load only ever adds to it.
        Row("server µs per move", f"{moves}/server-us", ".1f", *_most(60), judged=min),
        Row("store µs per move", f"{moves}/store-us", ".1f"),
        *(Row(f"server µs per move, racers: {racers:,}", f"moves/{{}}/{racers}/server-us", ".1f") for racers in others),
        Row("p99 ms at half load", f"{moves}/half/p99-ms", ".2f", *_most(3)),
        Row("bytes to the client per move", f"{moves}/bytes-out"),
        Row("KiB of memory per live race", f"memory/race/{{}}/{plan.live[0]}/kib", ".1f", *_most(48)),
        Row("bytes in the store per move", "store/{}/bytes-per-move", ".1f", *_most(12)),
        Row("bytes in the store without moves", "store/{}/bytes-besides", ",.0f", *_most(1024)),
        Row(
            "entries verified per second",
            f"verify/{{}}/{plan.plies[1]}/entries-per-s",
            target="≥ 20,000 in the games on the grid",
            is_met=lambda game, value: game not in GRID_GAMES or value >= 20_000,
        ),
    )


def _by_count(plan: Plan) -> Iterator[tuple[Row, Sequence[object]]]:
    """Yield the rows of the second table, each with its columns: mostly how many of the items there are."""
    first, sizes, idle, held_to = plan.games[0], plan.sizes, plan.idle, (plan.held_to,)
    yield Row("connections to the echo: messages per second", "echo/{}/rate"), plan.racers
    name = f"moves-without-legal/{first}/{{}}/server-us"
    yield Row(f"racers, {first} without legal moves: server µs per move", name, ".1f"), held_to
    if len(plan.games) > 1:
        name = f"instructions-with-changes/{first}/{{}}/per-move"
        yield Row(f"racers, {first} with changes: instructions per move", name, ",.0f", *_most(315_000)), held_to
    yield Row("spectators: messages per second", "fanout/{}/rate", ",.0f", *_least(80_000, sizes[-1])), sizes
    yield Row("spectators: server µs per message", "fanout/{}/server-us", ".1f", is_flat=True), sizes
    steady = "spectators at 20 updates/s"
    yield Row(f"{steady}: p99 ms", "fanout/{}/steady/p99-ms", ".1f", *_most(15, sizes[-1])), sizes
    yield Row(f"{steady}: cores of the server", "fanout/{}/steady/server-cpu", ".2f"), sizes
    yield Row("races after a restart: server ms each", "restore/all/{}/server-ms-each", ".2f", is_flat=True), sizes
    yield Row("races after a restart: s until all are back", "restore/all/{}/s", ".2f"), sizes
    finished = (plan.finished,)
    yield Row("finished races before a restart: s until the server is ready", "restart/{}/s", ".2f"), finished
    yield Row("finished races before a restart: MiB of server and store", "restart/{}/mib"), finished
    (opened, challenge_results), (idle_clubs, _, results) = plan.challenges, plan.clubs
    yield Row("open challenges: server µs per move", "challenges/{}/server-us", ".1f"), ("none", opened)
    name = f"challenges/{challenge_results}/{{}}-ms"
    yield Row(f"challenge with {challenge_results:,} results: ms", name, ".1f"), ("updated", "cached")
    yield Row("idle clubs: server µs per move", "clubs/{}/server-us", ".1f"), ("none", idle_clubs)
    name = f"clubs/{results}/{{}}-ms"
    yield Row(f"scores of a club with {results:,} results: ms", name, ".1f"), ("first", "updated", "cached")
    yield Row("idle connections: KiB each", "memory/idle/{}/kib", ".1f", *_most(18, idle[-1]), is_flat=True), idle
    held = _least(idle[-1], idle[-1])
    yield Row("idle connections left after others raced", "memory/idle/still-held", ",.0f", *held), idle[-1:]
    yield Row(f"live races, {first}: KiB each", f"memory/race/{first}/{{}}/kib", ".1f", is_flat=True), plan.live
    yield Row("on two cores: moves per second", "processes/{}/rate"), tuple(WAYS)
    yield Row("on two cores: server µs per move", "processes/{}/server-us", ".1f"), tuple(WAYS)
