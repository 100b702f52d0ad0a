"""The bench: every part runs, what it writes has what the report reads, and one part that fails loses no other."""

import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bench import report, scaling
from bench.__main__ import EVERY_ROUND, ONCE
from bench.figures import Figure, Figures, summary
from bench.peers import FOLDER
from bench.plan import TINY, Plan
from bench.report import Found

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
OURS = [name for name in (*EVERY_ROUND, *ONCE) if name != "peers" or (FOLDER / "node_modules").exists()]
"""The parts that need nothing to be fetched first."""
SHARES = OURS[::2], OURS[1::2]
"""Measured at the same time: what comes out is worth nothing, and the machine has two cores."""


def bench(*arguments: str, files: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs it as a program, with so many open files at most."""

    def bounded() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-m", "bench", "--tiny", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=550, preexec_fn=bounded
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a tiny run of every part found."""
    files = [tmp_path_factory.mktemp("bench") / "found.json" for _ in SHARES]
    with ThreadPoolExecutor() as both:
        done = list(both.map(lambda share, file: bench(*share, "--to", str(file)), SHARES, files))
    for run in done:
        assert run.returncode == 0, run.stderr
    first, second = (json.loads(file.read_text()) for file in files)
    first["figures"] = second["figures"] | first["figures"]  # the echo is that of the moves
    files[0].write_text(json.dumps(first))
    return files[0]


# The real thing, in small.


def test_every_part_finds_what_the_report_reads(tiny: Path) -> None:
    found = Found(tiny)
    rows = [row for row in report.page(found) if row.startswith("|")]
    assert len(rows) > 40
    if "peers" not in OURS:
        rows = [row for row in rows if not row.startswith(("| boardgame.io |", "| Colyseus |"))]
    assert [row for row in rows if "–" in row or "not measured" in row] == []
    assert all(value > 0 for name, figure in found.figures.items() if name.endswith("/rate") for value in figure)


def test_a_ratio_is_that_of_the_moves_to_the_echo_of_the_run(tiny: Path) -> None:
    found = Found(tiny)
    share = found["moves/corners/2/of-echo"].median
    assert share == pytest.approx(found["moves/corners/2/rate"].median / found["echo/2/rate"].median, rel=1e-3)


def test_who_is_held_is_counted_and_so_is_every_delivery(tiny: Path) -> None:
    found = Found(tiny)
    assert found["memory/idle/still-held"].median == TINY.idle[-1]
    assert found["fanout/2/rate"].median >= found["fanout/2/updates"].median


def test_the_size_of_a_run_follows_from_what_was_measured(tiny: Path) -> None:
    page = "\n".join(scaling.page(Found(tiny)))
    assert "A million who race at once" in page
    assert "nan" not in page


def test_what_cannot_be_measured_is_told_and_all_else_is_measured(tmp_path: Path) -> None:
    file, files = tmp_path / "found.json", 300
    run = bench("memory", "--to", str(file), files=files)
    assert run.returncode == 1
    assert f"Missing: memory/idle: a process may have {files} files open here" in run.stderr
    found = Found(file)
    assert list(found.run["missing"]) == ["memory/idle"]
    assert "memory/race/corners/2/kib" in found.figures
    assert "Missing in a round: memory/idle, because a process may have 300" in "\n".join(report.page(found))


def test_without_node_the_peers_are_left_out_with_a_word(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    run = bench("peers", "--to", str(file), PATH=str(tmp_path))
    assert run.returncode == 0, run.stderr
    assert "Left out: boardgame.io and Colyseus, because there is no Node with npm here." in run.stdout
    assert Found(file).run["left_out"] == "there is no Node with npm here"


# What is made of figures, with some that are made up.


def found_of(tmp_path: Path, figures: dict[str, Any], **missing: str) -> Found:
    """A run of the usual size that found figures, each with a value or one for every round."""
    noted, file = Figures(missing=missing), tmp_path / "latest.json"
    for name, values in figures.items():
        for noted.round, value in enumerate(values if isinstance(values, list) else [values], 1):
            noted.note(name, value)
    report.save(noted, Plan(), file, took_s=600, left_out="")
    return Found(file)


def test_of_every_figure_there_are_the_median_and_its_bounds(tmp_path: Path) -> None:
    found = found_of(tmp_path, {"echo/50/rate": [50_000, 40_000, 60_000], "echo/50/p99-ms": 1.234567})
    assert found["echo/50/rate"] == Figure(50_000, 40_000, 60_000)
    assert found.cell("echo/50/rate") == "50,000 (40,000 to 60,000)"
    assert found.cell("echo/50/p99-ms", ".2f") == "1.23"
    assert found.cell("peers/boardgame/50/rate") == "–"


def test_a_round_in_which_something_failed_has_no_value_of_it() -> None:
    figures = Figures()
    figures.note("echo/50/rate", 50_000)
    figures.round = 2
    assert figures.now("echo/50/rate") is None
    figures.note("moves/corners/50/rate", 20_000)
    figures.round = 3
    figures.note("echo/50/rate", 60_000)
    assert figures.by_name() == {"echo/50/rate": [50_000, 60_000], "moves/corners/50/rate": [20_000]}
    assert summary(figures.by_name())["echo/50/rate"].median == 55_000


@pytest.mark.parametrize(
    ("name", "target", "met", "missed"),
    [
        ("moves/corners/50/of-echo", "corners: ≥ 0.35 of the echo", 0.35, 0.34),
        ("moves/gallery/50/of-echo", "gallery: ≥ 0.25 of the echo", 0.25, 0.24),
        ("moves/gallery/50/half/p99-ms", "gallery: p99 at half load ≤ 5 ms", 5.0, 5.1),
        ("memory/idle/10000/kib", "≤ 32 KiB for an idle connection", 32.0, 32.5),
        ("memory/race/corners/20/kib", "corners: ≤ 64 KiB for a live race", 64.0, 65.0),
        ("memory/idle/still-held", "10,000 connections held while 1,000 race", 10_000, 9_999),
        ("fanout/1000/rate", "1,000 onlookers: ≥ 80,000 deliveries a second", 80_000, 79_000),
        ("fanout/1000/steady/p99-ms", "1,000 onlookers, 20 updates a second: p99 ≤ 25 ms", 25.0, 25.1),
        ("store/corners/bytes-per-move", "corners: ≤ 12 bytes a move in the store", 12.0, 12.1),
        ("store/corners/bytes-besides", "corners: and ≤ 1 KB besides", 1024, 1025),
        ("verify/the-edge/200/entries-per-s", "the-edge: ≥ 20,000 entries verified a second", 20_000, 19_000),
    ],
)
def test_a_target_is_met_or_missed_by_its_median(
    tmp_path: Path, name: str, target: str, met: float, missed: float
) -> None:
    def told(figures: dict[str, Any]) -> str:
        (row,) = (row for row in report.page(found_of(tmp_path, figures)) if row.startswith(f"| {target} |"))
        return row.split("|")[-2].strip()

    assert told({name: met}) == "met"
    assert told({name: [0, missed, 1e9]}) == "**missed**"
    assert told({}) == "not measured"


def test_twice_a_peer_is_twice_the_peer_of_the_run(tmp_path: Path) -> None:
    figures = {"peers/boardgame/50/rate": 6_000, "moves/corners/50/rate": 12_000, "moves/gallery/50/rate": 11_999}
    rows = [row for row in report.page(found_of(tmp_path, figures)) if "boardgame.io's 6,000" in row]
    assert [row.split("|")[-2].strip() for row in rows if "| – |" not in row] == ["met", "**missed**"]


def test_what_grows_faster_than_its_work_is_named(tmp_path: Path) -> None:
    def told(figures: dict[str, Any]) -> str:
        (row,) = (row for row in report.page(found_of(tmp_path, figures)) if row.startswith("| nothing costs more"))
        return row

    flat = {f"growth/races/{count}/server-us": 60.0 for count in (10, 100, 1000)}
    assert told(flat).endswith("| met |")
    slower = {"verify/corner-stones/20/entries-per-s": 30_000, "verify/corner-stones/2000/entries-per-s": 15_000}
    assert "at most 2.00 times: moves of each of 5: verification | **missed** |" in told(flat | slower)
    quicker = {"fanout/10/server-us": 30.0, "fanout/1000/server-us": 10.0}
    assert "at most 1.00 times" in told(flat | quicker)


def test_a_load_that_is_the_limit_is_named(tmp_path: Path) -> None:
    figures = {"moves/corners/50/load-cpu": 0.5, "echo/50/load-cpu": 0.95, "processes/one/load-cpu": 0.99}
    (row,) = (row for row in report.page(found_of(tmp_path, figures)) if row.startswith("| the load is never"))
    assert "| 95%: echo/50 | **missed** |" in row


def test_the_pages_take_what_was_found_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.put_between(page, "new")
    assert page.read_text() == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n"
    page.write_text("nothing to be found")
    with pytest.raises(ValueError, match="has no place between"):
        report.put_between(page, "new")
    for page in (report.PAGE, scaling.PAGE):
        text = page.read_text()
        assert text.index(report.BEGIN) < text.index(report.END)


def test_nothing_follows_from_what_was_not_measured(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="moves/"):
        list(scaling.page(found_of(tmp_path, {})))


def test_the_simulated_wait_grows_with_the_load() -> None:
    costs = scaling.Costs(server_us=50, store_us=5, commit_us=300, bytes_in=40, bytes_out=600)
    waits = [scaling.simulated(costs, share * 20_000)[1] for share in (0.3, 0.6, 0.9)]
    assert waits == sorted(waits)
    assert waits == [scaling.simulated(costs, share * 20_000)[1] for share in (0.3, 0.6, 0.9)]
    assert waits[0] >= (costs.server_us + costs.commit_us) / 1000
