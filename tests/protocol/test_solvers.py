"""Solvers: every line wins under the rules, every proof of a loss holds, and budgets are kept."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from samedeal import codec
from samedeal.cards import TEN, rank_of
from samedeal.computer.bots import plays
from samedeal.computer.deal_filters import first
from samedeal.errors import Refused
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.games.corners import Corners
from samedeal.games.grid import CELLS
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.proof.verification import verify
from samedeal.race.events import Closed, Counting, Dealt, Joined, Moved, Readied
from samedeal.replays.replay import Replay
from samedeal.solver import (
    corner_stones_search as corner_stones,
)
from samedeal.solver import (
    corners_search as corners,
)
from samedeal.solver import (
    gallery_search as gallery,
)
from samedeal.solver.solution import Solution
from samedeal.solver.solve import SOLVERS, solve
from support import javascript_verifier
from support.finished_races import SECRET
from support.races_by_hand import opened

pytestmark = pytest.mark.tier(3)

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
    assert SOLVERS.keys() == GAMES.keys()


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
            assert (solution.outcome == "won") == bool(solution.line)
            assert budget > 1 or solution.outcome != "won"


# Independent searches.


def can_be_won(start: Game, limit: int) -> bool | None:
    """Try all moves, with cells of the same label as equal and without suits. Return None after ``limit`` positions."""
    seen, waiting = {_key(start)}, [start]
    while waiting:
        position = waiting.pop()
        if position.won:
            return True
        for move in position.moves():
            after = position.after(move)
            if (key := _key(after)) not in seen:
                seen.add(key)
                waiting.append(after)
        if len(seen) > limit:
            return None
    return False


def _key(position: Game) -> int:
    """Return the hash of what matters of a position on the grid."""
    tops = position.table.top
    held = sorted((_label(cell), rank_of(card)) for cell in CELLS if (card := tops(cell)))
    return hash((tuple(held), len(position.table["stock"]), tops("hand"), "draw" in position.moves()))


def _label(cell: str) -> str:
    return KingsInTheCorners.labels.get(cell, "")


on_the_grid = pytest.mark.parametrize("slug", ["the-edge", "kings-in-the-corners"])


def small_position(slug: str, seed: int) -> Game:
    """Return a position soon after a deal with all face cards and few others, which is lost about as often as won."""
    random = Random(seed)
    cards = random.sample(GAMES[slug].pack(), 52)
    faces = [card for card in cards if rank_of(card) > TEN]
    others = [card for card in cards if rank_of(card) <= TEN][: random.randrange(8, 16)]
    position: Game = GAMES[slug].dealt(tuple(random.sample(faces + others, len(faces) + len(others))))
    for _ in range(random.choice((0, 0, 1, 4, 16, 18, 20))):
        if (after := position.after(random.choice(position.moves()))).over:
            break
        position = after
    return position


@on_the_grid
@pytest.mark.parametrize("seed", range(40))
def test_wins_and_proofs_of_loss_agree_with_a_search_of_all_moves(slug: str, seed: int) -> None:
    position = small_position(slug, seed)
    expected = can_be_won(position, 10_000)
    if expected is not None:
        assert solve(position, 100_000).outcome == ("won" if expected else "lost")


@on_the_grid
def test_small_positions_are_both_won_and_lost(slug: str) -> None:
    """So the test above compares something."""
    positions = [small_position(slug, seed) for seed in range(40)]
    found = [can_be_won(position, 10_000) for position in positions]
    assert found.count(True) > 5
    assert found.count(False) > 10
    assert len({bool(position.table["hand"]) for position in positions}) == 2, "cards are placed and removed"


def test_a_beam_that_leaves_nothing_out_proves_a_loss() -> None:
    outcomes = list[str]()
    for seed in range(30):
        random, line = Random(seed), [GAMES["corner-stones"].from_seed(str(seed))]
        while not line[-1].over and len(line) < 150:
            line.append(line[-1].after(random.choice(line[-1].moves())))
        if line[-1].over:  # the play is stuck, and may have been two moves before
            outcomes.append(solve(line[-3], 500).outcome)
    assert set(outcomes) == {"lost", "open"}


def test_beams_that_have_left_something_out_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (corner_stones, gallery):
        monkeypatch.setattr(module, "WIDTHS", (1,))
    found = [solve(GAMES[slug].from_seed("3"), 1_000_000) for slug in ("corner-stones", "gallery")]
    found.append(corners.search(Corners.from_seed("3"), 1_000_000, (1,)))
    assert all(solution.outcome == "open" and solution.nodes < 1_000_000 for solution in found)


def test_a_complete_beam_that_ends_at_the_maximum_length_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corner_stones, "MAX_MOVES", 2)
    assert solve(GAMES["corner-stones"].from_seed("1"), 100_000).outcome == "open"


def test_a_proof_of_loss_in_gallery_needs_no_search() -> None:
    found = [solve(GAMES["gallery"].from_seed(str(number)), 1_000) for number in range(1, 30)]
    assert [number for number, solution in enumerate(found, start=1) if solution.outcome == "lost"] == [1, 11, 14, 17]
    assert {solution.nodes for solution in found if solution.outcome == "lost"} == {0}


@on_the_grid
def test_every_deal_on_the_grid_is_decided(slug: str) -> None:
    deals = [GAMES[slug].from_seed(str(number)) for number in range(40)]
    assert {solve(deal, SOLVERS[slug].budget).outcome for deal in deals} == {"won", "lost"}


# Lines of certified deals.


CERTIFIED = ("the-edge", "kings-in-the-corners", "corners")


def certified_seeds(game: type[Game], count: int) -> Iterator[str]:
    """Yield the seeds of the certified deals of as many roots."""
    for root in range(count):
        yield f"line-{root}.{first(game, f'line-{root}', {}, 'certified/1')}"


def line_of(game: type[Game], seed: str) -> tuple[Move, ...]:
    """Return the winning line that certifies a deal: the solver's, or else the first play of the bot that wins."""
    if line := solve(game.from_seed(seed), SOLVERS[game.slug].budget).line:
        return line
    return next(run.moves for run in plays(game, seed, range(20)) if run.won)


def replay_of(game: type[Game], seed: str, line: tuple[Move, ...]) -> Replay:
    """Return a race for one in which somebody plays a line."""
    log = opened(game.slug, seed=seed, max_racers=1)
    for event in (Joined(seat=1, player="player-1", name="solver"), Readied(seat=1), Counting()):
        log.say(event)
    log.say(Dealt(), log.race.options.start_delay_ms)
    for move in line:
        log.say(Moved(seat=1, move=move), 100)
    log.say(Closed(secret=SECRET.hex()))
    return log.replay()


def wins(replay: Replay, folder: Path) -> bool:
    """Return whether both verifiers accept a replay, and its racer wins."""
    code, output = javascript_verifier.run_on(codec.encode(replay, "json").decode(), folder)
    won = replay.standings[0].outcome == "won"
    return won and all(fact.holds for fact in verify(replay)) and (code, output.splitlines()[-1][:8]) == (0, "verified")


def test_lines_of_certified_deals_win_under_both_verifiers(tmp_path: Path) -> None:
    for slug in CERTIFIED:
        for seed in certified_seeds(GAMES[slug], 3):
            assert wins(replay_of(GAMES[slug], seed, line_of(GAMES[slug], seed)), tmp_path)


def test_a_line_that_does_not_win_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deal, line = first_won("corners", 20_000)
    seed = next(str(number) for number in range(100) if GAMES["corners"].from_seed(str(number)) == deal)
    assert wins(replay_of(GAMES["corners"], seed, line), tmp_path)
    with pytest.raises(Refused):
        replay_of(GAMES["corners"], seed, line[:-1])  # it cannot be closed before its end
    search = SOLVERS["corners"]._replace(search=lambda start, budget: Solution("won", 1, line[:-1]))
    monkeypatch.setitem(SOLVERS, "corners", search)
    with pytest.raises(AssertionError, match="the line does not win"):
        solve(deal, 1)
