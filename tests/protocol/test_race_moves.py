"""Moves in the fold, with undo and restart."""

import random
from random import Random
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    Closed,
    Moved,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import MAX_SEAT_ENTRIES, MAX_SEATS
from samedeal.race.run import MAX_MOVES, RESTART, UNDO, Run, UndoHistory
from samedeal.replays import replay
from samedeal.values import replace
from support.finished_races import OPENED_AT, SECRET
from support.race_steps import every_game, few, luck, play, play_to_the_end, refused, seed_that_ends, standing
from support.races_by_hand import counting, joined, opened, run_of, running, seated
from support.vectors import WINS

# Moves.


def test_nobody_moves_or_resigns_before_the_start() -> None:
    for log in (counting(), opened()):
        if not log.race.seats:
            log.say(joined(log, 1))
        assert refused(log, Moved(seat=1, move="draw")) == refused(log, Resigned(seat=1)) == "untimely"


@every_game
def test_a_move_is_checked_by_the_game_and_changes_only_one_run(slug: str) -> None:
    log = running(slug=slug)
    deal = run_of(log.race).game
    assert refused(log, Moved(seat=1, move="nonsense")) == "illegal-move"
    assert refused(log, Moved(seat=3, move=deal.moves()[0])) == "not-seated"
    play(log, 1, deal.moves()[:1])
    assert run_of(log.race, 1).game == deal.after(deal.moves()[0])
    assert run_of(log.race, 1).moves == deal.moves()[:1]
    assert run_of(log.race, 2) == Run(log.race.options, deal, deal, peak=deal.home)


def test_the_time_limit_is_exact_to_the_millisecond() -> None:
    log = running(limit_ms=60_000)
    started_at = log.race.started_at
    assert started_at is not None
    assert log.race.ends_at == started_at + 60_000
    log.say(Moved(seat=1, move="draw"), 59_999)
    assert not log.race.finished(started_at + 59_999)
    assert log.race.finished(started_at + 60_000)
    assert refused(log, Closed(secret=SECRET.hex())) == "untimely"
    assert refused(log, Moved(seat=1, move="draw"), 1) == "race-over"
    assert refused(log, Resigned(seat=1), 1) == "race-over"
    log.say(Closed(secret=SECRET.hex()), 1)
    assert [racer.outcome for racer in log.race.standings()] == ["timeout", "timeout"]


def test_a_racer_who_resigned_cannot_move() -> None:
    log = running()
    log.say(Resigned(seat=1), 5)
    for event in (Moved(seat=1, move="draw"), Moved(seat=1, move=RESTART), Resigned(seat=1)):
        assert refused(log, event) == "not-playing"
    assert standing(log.race, 1).outcome == "resigned"
    play(log, 2, ["draw"])


def test_the_number_of_moves_per_racer_is_limited() -> None:
    log = running()
    seat = replace(log.race.seat(1), run=replace(run_of(log.race), moves=("draw",) * (MAX_MOVES - 1)))
    log.race = replace(log.race, seats=(seat, log.race.seat(2)))
    play(log, 1, ["draw"])
    for move in ("draw", UNDO, RESTART):
        assert refused(log, Moved(seat=1, move=move)) == "not-allowed"
    play(log, 2, ["draw"])


def test_the_number_of_entries_per_seat_is_limited() -> None:
    log = seated(2)
    log.race = replace(log.race, seats=(replace(log.race.seat(1), entries=MAX_SEAT_ENTRIES - 1), log.race.seat(2)))
    log.say(Readied(seat=1))
    for event in (Unreadied(seat=1), Taken(seat=1)):
        assert refused(log, event) == "not-allowed"
    log.say(Readied(seat=2))


def test_every_log_fits_into_a_replay() -> None:
    about_no_seat = 3  # counting, dealt, closed
    assert MAX_SEATS * MAX_SEAT_ENTRIES + about_no_seat <= replay.MAX_ENTRIES


def test_an_earlier_event_is_refused() -> None:
    log = opened()
    with pytest.raises(Refused) as refusal:
        log.race.extended(OPENED_AT - 1, joined(log, 1))
    assert refusal.value.code == "untimely"
    log.say(joined(log, 1), 100)
    log.say(joined(log, 2), 0)
    with pytest.raises(Refused):
        log.race.extended(log.race.at - 1, Readied(seat=1))


# Undo.


@every_game
@few
@given(random=luck)
def test_undo_stops_at_the_last_reveal(slug: str, random: Random) -> None:
    log = running(slug=slug, racers=2)
    since_reveal = [run_of(log.race).game]
    for _ in range(40):
        run = run_of(log.race)
        if run.game.over:
            break
        moves = run.game.moves()
        play(log, 1, [random.choice((moves[-1], random.choice(moves)))])
        game = run_of(log.race).game
        since_reveal = [*since_reveal, game] if not run.game.reveals(game) else [game]
        assert len(run_of(log.race).undo_history) == len(since_reveal) - 1
    assert _positions(run_of(log.race).undo_history) == since_reveal[:-1]
    while len(since_reveal) > 1 and run_of(log.race).game.outcome in ("playing", "stuck"):
        since_reveal.pop()
        peak = run_of(log.race).peak
        play(log, 1, [UNDO])
        assert run_of(log.race).game == since_reveal[-1]
        assert run_of(log.race).peak == peak
    if not run_of(log.race).done:
        assert refused(log, Moved(seat=1, move=UNDO)) == "illegal-move"


def _positions(past: UndoHistory) -> list[Game]:
    """All positions that undo can return to, newest last."""
    positions: list[Game] = []
    while past:
        position, past = past.back()
        positions.insert(0, position)
    return positions


def test_undo_and_moves_can_alternate_in_any_order() -> None:
    """Positions that are not stored are recomputed correctly in any sequence of moves and undo."""
    log, chance = running(slug="corner-stones"), random.Random(1)
    way = [run_of(log.race).game]
    for _ in range(400):
        if len(way) > 1 and (chance.random() < 0.45 or not way[-1].moves()):
            way.pop()
            play(log, 1, [UNDO])
        else:
            play(log, 1, [chance.choice(way[-1].moves())])
            way.append(run_of(log.race).game)
        assert run_of(log.race).game == way[-1]
        assert len(run_of(log.race).undo_history) == len(way) - 1
    assert _positions(run_of(log.race).undo_history) == way[:-1]


def test_undo_is_refused_if_the_race_does_not_allow_it() -> None:
    log = running(slug="corner-stones", undo=False)
    play(log, 1, run_of(log.race).game.moves()[:1])
    assert refused(log, Moved(seat=1, move=UNDO)) == "not-allowed"
    assert not run_of(log.race).may(UNDO)


def test_a_stuck_game_can_be_undone_without_a_reveal() -> None:
    ends = (_ended("corners", {"seed": seed}, attempts=1) for seed in map(str, range(3_000)))
    run = next(run for run in ends if run.undo_history and not run.game.won)
    assert run.game.outcome == "stuck"
    assert not run.done
    again = run.after(UNDO, 0)
    assert again.game.outcome == "playing"
    assert structs.replace(run, options=structs.replace(run.options, undo=False)).done


def _ended(slug: str, play: dict[str, Any], **options: Any) -> Run:
    """Play a run to its end, with the given moves or random ones."""
    deal, chance = GAMES[slug].from_seed(play["seed"]), random.Random(play["seed"])
    run = Run(opened(slug, **options).race.options, deal, deal)
    for move in play.get("moves", ()):
        run = run.after(move, 0)
    while moves := run.game.moves():
        run = run.after(chance.choice(moves), 0)
    return run


# Restart.


@every_game
def test_restart_deals_the_same_cards_and_keeps_the_clock_running(slug: str) -> None:
    log = running(slug=slug)
    deal, ends_at = run_of(log.race).deal, log.race.ends_at
    assert refused(log, Moved(seat=1, move=RESTART)) == "illegal-move"
    play(log, 1, [deal.moves()[0], RESTART])
    run = run_of(log.race)
    assert (run.game, run.deal, run.attempts, len(run.undo_history)) == (deal, deal, 2, 0)
    assert log.race.ends_at == ends_at
    assert standing(log.race, 1).attempts == 2
    assert refused(log, Moved(seat=1, move=UNDO)) == "illegal-move"
    play(log, 1, deal.moves()[:1])


def test_restart_is_refused_after_the_last_attempt() -> None:
    log = running(slug="the-edge", seed=seed_that_ends("the-edge", "lost"), attempts=2)
    play(log, 1, [run_of(log.race).game.moves()[0], RESTART])
    play(log, 1, run_of(log.race).game.moves()[:1])
    assert refused(log, Moved(seat=1, move=RESTART)) == "not-allowed"
    assert not standing(log.race, 1).done
    play_to_the_end(log)
    assert standing(log.race, 1).done
    assert refused(log, Moved(seat=1, move="a1")) == "not-playing"


def test_the_best_attempt_counts_with_the_time_of_its_peak() -> None:
    log = running(slug="the-edge", seed="731")
    start = log.race.at
    win = WINS["the-edge"]["moves"]
    play(log, 1, win[:5], wait=100)
    reached = standing(log.race, 1)
    assert (reached.home, reached.ms) == (5, 500)
    play(log, 1, [RESTART, *win[:5]], wait=100)
    assert log.race.at == start + 1_100
    again = standing(log.race, 1)
    assert (again.home, again.ms, again.attempts) == (5, 500, 2)
    play(log, 1, win[5:6], wait=100)
    assert (standing(log.race, 1).home, standing(log.race, 1).ms) == (6, 1_200)


@pytest.mark.parametrize("seed", ["0", "31"])
def test_cards_home_in_the_deal_count_from_the_start(seed: str) -> None:
    log = running(slug="gallery", seed=seed)
    dealt = run_of(log.race).game.home
    assert dealt > 0
    assert [(racer.home, racer.ms, racer.place) for racer in log.race.standings()] == [(dealt, 0, 1)] * 2
    play(log, 2, ["deal"], wait=100)
    gained = run_of(log.race, 2).game.home - dealt
    assert standing(log.race, 2).ms == (100 if gained else 0)
