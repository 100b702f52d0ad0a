"""The fold: standings, closing, and its log."""

from itertools import groupby, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from samedeal.commitments import commitment
from samedeal.errors import Refused
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Left,
    Moved,
    Nonce,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import OPEN_MS, Race
from samedeal.race.run import RESTART, UNDO
from support.finished_races import SECRET
from support.race_steps import WRONG, every_game, few, luck, play, play_to_the_end, refused, seed_that_ends, standing
from support.races_by_hand import at_random, closed, counting, joined, opened, run_of, running, seated
from support.vectors import WINS

# Standings.


@every_game
def test_a_win_is_final_and_timed_at_its_last_move(slug: str) -> None:
    log = running(slug=slug, seed=WINS[slug]["seed"])
    play(log, 2, WINS[slug]["moves"], wait=100)
    winner = log.race.standings()[0]
    assert (winner.seat, winner.place, winner.outcome, winner.done) == (2, 1, "won", True)
    assert (winner.progress, winner.ms) == (1.0, 100 * len(WINS[slug]["moves"]))
    for move in (UNDO, RESTART, WINS[slug]["moves"][0]):
        assert refused(log, Moved(seat=2, move=move)) == "not-playing"
    assert not log.race.finished(log.race.at)
    closed(log)
    assert [(racer.seat, racer.outcome) for racer in log.race.standings()] == [(2, "won"), (1, "resigned")]


def test_winners_come_first_by_time_and_share_a_place_by_the_millisecond() -> None:
    log = running(4, slug="the-edge", seed="731")
    moves = WINS["the-edge"]["moves"]
    for seat in (3, 1, 4):
        play(log, seat, moves[:-1], wait=1)
    play(log, 3, moves[-1:], wait=1)
    play(log, 1, moves[-1:], wait=1)
    play(log, 4, moves[-1:], wait=0)
    order = [(racer.place, racer.seat, racer.outcome) for racer in log.race.standings()]
    assert order == [(1, 3, "won"), (2, 1, "won"), (2, 4, "won"), (4, 2, "playing")]


def test_the_others_are_ranked_by_most_cards_home_then_by_time() -> None:
    log = running(5, slug="the-edge", seed="731")
    moves = WINS["the-edge"]["moves"]
    play(log, 4, moves[:3], wait=10)
    play(log, 1, moves[:3], wait=10)
    play(log, 5, moves[:4], wait=10)
    order = [(racer.place, racer.seat, racer.home) for racer in log.race.standings()]
    assert order == [(1, 5, 4), (2, 4, 3), (3, 1, 3), (4, 2, 0), (4, 3, 0)]


def test_gallery_is_ranked_by_its_best_score_even_when_no_one_wins() -> None:
    log = running(slug="gallery", seed=seed_that_ends("gallery", "over"), attempts=1)
    play_to_the_end(log, 1)
    play_to_the_end(log, 2, lambda game: game.moves()[0])
    scores = {seat: run_of(log.race, seat).game.score for seat in (1, 2)}
    assert scores[1] != scores[2]
    ranked = log.race.standings()
    assert [racer.seat for racer in ranked] == sorted(scores, key=scores.__getitem__)
    assert [racer.goal - racer.home for racer in ranked] == sorted(scores.values())
    assert {racer.outcome for racer in ranked} == {"over"}
    assert log.race.finished(log.race.at)


def test_standings_before_the_deal_show_who_is_ready() -> None:
    log = seated(3)
    log.say(Readied(seat=2))
    log.say(Left(seat=3))
    assert [(racer.seat, racer.outcome, racer.place, racer.done) for racer in log.race.standings()] == [
        (1, "waiting", 1, False),
        (2, "ready", 1, False),
    ]


@pytest.mark.parametrize(
    ("slug", "outcome"),
    [("the-edge", "lost"), ("kings-in-the-corners", "lost"), ("corners", "stuck"), ("gallery", "over")],
)
def test_an_outcome_of_the_game_is_kept_after_the_race(slug: str, outcome: str) -> None:
    log = running(slug=slug, seed=seed_that_ends(slug, outcome), attempts=1)
    play_to_the_end(log)
    assert standing(log.race, 1).outcome == outcome
    closed(log)
    assert [standing(log.race, seat).outcome for seat in (1, 2)] == [outcome, "resigned"]


# The end.


def test_a_race_is_finished_when_all_racers_are_done() -> None:
    log = running(3)
    assert refused(log, Closed(secret=SECRET.hex())) == "untimely"
    for seat in (1, 2, 3):
        assert not log.race.finished(log.race.at)
        log.say(Resigned(seat=seat))
    assert log.race.finished(log.race.at)
    assert refused(log, Closed(secret=WRONG)) == "untimely"
    log.say(Closed(secret=SECRET.hex()))
    assert (log.race.stage, log.race.closed) == ("over", True)


def test_a_closed_race_accepts_no_events() -> None:
    log = closed(running())
    late: list[AnyEvent] = [
        *(Taken(seat=1), Moved(seat=1, move="draw"), Resigned(seat=1), Counting(), Dealt(), joined(log, 3)),
        *(Left(seat=1), Readied(seat=1), Unreadied(seat=1), Nonce(seat=1, nonce=WRONG), Closed(secret=SECRET.hex())),
    ]
    assert {refused(log, event) for event in late} == {"race-over"}


def test_a_race_that_never_starts_expires_after_a_day() -> None:
    log = seated()
    assert refused(log, Closed(secret=SECRET.hex()), OPEN_MS - 1) == "untimely"
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    assert log.race.stage == "cancelled"
    assert log.race.deal is None


def test_a_race_in_its_countdown_never_expires() -> None:
    log = counting()
    assert refused(log, Closed(secret=SECRET.hex()), 2 * OPEN_MS) == "untimely"


# The log.


def test_a_changed_entry_is_refused() -> None:
    log = closed(running())
    races = [opened().race]
    for entry in log.entries:
        races.append(races[-1].after(entry))
    for before, entry in zip(races, log.entries, strict=False):
        changes: list[dict[str, Any]] = [
            {"n": entry.n + 1},
            {"at": entry.at + 1},
            {"h": WRONG},
            {"event": Taken(seat=1)},
            {"event": joined(log, entry.n, "Mallory")},
        ]
        for change in changes:
            with pytest.raises(Refused):
                before.after(structs.replace(entry, **change))


def test_entries_out_of_order_or_of_another_race_are_refused() -> None:
    log = running()
    start = opened().race
    with pytest.raises(Refused):
        start.after(log.entries[1])
    with pytest.raises(Refused):
        start.after_all([log.entries[0], log.entries[2]])
    with pytest.raises(Refused):
        start.after_all([log.entries[0], log.entries[0]])
    other = structs.replace(start.header, salt="11" * 16)
    with pytest.raises(Refused):
        Race.opened(other, SECRET).after(log.entries[0])
    secret = bytes(31) + b"\1"
    another = structs.replace(start.header, commitment=commitment(start.id, secret))
    with pytest.raises(Refused):
        Race.opened(another, secret).after(log.entries[0])


@pytest.mark.parametrize("options", [{}, {"undo": False, "attempts": 2, "max_racers": 3}], ids=["free", "strict"])
@every_game
@few
@given(random=luck)
def test_random_races_fold_consistently(slug: str, options: dict[str, Any], random: Random) -> None:
    log = opened(slug, **options, start_delay_ms=50, limit_ms=15_000)
    start, before = log.race, log.race
    for _ in at_random(log, random, 150):
        assert log.race.n == len(log.entries)
        standings = log.race.standings()
        assert sorted(racer.seat for racer in standings) == [seat.number for seat in log.race.roster]
        places = [racer.place for racer in standings]
        assert places == [1 + sum(other < place for other in places) for place in places]
        assert all(racer.home <= racer.goal for racer in standings)
        assert all((racer.progress == 1) == (racer.outcome == "won") for racer in standings)
        for _, racers in groupby(standings, key=lambda racer: (racer.outcome == "won", racer.place)):
            assert len({(racer.home, racer.ms) for racer in racers}) == 1
        if before.n < log.race.n:
            assert before.after_all(log.entries[before.n :]) == log.race
            before = log.race
    assert start.after_all(log.entries) == log.race
    assert [entry.n for entry in log.entries] == list(range(1, len(log.entries) + 1))
    assert all(earlier.at <= later.at for earlier, later in pairwise(log.entries))
    assert len({entry.h for entry in log.entries}) == len(log.entries)
