"""FreeCell as other programs know it: pysol-cards deals Microsoft's deals, and Freecell Solver wins them.

Tier 2 checks what they printed. Tier 3 runs them: ``pip install pysol-cards``, and Debian's ``freecell-solver-bin``.
"""

import gzip
import re
import shutil
import subprocess
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest

from samedeal.games.freecell import CELLS, COLUMNS, FreeCell
from samedeal.solver.solve import SOLVERS, solve

NUMBERS = range(1, 1_000_001, 1_001)
"""A thousand numbers of deals, with the first and the last one."""
DEALS = "042b60536476af0a"
"""The start of the SHA-256 of these deals, as pysol-cards 0.24.0 prints them."""
SOLUTIONS = Path(__file__).parents[1] / "saved/fc-solve.txt.gz"
"""What ``fc-solve -m -snx`` 5.0.0 printed for deals 1 to 300: a line for each, without spaces."""
IMPOSSIBLE = 11_982


def board(number: int) -> str:
    """Return a deal in the notation of both programs: a line for each column."""
    table = FreeCell.from_seed(f"ms:{number}").table
    return "".join(" ".join(table[column]) + "\n" for column in COLUMNS)


def end_of(number: int, solution: str) -> FreeCell:
    """Return the position after a solution by Freecell Solver. Raises IllegalMove if it breaks a rule.

    It chooses among free cells. It also moves whole columns to empty ones, which then change names.
    """
    at, places = FreeCell.from_seed(f"ms:{number}"), {column[1]: column for column in COLUMNS}
    for name, target, number_of_cards in re.findall(r"([1-8a-d])([1-8a-dh])(?:v([\da-f]))?", solution):
        source, count = places[name], int(number_of_cards or "1", 16)
        if target in "abcd":
            places[target] = at.table.empty(CELLS)[0]
        is_empty = target != "h" and not at.table[places[target]]
        if is_empty and target not in "abcd" and source in COLUMNS and count == len(at.table[source]):
            places[name], places[target] = places[target], source
        elif target == "h":
            at = at.after(source + at.following[at.table[source][-1]])
        else:
            at = at.after(source + places[target] + (f":{count}" if is_empty and count > 1 else ""))
    return at


def solution_of(number: int) -> str:
    """Return what Freecell Solver prints for a deal: its moves without spaces; nothing if it finds none."""
    command = ("fc-solve", "-m", "-snx")
    printed = subprocess.run(command, input=board(number), capture_output=True, text=True, check=False).stdout
    return "".join(re.findall(r"^((?:[1-8a-d][1-8a-dh](?:v[\da-f])? )+)$", printed, re.MULTILINE)).replace(" ", "")


@pytest.mark.tier(2)
def test_deals_are_those_that_pysol_cards_printed() -> None:
    assert sha256("".join(map(board, NUMBERS)).encode()).hexdigest().startswith(DEALS)


@pytest.mark.tier(2)
def test_saved_solutions_are_legal_and_win() -> None:
    solutions = gzip.decompress(SOLUTIONS.read_bytes()).decode().split()
    assert len(solutions) == 300
    assert all(end_of(number, solution).won for number, solution in enumerate(solutions, start=1))


@pytest.mark.tier(3)
def test_pysol_cards_deals_the_same() -> None:
    pytest.importorskip("pysol_cards", reason="needs pysol-cards")
    dealing, cards, random = (import_module(f"pysol_cards.{name}") for name in ("deal_game", "cards", "random"))
    for number in NUMBERS:
        deal = dealing.Game("freecell", number, random.RandomBase.DEALS_MS)
        assert deal.calc_layout_string(cards.CardRenderer(True)) == board(number), number


@pytest.mark.tier(3)
@pytest.mark.skipif(not shutil.which("fc-solve"), reason="needs fc-solve")
@pytest.mark.timeout(900)
def test_solutions_by_freecell_solver_are_legal_and_win() -> None:
    assert all(end_of(number, solution_of(number)).won for number in range(1, 301))
    assert not solution_of(IMPOSSIBLE)


@pytest.mark.tier(3)
@pytest.mark.timeout(900)
def test_ours_wins_nearly_all_of_these_deals() -> None:
    budget = SOLVERS["freecell"].budget
    outcomes = [solve(FreeCell.from_seed(f"ms:{number}"), budget).outcome for number in range(1, 301)]
    assert outcomes.count("won") >= 285
    assert solve(FreeCell.from_seed(f"ms:{IMPOSSIBLE}"), budget).outcome != "won"
