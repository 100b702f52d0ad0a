"""The bench: every part writes what the report reads, and a failing part does not affect the others."""

import json
import os
import re
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bench import report
from bench.__main__ import EVERY_ROUND, ONCE
from bench.capacity import capacity
from bench.counters import counted_by
from bench.figures import Figure, Figures
from bench.found import Found
from bench.page import misses
from bench.plan import TINY, Plan
from samedeal.games.catalogue import GAMES
from support.waiting import LIMIT_S
from tools import markdown

pytestmark = [pytest.mark.timeout(600), pytest.mark.tier(3)]

ROOT = Path(__file__).parents[2]
OURS = [name for name in (*EVERY_ROUND, *ONCE) if name != "instructions" or counted_by()]
"""The parts that need no programs that are missing here."""
SHARES = OURS[::2], OURS[1::2]
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
    first, second = (json.loads(file.read_text()) for file in files)
    first["figures"] = second["figures"] | first["figures"]  # the echo that was measured with the moves
    files[0].write_text(json.dumps(first))
    return files[0]


# Tiny runs.


def test_every_part_writes_what_the_report_reads(tiny: Path) -> None:
    results = Found(tiny)
    rows = [row for row in report.page(results) if row.startswith("|")]
    assert len(rows) > 40
    if "instructions" not in OURS:
        rows = [
            row for row in rows if "user instructions" not in row and not re.fullmatch(r"\| corners( \| –){2} \|", row)
        ]
    assert [row for row in rows if "–" in row or "not measured" in row] == []
    assert all(value > 0 for name, figure in results.figures.items() if name.endswith("/rate") for value in figure)


def test_ratio_compares_moves_with_the_echo_of_the_same_run(tiny: Path) -> None:
    results = Found(tiny)
    share = results["moves/corners/2/of-echo"].median
    assert share == pytest.approx(results["moves/corners/2/rate"].median / results["echo/2/rate"].median, rel=1e-3)


def test_idle_connections_and_deliveries_are_counted(tiny: Path) -> None:
    results = Found(tiny)
    assert results["memory/idle/still-held"].median == TINY.idle[-1]
    assert results["fanout/2/rate"].median >= results["fanout/2/updates"].median


def test_failed_measurement_is_reported_and_the_others_continue(tmp_path: Path) -> None:
    file, files = tmp_path / "found.json", 300
    run = bench("memory", "--to", str(file), files=files)
    assert run.returncode == 1
    assert f"Missing: memory/idle: the limit on open files is {files}" in run.stderr
    results = Found(file)
    assert list(results.run["missing"]) == ["memory/idle"]
    assert "memory/race/corners/2/kib" in results.figures
    assert "Missing in a round: memory/idle, because the limit on open files is 300" in "\n".join(report.page(results))


def test_soak_reports_latency_and_memory() -> None:
    options = ("--racers", "10", "--interval", "0.5", "--minutes", "0.01", "--p99", "0")
    command = [sys.executable, "-m", "bench.soak", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 1, done.stderr  # no interval has a p99 of 0 ms
    assert "10 racers in 2 races on 2 workers" in done.stdout
    assert len(re.findall(r"(?m)^ +[01](?: +[0-9.,]+){7}$", done.stdout)) == 2
    assert "bytes per move" in done.stdout


def test_pages_that_miss_a_target_are_listed() -> None:
    figures = Figures()
    for name, value in {"performance": 97, "seo": 98, "layout-shift": 0.02, "largest-paint-ms": 1001}.items():
        figures.note(f"page/front/{name}", value)
    assert [*misses(figures)] == [
        "page/front/performance is 97, expected at least 98",
        "page/front/largest-paint-ms is 1001, expected at most 1000",
    ]


# Reports of invented figures.


def found_of(tmp_path: Path, figures: dict[str, Any], **missing: str) -> Found:
    """Return the results of a run with these figures: one value each, or one per round."""
    recorded, file = Figures(missing=missing), tmp_path / "latest.json"
    for name, values in figures.items():
        for recorded.round, value in enumerate(values if isinstance(values, list) else [values], 1):
            recorded.note(name, value)
    report.save(recorded, Plan(), file, took_s=600, left_out={})
    return Found(file)


def test_figure_has_median_and_bounds(tmp_path: Path) -> None:
    results = found_of(tmp_path, {"echo/50/rate": [50_000, 40_000, 60_000], "echo/50/p99-ms": 1.234567})
    assert results["echo/50/rate"] == Figure(50_000, 40_000, 60_000)
    assert results.cell("echo/50/rate") == "50,000 (40,000 to 60,000)"
    assert results.cell("echo/50/p99-ms", ".2f") == "1.23"
    assert results.cell("echo/50/p50-ms") == "–"


@pytest.mark.parametrize(
    ("name", "target", "met", "missed"),
    [
        ("instructions/corners/50/per-move", "corners: ≤ 340,000 user instructions per move", 340_000, 340_100),
        ("memory/idle/10000/kib", "≤ 18 KiB for an idle connection", 18.0, 18.5),
        ("memory/idle/still-held", "10,000 connections held while 1,000 race", 10_000, 9_999),
        ("store/corners/bytes-per-move", "corners: ≤ 12 bytes per move in the store", 12.0, 12.1),
        ("verify/the-edge/200/entries-per-s", "the-edge: ≥ 20,000 entries verified per second", 20_000, 19_000),
    ],
)
def test_target_is_met_or_missed_by_the_median(
    tmp_path: Path, name: str, target: str, met: float, missed: float
) -> None:
    def verdict(figures: dict[str, Any]) -> str:
        return verdict_of(tmp_path, target, figures)

    assert verdict({name: met}) == "met"
    assert verdict({name: [0, missed, 1e9]}) == "**missed**"
    assert verdict({}) == "not measured"


def verdict_of(tmp_path: Path, target: str, figures: dict[str, Any]) -> str:
    """Return the result for a target of a run with these figures."""
    (row,) = (row for row in report.page(found_of(tmp_path, figures)) if row.startswith(f"| {target} |"))
    return row.split("|")[-2].strip()


def test_cpu_time_target_uses_the_least_disturbed_round(tmp_path: Path) -> None:
    target = "corners: ≤ 60 µs of the server per move"
    assert verdict_of(tmp_path, target, {"moves/corners/50/server-us": [70.0, 60.0, 80.0]}) == "met"
    assert verdict_of(tmp_path, target, {"moves/corners/50/server-us": [70.0, 60.1, 80.0]}) == "**missed**"
    assert verdict_of(tmp_path, target, {}) == "not measured"


@pytest.mark.parametrize(
    ("target", "met", "missed"),
    [
        (
            "two workers, each race on one: ≤ 1.1 × the server's CPU time per move on one",
            {"processes/one/server-us": 40.0, "processes/two-workers-routed/server-us": 44.0},
            {"processes/one/server-us": 40.0, "processes/two-workers-routed/server-us": 45.0},
        ),
        (
            "corner-stones with `views: changes`: ≤ 315,000 user instructions per move",
            {"instructions-with-changes/corner-stones/50/per-move": 315_000},
            {"instructions-with-changes/corner-stones/50/per-move": 315_100},
        ),
    ],
)
def test_target_of_a_part_is_listed_if_it_was_measured(
    tmp_path: Path, target: str, met: dict[str, Any], missed: dict[str, Any]
) -> None:
    assert verdict_of(tmp_path, target, met) == "met"
    assert verdict_of(tmp_path, target, missed) == "**missed**"
    assert not any(target in row for row in report.page(found_of(tmp_path, {})))


def test_results_of_earlier_versions_are_read(tmp_path: Path) -> None:
    found_of(tmp_path, {})
    file = tmp_path / "latest.json"
    run = json.loads(file.read_text()) | {"left_out": ""}
    file.write_text(json.dumps(run))
    assert Found(file).left_out == {}


def test_capacity_is_that_of_the_slowest_game(tmp_path: Path) -> None:
    figures: dict[str, Any] = {"memory/idle/10000/kib": 16.0}
    for at, game in enumerate(GAMES):
        figures |= {f"moves/{game}/50/{name}": 1000.0 + at for name in ("rate", "bytes-out")}
        figures |= {f"moves/{game}/50/server-us": 50.0 - at, f"moves/{game}/50/half/p99-ms": 2.0}
        figures[f"memory/race/{game}/20/kib"] = 40.0
    text = "\n".join(capacity(found_of(tmp_path, figures)))
    assert "**1,000 moves per second**" in text
    assert "| 10,000 | 2,000 | 5,000 | 25.0% | 234 MiB |" in text
    del figures["memory/idle/10000/kib"]
    assert [*capacity(found_of(tmp_path, figures))] == ["'memory/idle/10000/kib' was not measured."]


def test_report_names_costs_that_grow(tmp_path: Path) -> None:
    def growth(figures: dict[str, Any]) -> str:
        (row,) = (row for row in report.page(found_of(tmp_path, figures)) if row.startswith("| cost per item"))
        return row

    flat = {f"growth/races/{count}/server-us": 60.0 for count in (10, 100, 1000)}
    assert growth(flat).endswith("| met |")
    slower = {"verify/corner-stones/20/entries-per-s": 30_000, "verify/corner-stones/2000/entries-per-s": 15_000}
    assert "2.00 times: moves of each of 5 racers: verification | **missed** |" in growth(flat | slower)
    quicker = {"fanout/10/server-us": 30.0, "fanout/1000/server-us": 10.0}
    assert "| 1.00 times" in growth(flat | quicker)


def test_report_names_a_saturated_load(tmp_path: Path) -> None:
    figures = {"moves/corners/50/load-cpu": 0.5, "echo/50/load-cpu": 0.95, "processes/one/load-cpu": 0.99}
    (row,) = (row for row in report.page(found_of(tmp_path, figures)) if row.startswith("| CPU share of the load"))
    assert "| 95%: echo/50 | **missed** |" in row


def test_page_is_updated_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{markdown.END}\nafter\n")
    markdown.put_between(page, "new", report.BEGIN)
    assert page.read_text() == f"before\n{report.BEGIN}\n\nnew\n\n{markdown.END}\nafter\n"
    page.write_text("nothing to be found")
    with pytest.raises(ValueError, match="has no place between"):
        markdown.put_between(page, "new", report.BEGIN)
    text = report.PAGE.read_text()
    for begin in (report.BEGIN_CAPACITY, report.BEGIN):
        assert markdown.END in text.partition(begin)[2]
