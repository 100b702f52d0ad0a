"""Analysis: turning points by bisection, winning lines, and advice, in plays of all games."""

from collections.abc import Iterator
from random import Random
from typing import Literal

import pytest

from samedeal.analysis.advice import advise
from samedeal.analysis.analysis import Analysis, analysed
from samedeal.analysis.turning_point import Point, TurningPoint, last_line, turn_of
from samedeal.computer.bots import BOTS, play
from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.bot_replay import replay_of, replay_of_line
from samedeal.solver.solution import Solution
from samedeal.solver.solve import solve
from support.aces_up import AcesUp
from support.finished_races import SIGNING_KEY
from support.finished_races import finished as finished_race
from support.random_games import walk

pytestmark = pytest.mark.tier(2)

Outcome = Literal["won", "lost", "open"]
SEEDS = {
    "corner-stones": "t2",
    "the-edge": "t2",
    "corners": "t1",
    "kings-in-the-corners": "t2",
    "gallery": "t3",
    "golf": "2",
    "freecell": "14",
    "klondike": "31",
}
"""Deals that the solver wins quickly. The bot loses three of them."""
every_game = pytest.mark.parametrize("slug", GAMES)


def race_of_bot(slug: str, seed: str) -> Race:
    *_, race = replay_of(GAMES[slug], seed, 0, SIGNING_KEY).races()
    return race


# Turning points.


COMPARED = ("the-edge", "kings-in-the-corners", "corners")


def lost_plays(slug: str, count: int) -> Iterator[list[Point]]:
    """Yield the positions of plays of the bot that were not won."""
    number = 0
    while count:
        run = play(GAMES[slug], f"turn {number}", 0)
        number += 1
        if not run.won:
            count -= 1
            yield last_line(GAMES[slug].from_seed(f"turn {number - 1}", **BOTS[slug].variant), run.moves)


def disagreement(line: list[Point], budget: int) -> str:
    """Return how bisection and the search from every position differ, or an empty text."""
    known: dict[int, Solution] = {}

    def search(position: Game) -> Solution:
        (index,) = [index for index, point in enumerate(line) if point.position is position]
        if index not in known:
            known[index] = solve(position, budget)
        return known[index]

    turn = turn_of(line, search(line[0].position), search)
    searched = len(known)
    outcomes = [search(point.position).outcome for point in line]
    last = max((index for index, outcome in enumerate(outcomes) if outcome == "won"), default=-1)
    # A win that is found from a position can go through later ones, in which the same search finds none.
    agrees = turn.last >= last and "lost" not in outcomes[: turn.last + 1] and searched <= len(line)
    if turn.proven:
        agrees &= outcomes[turn.last + 1] == "lost"
    if turn.last > last:
        agrees &= turn.winning[: turn.last] == line[turn.last].moves
    won, lost = outcomes.count("won"), outcomes.count("lost")
    return "" if agrees else f"{turn} of {len(line)} positions, {won} won and {lost} lost, the last win at {last}"


@pytest.mark.parametrize("slug", COMPARED)
@pytest.mark.tier(3)
def test_bisection_agrees_with_a_search_from_every_position(slug: str) -> None:
    """With a small budget, so that many searches end without a win or a proof."""
    lines = list(lost_plays(slug, 20))
    assert [text for line in lines if (text := disagreement(line, 200))] == []


@pytest.mark.parametrize(
    ("outcomes", "last", "proven"),
    [
        ("wwwlll", 2, True),
        ("wwwwww", 5, False),
        ("llllll", -1, True),
        ("oooooo", -1, False),
        ("owwool", 2, False),
        ("ooooow", 5, False),
        ("woowll", 3, True),
        ("wl", 0, True),
        ("w", 0, False),
        ("l", -1, True),
    ],
)
def test_the_last_win_is_found_whatever_is_open(outcomes: str, last: int, proven: bool) -> None:
    deal = GAMES["corners"].from_seed("1")
    line = last_line(deal, play(GAMES["corners"], "1", 0).moves[: len(outcomes) - 1])
    words: dict[str, Outcome] = {"w": "won", "l": "lost", "o": "open"}

    def search(position: Game) -> Solution:
        (index,) = [index for index, point in enumerate(line) if point.position is position]
        return Solution(words[outcomes[index]], 1, ("x",) if outcomes[index] == "w" else ())

    turn = turn_of(line, search(deal), search)
    assert (turn.last, turn.proven) == (last, proven)
    assert turn.winning == ((*line[last].moves, "x") if last >= 0 else ())


def test_a_play_that_follows_the_line_is_not_searched_again() -> None:
    deal = GAMES["kings-in-the-corners"].from_seed("t2")
    solution = solve(deal, 100_000)
    searched = []

    def search(position: Game) -> Solution:
        searched.append(position)
        return Solution("lost", 1)

    turn = turn_of(last_line(deal, solution.line[:20]), solution, search)
    assert (turn.last, turn.winning, searched) == (20, solution.line, [])


def test_undo_and_restart_begin_another_line() -> None:
    deal = GAMES["corner-stones"].from_seed("1")
    first, second = deal.moves()[:2]
    line = last_line(deal, [first, UNDO, second])
    assert [(point.step, point.moves) for point in line] == [(2, ()), (3, (second,))]
    assert line[1].position == deal.after(second)
    line = last_line(deal, [first, RESTART, second])
    assert [(point.step, point.moves) for point in line] == [(2, ()), (3, (second,))]


@pytest.mark.parametrize(
    ("step", "is_end", "proven", "text"),
    [
        (27, False, True, "could have solved it up to move 27"),
        (27, False, False, "could have solved it at least up to move 27"),
        (0, False, True, "could have solved it before the first move"),
        (12, True, False, "could still have solved it at the end"),
        (None, False, True, "had no way to solve it"),
        (None, False, False, "had no known solution"),
    ],
)
def test_turning_points_in_words(step: int | None, is_end: bool, proven: bool, text: str) -> None:
    turning_point = TurningPoint(seat=1, step=step, is_end=is_end, proven=proven)
    assert turning_point.described() == text
    assert turning_point.brief() == ("" if step is None else text.partition(";")[0])


# Races.


@every_game
def test_races_of_all_games_are_analysed(slug: str) -> None:
    seed = SEEDS[slug]
    race = race_of_bot(slug, seed)
    analysis = analysed(race)
    assert (analysis.game, analysis.deal, analysis.outcome) == (slug, f"{slug}:{seed}", "won")
    assert len(analysis.racers) == (race.standings()[0].outcome != "won")
    assert all(turning_point.step is not None for turning_point in analysis.racers)
    replay = replay_of_line(GAMES[slug], seed, analysis.line, SIGNING_KEY, analysis.variant)
    assert replay.standings[0].outcome == "won"
    assert all(fact.holds is not False for fact in verify(replay, []))
    assert replay == replay_of_line(GAMES[slug], seed, analysis.line, SIGNING_KEY, analysis.variant)


def test_a_racer_who_won_is_a_witness() -> None:
    race = race_of_bot("corner-stones", "t1")
    assert race.standings()[0].outcome == "won"
    analysis = analysed(race, Solution("open", 7))
    assert (analysis.outcome, analysis.positions, analysis.racers) == ("won", 7, ())
    position = race.game.from_seed("t1")
    for move in analysis.line:
        position = position.after(move)
    assert position.won


def test_texts_say_what_is_known() -> None:
    def text(outcome: Outcome, positions: int, *line: str) -> str:
        found = Analysis(game="corners", deal="corners:1", variant={}, outcome=outcome, positions=positions, line=line)
        return found.text

    assert text("won", 10, "draw", "w") == "This deal can be solved in 2 moves."
    assert text("lost", 1_234) == "This deal cannot be solved (1,234 positions)."
    assert text("lost", 0) == "This deal cannot be solved."
    assert text("won", 10, "draw") == "This deal can be solved in 1 move."
    assert text("open", 100_000) == "No solution found in 100,000 positions."


def test_what_cannot_be_analysed_is_refused() -> None:
    opened = next(replay_of(GAMES["corners"], "1", 0, SIGNING_KEY).races())
    with pytest.raises(ValueError, match="nothing to analyse"):
        analysed(opened)


def test_only_the_best_racers_are_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, race = finished_race("kings-in-the-corners").races()
    best, second, *_ = race.standings()
    for count in (1, 2):
        monkeypatch.setattr("samedeal.analysis.analysis.MAX_RACERS", count)
        analysis = analysed(race, Solution("lost", 1))
        assert analysis.racers == tuple(
            TurningPoint(seat=racer.seat, step=None, is_end=False, proven=True) for racer in (best, second)[:count]
        )


# Advice.


@every_game
def test_advice_is_legal_and_states_a_rule(slug: str) -> None:
    variant = BOTS[slug].variant
    deal = GAMES[slug].from_seed(SEEDS[slug], **variant)
    moves = play(GAMES[slug], SEEDS[slug], 0).moves
    for count in (0, len(moves) - 1, len(moves)):
        advice = advise(deal, moves[:count], variant)
        position = deal
        for move in moves[:count]:
            position = position.after(move)
        assert (advice.hint is None) == position.over
        if advice.hint:
            assert advice.hint.move in position.moves()
            assert advice.hint.rule == position.why(advice.hint.move)
            assert advice.hint.rule.endswith(".")


@every_game
def test_every_legal_move_has_a_rule(slug: str) -> None:
    for _, position in walk(GAMES[slug].from_seed("t2"), Random(1)):
        assert all(position.why(move) for move in position.moves())


def test_a_game_need_not_explain_its_moves() -> None:
    deal = AcesUp.from_seed("1")
    assert deal.why(deal.moves()[0]) == ""


def test_a_mistake_is_named() -> None:
    line = next(
        line for line in lost_plays("kings-in-the-corners", 20) if solve(line[0].position, 100_000).outcome == "won"
    )
    turn = turn_of(line, solve(line[0].position, 100_000), lambda position: solve(position, 100_000))
    assert turn.proven
    good, bad = (advise(line[0].position, line[index].moves, {}) for index in (turn.last, turn.last + 1))
    assert (good.outcome, good.was_mistake) == ("won", False)
    assert (bad.outcome, bad.was_mistake) == ("lost", True)
    assert bad.text == (
        "The game cannot be won from here. The last move was a mistake: you could still have won before it."
    )


WON, LOST, OPEN = Solution("won", 9, ("r2",)), Solution("lost", 9), Solution("open", 1_234)
NOT_FOUND = "No win was found from here (1,234 positions looked at)."


@pytest.mark.parametrize(
    ("before", "after", "was_mistake", "text"),
    [
        (WON, OPEN, None, f"{NOT_FOUND} A win was found before the last move, so that move may have been a mistake."),
        (OPEN, OPEN, None, f"{NOT_FOUND} No win was found before the last move, either."),
        (LOST, LOST, False, "The game cannot be won from here. It was already lost before the last move."),
    ],
)
def test_advice_claims_no_more_than_was_found(
    before: Solution, after: Solution, was_mistake: bool | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    deal = GAMES["corners"].from_seed("225")
    monkeypatch.setattr("samedeal.analysis.advice.solve", lambda at, budget: before if at is deal else after)
    advice = advise(deal, ["draw"], {})
    assert (advice.outcome, advice.was_mistake, advice.text) == (after.outcome, was_mistake, text)


def test_advice_refuses_illegal_moves() -> None:
    with pytest.raises(IllegalMove):
        advise(GAMES["corners"].from_seed("1"), ("redeal",), {})
