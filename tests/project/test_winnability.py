"""The win rates in the documentation: they follow from the results, wins replay, and runs continue where they ended."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from bench import report, winnability
from bench.winnability import METHODS, Method, Results, Row, replayed, searched
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery
from samedeal.games.grid import Grid
from samedeal.solver import grid
from samedeal.solver.gallery_proof import is_lost
from samedeal.solver.solution import Solution
from samedeal.solver.solve import solve

pytestmark = pytest.mark.tier(2)

KINGS = "kings-in-the-corners"
with_lines = pytest.mark.parametrize("slug", [slug for slug, method in METHODS.items() if not method.is_exact])
exact = pytest.mark.parametrize("slug", [slug for slug, method in METHODS.items() if method.is_exact])


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


@exact
def test_decided_deals_are_decided_in_the_same_way_again(slug: str) -> None:
    rows = Results(slug).rows
    for deal in range(1, 31):
        assert searched(slug, deal, rows[deal].budget) == rows[deal]


def test_losses_in_gallery_are_proved_again() -> None:
    rows = list(Results("gallery").rows.values())[:40]
    lost = [row.deal for row in rows if row.outcome == "lost"]
    assert lost == [row.deal for row in rows if is_lost(Gallery.from_seed(str(row.deal)))]
    assert lost


# Independent checks of the searches with beams, on positions near the end.


def late_positions(slug: str, count: int) -> Iterator[Game]:
    """Yield positions near the end of the first winning lines, after a few random moves."""
    random = Random(slug)
    won = (row for row in Results(slug).rows.values() if row.outcome == "won")
    for row in islice(won, count):
        moves = random.randrange(4, 15)
        position = replayed(slug, row._replace(line=row.line[:-moves]))
        for _ in range(random.randrange(moves)):
            if (after := position.after(random.choice(position.moves()))).over:
                break
            position = after
        yield position


def can_be_won(start: Game, limit: int = 3_000) -> bool | None:
    """Try all moves. Return None after ``limit`` positions."""
    seen, waiting = {_key(start)}, [start]
    while waiting and len(seen) < limit:
        position = waiting.pop()
        if position.won:
            return True
        for after in map(position.after, position.moves()):
            if (key := _key(after)) not in seen:
                seen.add(key)
                waiting.append(after)
    return None if waiting else False


def _key(position: Game) -> tuple[object, ...]:
    return *position.table.piles.values(), *position.notes.values()


@with_lines
def test_searches_agree_with_a_search_of_all_moves(slug: str) -> None:
    compared = list[bool]()
    for position in late_positions(slug, 60):
        expected = can_be_won(position)
        found = solve(position, 20_000).outcome
        if expected is not None:
            compared.append(expected)
            assert found in ("open", "won" if expected else "lost")
    assert compared.count(True) > 3


def test_proof_of_loss_in_gallery_agrees_with_a_search_of_all_moves() -> None:
    positions = (position for position in late_positions("gallery", 60) if isinstance(position, Gallery))
    found = {(can_be_won(position), is_lost(position)) for position in positions}
    assert {(True, False), (False, True)} <= found
    assert (True, True) not in found


def test_no_position_on_a_winning_line_of_gallery_is_proved_lost() -> None:
    won = [row for row in Results("gallery").rows.values() if row.outcome == "won"]
    for row in won[:20]:
        positions = (replayed("gallery", row._replace(line=row.line[:moves])) for moves in range(0, len(row.line), 9))
        for position in positions:
            assert isinstance(position, Gallery)
            assert not is_lost(position)


# Runs.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the results of a run that leaves the committed ones alone."""
    monkeypatch.setattr(winnability, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(winnability, "PAGE", tmp_path / "page.md")
    winnability.PAGE.write_text(f"before\n{winnability.BEGIN}\n{report.END}\nafter\n", encoding="utf-8")
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


def test_run_stops_when_its_time_is_over(folder: Path) -> None:
    assert run(KINGS, "--deals", "6", "--seconds", "0") == []
    assert (folder / f"{KINGS}.csv").exists()


def test_line_that_does_not_win_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = solve(GAMES["corners"].from_seed("1"), 20_000).line
    lie = METHODS["corners"]._replace(search=lambda start, budget: Solution("won", 1, line[:-1]))
    monkeypatch.setitem(METHODS, "corners", lie)
    with pytest.raises(AssertionError, match="corners 1"):
        run("corners", "--deals", "2")


def test_merged_results_keep_what_says_most(folder: Path) -> None:
    results = Results(KINGS)
    results.tidy()
    ours, theirs = [Row(1, "open", 10, 10), Row(2, "won", 10, 5)], [Row(1, "open", 100, 100), Row(2, "open", 99, 99)]
    for row in (*ours, *theirs):
        results.append(row)
    with results.path.open("a", encoding="utf-8") as file:
        file.write(results.path.read_text(encoding="utf-8"))
    assert list(Results(KINGS).rows.values()) == [theirs[0], ours[1]]


def test_table_counts_wins_losses_and_open_deals(folder: Path) -> None:
    results = Results(KINGS)
    for deal, outcome in enumerate(["won"] * 6 + ["lost"] * 3 + ["open"], start=1):
        results.put(Row(deal, outcome, 100, deal))
    _, _, line, _ = winnability.table([results])
    # Wilson intervals of 95 %: 6 of 10 from 31.3 % on, 7 of 10 up to 89.2 %
    assert line == "| Kings in the Corners | 10 | 6 | 3 | 1 | 31.3–89.2 % | exact | 6 |"
