"""The win rates in the documentation: they follow from the results, wins replay, and runs continue where they ended."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from research import winnability
from research.winnability import METHODS, Method, Results, replayed
from samedeal.games.catalogue import GAMES
from samedeal.games.grid import Grid
from samedeal.solver import grid_search as grid
from samedeal.solver.solution import Solution
from tools import markdown

pytestmark = pytest.mark.tier(2)

KINGS = "kings-in-the-corners"
with_lines = pytest.mark.parametrize("slug", [slug for slug, method in METHODS.items() if not method.is_exact])


# The committed results.


def test_page_has_the_tables_of_the_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = winnability.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(winnability, "PAGE", tmp_path / "page.md")
    winnability.PAGE.write_text(page, encoding="utf-8")
    winnability.write()
    assert winnability.PAGE.read_text(encoding="utf-8") == page
    assert all(f"| {game.title} |" in page for game in GAMES.values())


@pytest.mark.parametrize("slug", GAMES)
def test_results_are_those_of_the_first_deals(slug: str) -> None:
    rows = Results(slug).rows
    assert len(rows) >= (1_000 if slug == KINGS else 200)
    assert rows.keys() == set(range(1, len(rows) + 1)), "a choice of deals would bias the win rate"


@with_lines
def test_every_win_replays(slug: str) -> None:
    for row in Results(slug).rows.values():
        assert replayed(slug, row).won == (row.outcome == "won")


# Independent checks of the searches with beams, on positions near the end.


# Runs.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the results of a run that leaves the committed ones alone."""
    monkeypatch.setattr(winnability, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(winnability, "PAGE", tmp_path / "page.md")
    winnability.PAGE.write_text(f"before\n{winnability.BEGIN}\n{markdown.END}\nafter\n", encoding="utf-8")
    return winnability.FOLDER


def run(*arguments: str) -> list[str]:
    """Return the lines that a run prints while it searches."""
    result = CliRunner().invoke(winnability.main, arguments, catch_exceptions=False)
    return result.stderr.splitlines()


def test_interrupted_run_continues(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(KINGS, "--deals", "6")
    file = folder / f"{KINGS}.csv"
    whole = file.read_text(encoding="utf-8")
    file.unlink()

    def interrupted(start: Grid, budget: int) -> Solution:
        if start == GAMES[KINGS].from_seed("4"):
            raise KeyboardInterrupt
        return grid.search(start, budget)

    with monkeypatch.context() as patch:
        patch.setitem(METHODS, KINGS, METHODS[KINGS]._replace(search=interrupted))
        assert run(KINGS, "--deals", "6")[-1] == "Interrupted: the next run continues here."
    file.write_text(file.read_text(encoding="utf-8")[:-4], encoding="utf-8")  # the third row is incomplete
    assert [line.split(":")[0] for line in run(KINGS, "--deals", "6")] == [f"{KINGS} {deal}" for deal in (3, 4, 5, 6)]
    assert file.read_text(encoding="utf-8") == whole
    assert run(KINGS, "--deals", "6") == []


def test_each_pass_searches_open_deals_with_a_larger_budget(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = list[int]()

    def open_below_1000(start: Grid, budget: int) -> Solution:
        budgets.append(budget)
        return replace(grid.search(start, budget), nodes=7) if budget == 1_000 else Solution("open", budget)

    monkeypatch.setitem(METHODS, KINGS, Method("test", open_below_1000, (10, 100, 1_000), is_exact=True))
    run(KINGS, "--deals", "2")
    assert budgets == [10, 10, 100, 100, 1_000, 1_000]
    rows = Results(KINGS).rows
    assert [(row.budget, row.positions) for row in rows.values()] == [(1_000, 7)] * 2
    assert (folder / f"{KINGS}.csv").read_text(encoding="utf-8").count("\n") == 3, "a finished run leaves one row each"
