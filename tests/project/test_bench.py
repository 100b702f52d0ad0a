"""The bench: every part writes what the report reads, and a failing part does not affect the others."""

import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bench import report
from bench.__main__ import EVERY_ROUND, ONCE
from bench.instructions import valgrind_env
from bench.load import LoadError
from bench.run import TINY, Plan, Run
from samedeal.games.catalogue import GAMES
from tools import markdown

pytestmark = [pytest.mark.timeout(600), pytest.mark.tier(3)]

ROOT = Path(__file__).parents[2]


def has_valgrind() -> bool:
    try:
        return bool(valgrind_env())
    except LoadError:
        return False


PARTS = [name for name in (*EVERY_ROUND, *ONCE) if name != "instructions" or has_valgrind()]
"""The parts that need no programs that are missing here."""
SHARES = PARTS[::2], PARTS[1::2]
"""Measured concurrently, because the results do not matter."""


def bench(*arguments: str, files: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the bench as a program, optionally with a limit on open files."""

    def bounded() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-m", "bench", "--tiny", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=550, preexec_fn=bounded
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a tiny run of all parts."""
    files = [tmp_path_factory.mktemp("bench") / "found.json" for _ in SHARES]
    with ThreadPoolExecutor() as both:
        done = list(both.map(lambda share, file: bench(*share, "--to", str(file)), SHARES, files))
    for run in done:
        assert run.returncode == 0, run.stderr
    first, second = map(Run.load, files)
    first.figures |= second.figures
    first.save(files[0])
    return files[0]


# Tiny runs.


def test_every_part_writes_what_the_report_reads(tiny: Path) -> None:
    run = Run.load(tiny)
    lines = [*report.page(run)]
    if "instructions" not in PARTS:
        lines = [line for line in lines if "instructions" not in line]
    assert sum(line.startswith("|") for line in lines) > 25
    assert [line for line in lines if "–" in line or "not measured" in line] == []
    assert "was not measured" not in "\n".join(report.capacity(run))
    assert all(value > 0 for name, values in run.figures.items() if name.endswith(("/rate", "-ms")) for value in values)


def test_idle_connections_and_deliveries_are_counted(tiny: Path) -> None:
    run = Run.load(tiny)
    assert run.median("memory/idle/still-held") == TINY.idle[-1]
    assert run.median("fanout/2/rate") >= run.median("fanout/2/updates")


def test_failed_measurement_is_reported_and_the_others_continue(tmp_path: Path) -> None:
    file, files = tmp_path / "found.json", 300
    run = bench("memory", "--to", str(file), files=files)
    assert run.returncode == 1
    assert f"Missing: memory/idle: the limit on open files is {files}" in run.stderr
    results = Run.load(file)
    assert list(results.missing) == ["memory/idle"]
    assert "memory/race/corners/2/kib" in results.figures
    assert "Missing in a round: memory/idle, because the limit on open files is 300" in "\n".join(report.page(results))


# Reports of invented figures.


COLUMNS = ["corner-stones", "the-edge", "corners", "kings-in-the-corners", "gallery"]


def run_of(figures: dict[str, Any], **missing: str) -> Run:
    """Return a run with these figures: one value each, or one per round."""
    run = Run(Plan(), {"processor": "2 × Z80"}, missing=missing)
    for name, values in figures.items():
        for value in values if isinstance(values, list) else [values]:
            run.note(name, value)
    return run


def row_of(title: str, figures: dict[str, Any]) -> list[str]:
    """Return the cells of a row of the report of these figures, without its title."""
    (row,) = (row for row in report.page(run_of(figures)) if row.startswith((f"| {title} |", f"| {title} (")))
    return [cell.strip() for cell in row.split("|")[2:-1]]


def line_of(start: str, figures: dict[str, Any]) -> str:
    """Return a line at the end of the report of these figures."""
    (line,) = (line for line in report.page(run_of(figures)) if line.startswith(f"- {start}"))
    return line


def test_figures_are_saved_with_five_digits(tmp_path: Path) -> None:
    run = run_of({"echo/50/rate": [50_000.4, 40_000, 60_000], "echo/50/p99-ms": 1.234567}, part="the reason")
    run.save(tmp_path / "run.json")
    assert Run.load(tmp_path / "run.json") == run
    assert run.figures == {"echo/50/rate": [50_000, 40_000, 60_000], "echo/50/p99-ms": [1.2346]}
    assert run.median("echo/50/rate") == 50_000


@pytest.mark.parametrize(
    ("name", "title", "met", "missed"),
    [
        ("instructions/corners/50/per-move", "user instructions per move", (340_000, "340,000"), (340_100, "340,100")),
        ("store/corners/bytes-per-move", "bytes in the store per move", (12.0, "12.0"), (12.1, "12.1")),
        ("verify/the-edge/200/entries-per-s", "entries verified per second", (20_000, "20,000"), (19_000, "19,000")),
    ],
)
def test_target_is_met_or_missed_by_the_median(
    name: str, title: str, met: tuple[float, str], missed: tuple[float, str]
) -> None:
    column = COLUMNS.index(name.split("/")[1])
    assert row_of(title, {name: met[0]})[column] == met[1]
    assert row_of(title, {name: [0, missed[0], 1e9]})[column] == f"**{missed[1]}**"
    assert row_of(title, {})[column] == "–"


@pytest.mark.parametrize(
    ("title", "name", "met", "missed"),
    [
        ("idle connections: KiB each", "memory/idle/10000/kib", (18.0, "18.0"), (18.5, "18.5")),
        (
            "idle connections left after others raced",
            *("memory/idle/still-held", (10_000, "10,000"), (9_999, "9,999")),
        ),
        (
            "racers, corner-stones with changes: instructions per move",
            *("instructions-with-changes/corner-stones/50/per-move", (315_000, "315,000"), (315_100, "315,100")),
        ),
    ],
)
def test_target_by_number_is_that_of_the_largest(
    title: str, name: str, met: tuple[float, str], missed: tuple[float, str]
) -> None:
    assert row_of(title, {name: met[0]})[0].endswith(f": {met[1]}")
    assert row_of(title, {name: missed[0]})[0].endswith(f": **{missed[1]}**")
    assert row_of(title, {})[0].endswith(": –")
    assert "100: 99.0; " in row_of("idle connections: KiB each", {"memory/idle/100/kib": 99.0})[0]


def test_cpu_time_target_uses_the_least_disturbed_round() -> None:
    name, column = "moves/corners/50/server-us", COLUMNS.index("corners")
    assert row_of("server µs per move", {name: [70.0, 60.0, 80.0]})[column] == "70.0"
    assert row_of("server µs per move", {name: [70.0, 60.1, 80.0]})[column] == "**70.0**"


def test_cost_of_routed_moves_is_compared_with_one_worker() -> None:
    start, one = "Server µs on two workers", {"processes/one/server-us": 40.0}
    assert ": 1.10 at most (each race on one;" in line_of(start, one | {"processes/two-workers-routed/server-us": 44.0})
    assert ": **1.12** at most " in line_of(start, one | {"processes/two-workers-routed/server-us": 45.0})
    assert line_of(start, {}).endswith(": not measured")


def test_capacity_is_that_of_the_slowest_game() -> None:
    figures: dict[str, Any] = {"memory/idle/10000/kib": 16.0}
    for at, game in enumerate(GAMES):
        figures |= {f"moves/{game}/50/{name}": 1000.0 + at for name in ("rate", "bytes-out")}
        figures |= {f"moves/{game}/50/server-us": 50.0 - at, f"moves/{game}/50/half/p99-ms": 2.0}
        figures[f"memory/race/{game}/20/kib"] = 40.0
    text = "\n".join(report.capacity(run_of(figures)))
    assert "**1,000 moves per second**" in text
    assert "| 10,000 | 5,000 | 25.0% | 234 MiB |" in text
    del figures["memory/idle/10000/kib"]
    assert [*report.capacity(run_of(figures))] == ["'memory/idle/10000/kib' was not measured."]


def test_report_names_the_cost_that_grows_most() -> None:
    start = "Growth of a cost per item"
    flat = {f"fanout/{count}/server-us": 10.0 for count in (10, 100, 1000)}
    assert ": 1.00 at most (spectators: server µs per message;" in line_of(start, flat)
    slower = {f"restore/all/{count}/server-ms-each": count**0.5 for count in (10, 100, 1000)}
    assert ": **10.00** at most (races after a restart: server ms each;" in line_of(start, flat | slower)
    quicker = {f"fanout/{count}/server-us": 100 / count for count in (10, 100, 1000)}
    assert ": 0.01 at most " in line_of(start, quicker)


def test_report_names_a_saturated_load() -> None:
    figures = {"moves/corners/50/load-cpu": 0.5, "echo/50/load-cpu": 0.95, "processes/one/load-cpu": 0.99}
    assert ": **0.95** at most (echo/50/load-cpu;" in line_of("CPU share", figures)


def test_page_has_the_tables_of_the_latest_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    report.PAGE.write_text(text, encoding="utf-8")
    report.write()
    assert report.PAGE.read_text(encoding="utf-8") == text


def test_page_is_updated_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{markdown.END}\nafter\n")
    markdown.put_between(page, "new", report.BEGIN)
    assert page.read_text() == f"before\n{report.BEGIN}\n\nnew\n\n{markdown.END}\nafter\n"
    page.write_text("nothing to be found")
    with pytest.raises(ValueError, match="has no place between"):
        markdown.put_between(page, "new", report.BEGIN)
