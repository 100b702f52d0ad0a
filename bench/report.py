"""The report: saves results as a file, and renders them as tables for docs/operate/performance.md."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from bench import machine
from bench.figures import Figures
from bench.found import ROOT, Found, growing
from bench.plan import Plan
from bench.targets import targets
from tools.markdown import put_between, table

PAGE = ROOT / "docs/operate/performance.md"
BEGIN = "<!-- from bench/results/latest.json -->"
BEGIN_CAPACITY = "<!-- capacity from bench/results/latest.json -->"


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


def write() -> None:
    """Put the tables of the latest run into the docs. Raises OSError if there is no run."""
    put_between(PAGE, "\n".join(page(Found())), BEGIN)


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
    yield from table(("Target", "Measured", ""), targets(found))
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
    yield from table(("Game", "User instructions per move", "Moves per group commit"), _instructions(found))
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
        "two-workers-routed": "`--workers 2`, each race on one",
        "two-workers": "`--workers 2`, each race on both",
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


def _instructions(found: Found) -> Iterator[tuple[str, str, str]]:
    names = {game: f"instructions/{game}" for game in found.games}
    first, held_to = found.games[0], found.held_to
    if f"instructions-with-changes/{first}/{held_to}/per-move" in found.figures:
        names[f"{first} with `views: changes`"] = f"instructions-with-changes/{first}"
    for title, name in names.items():
        figure = f"{name}/{held_to}"
        yield title, found.cell(f"{figure}/per-move"), found.cell(f"{figure}/moves-per-commit", ".1f")


def _growth(found: Found) -> Iterator[tuple[str, str, str]]:
    for kind in growing(found):
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
