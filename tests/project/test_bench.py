"""The bench: every part writes what the report reads, and a failing part does not affect the others."""

import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench import report
from bench.__main__ import EVERY_ROUND, ONCE
from bench.instructions import valgrind_env
from bench.load import LoadError
from bench.run import Plan, Run

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


def test_failed_measurement_is_reported_and_the_others_continue(tmp_path: Path) -> None:
    file, files = tmp_path / "found.json", 300
    run = bench("memory", "--to", str(file), files=files)
    assert run.returncode == 1
    assert f"Missing: memory/idle: the limit on open files is {files}" in run.stderr
    results = Run.load(file)
    assert list(results.missing) == ["memory/idle"]
    assert "memory/race/corners/2/kib" in results.figures
    assert "Missing in a round: memory/idle, because the limit on open files is 300" in "\n".join(report.page(results))


# Reports.


def test_figures_are_saved_with_five_digits(tmp_path: Path) -> None:
    run = Run(Plan(), {"processor": "2 × Z80"}, missing={"part": "the reason"})
    for name, value in (("echo/50/rate", 50_000.4), ("echo/50/rate", 40_000), ("echo/50/p99-ms", 1.234567)):
        run.note(name, value)
    run.save(tmp_path / "run.json")
    assert Run.load(tmp_path / "run.json") == run
    assert run.figures == {"echo/50/rate": [50_000, 40_000], "echo/50/p99-ms": [1.2346]}


def test_page_has_the_tables_of_the_latest_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    report.PAGE.write_text(text, encoding="utf-8")
    report.write()
    assert report.PAGE.read_text(encoding="utf-8") == text
