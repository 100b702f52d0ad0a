"""Solvers: every line wins under the rules, every proof of a loss holds, and budgets are kept."""

from pathlib import Path
from random import Random

import pytest

from samedeal.cards import TEN, rank_of
from samedeal.errors import Refused
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.solver.solve import BUDGETS, SOLVERS, solve
from support.all_moves import can_be_won
from support.winning_lines import CERTIFIED, certified_seeds, line_of, replay_of, wins

every_solver = pytest.mark.parametrize("slug", SOLVERS)


def first_won(slug: str, budget: int) -> tuple[Game, tuple[Move, ...]]:
    """Return the first deal that the solver wins, and its line."""
    for number in range(100):
        deal = GAMES[slug].from_seed(str(number))
        solution = solve(deal, budget)
        if solution.outcome == "won":
            return deal, solution.line
    raise AssertionError


def test_every_game_has_a_solver_and_a_budget() -> None:
    assert SOLVERS.keys() == BUDGETS.keys() == GAMES.keys()


@every_solver
def test_a_line_wins_from_the_deal_and_from_every_position_on_it(slug: str) -> None:
    budget = {"corner-stones": 100_000, "gallery": 200_000}.get(slug, 20_000)
    deal, line = first_won(slug, budget)
    assert solve(deal, budget).line == line, "the same search finds the same line"
    positions = [deal]
    for move in line:
        positions.append(positions[-1].after(move))
    assert positions[-1].won
    for position in positions[-8:]:
        assert solve(position, budget).outcome == "won"
    assert solve(positions[-1], budget).line == ()


@every_solver
def test_budgets_are_kept(slug: str) -> None:
    for number in range(3):
        deal = GAMES[slug].from_seed(str(number))
        for budget in (1, 10, 500):
            solution = solve(deal, budget)
            assert solution.nodes <= budget
            assert solution.outcome in ("open", "won")
            assert (solution.outcome == "won") == bool(solution.line)


# Independent searches.


def small_deal(seed: int) -> KingsInTheCorners:
    """Return a deal with all face cards and few others, which is lost about as often as won."""
    random = Random(seed)
    cards = random.sample(KingsInTheCorners.pack(), 52)
    faces = [card for card in cards if rank_of(card) > TEN]
    others = [card for card in cards if rank_of(card) <= TEN][: random.randrange(8, 13)]
    return KingsInTheCorners.dealt(tuple(random.sample(faces + others, len(faces) + len(others))))


@pytest.mark.parametrize("seed", range(40))
def test_proofs_of_loss_agree_with_a_search_of_all_moves(seed: int) -> None:
    deal = small_deal(seed)
    expected = can_be_won(deal, 20_000)
    if expected is not None:
        assert solve(deal, 100_000).outcome == ("won" if expected else "lost")


def test_small_deals_are_both_won_and_lost() -> None:
    """So the test above compares something."""
    found = [can_be_won(small_deal(seed), 20_000) for seed in range(40)]
    assert found.count(True) > 10
    assert found.count(False) > 10


def test_lines_of_certified_deals_win_under_both_verifiers(tmp_path: Path) -> None:
    for slug in CERTIFIED:
        for seed in certified_seeds(GAMES[slug], 3):
            assert wins(replay_of(GAMES[slug], seed, line_of(GAMES[slug], seed)), tmp_path)


def test_a_line_that_does_not_win_is_noticed(tmp_path: Path) -> None:
    deal, line = first_won("corners", 20_000)
    seed = next(str(number) for number in range(100) if GAMES["corners"].from_seed(str(number)) == deal)
    assert wins(replay_of(GAMES["corners"], seed, line), tmp_path)
    with pytest.raises(Refused):
        replay_of(GAMES["corners"], seed, line[:-1])  # it cannot be closed before its end
