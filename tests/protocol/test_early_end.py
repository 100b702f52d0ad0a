"""Races that end early because nobody who could continue has a legal move."""

from functools import cache
from typing import Any

import pytest
from msgspec import structs

from samedeal.race.due import close_at, due, due_at
from samedeal.race.events import AnyEvent, Closed, Dealt, Joined, Moved, Nonce, Readied, Resigned, Taken
from samedeal.race.race import STUCK_MS, Race
from samedeal.race.run import RESTART, UNDO
from samedeal.wire import views
from support.finished_races import SECRET, Logged, nonce
from support.race_steps import play_to_the_end, refused, seed_that_ends
from support.races_by_hand import counting, joined, opened, run_of, running

SLUG = "kings-in-the-corners"
CLOSED = Closed(secret=SECRET.hex())
AWAY_MS = 30_000


def racing(racers: int = 2, **options: Any) -> Logged:
    return running(racers, **{"slug": SLUG, "seed": seed_that_ends(SLUG, "lost"), "end_when_stuck": True, **options})


def stuck(racers: int = 2, **options: Any) -> Logged:
    """Return a race in which all racers are stuck, the last one since the last entry."""
    log = racing(racers, **options)
    for seat in range(1, racers + 1):
        play_to_the_end(log, seat)
    return log


@cache
def stuck_with_undo() -> tuple[Race, int]:
    """Return a race in which both are stuck and the first can undo, and its number of entries."""
    for seed in map(str, range(200)):
        log = stuck(slug="corners", seed=seed)
        if run_of(log.race).may(UNDO):
            return log.race, log.race.n
    raise AssertionError("no seed")


def test_a_race_ends_ten_seconds_after_the_last_racer_is_stuck() -> None:
    log = stuck()
    assert log.race.ends_early_at == log.race.at + STUCK_MS
    assert refused(log, CLOSED, STUCK_MS - 1) == "untimely"
    log.say(CLOSED, STUCK_MS)
    assert [racer.outcome for racer in log.race.standings()] == ["lost", "lost"]
    assert all(racer.done for racer in log.race.standings())


@pytest.mark.parametrize("options", [{"end_when_stuck": False}, {"end_when_stuck": True, "limit_ms": 3_600_000}])
def test_a_race_ends_early_only_on_request(options: dict[str, Any]) -> None:
    log = stuck(**options)
    at = log.race.at + STUCK_MS
    assert log.race.finished(at) == options["end_when_stuck"]
    assert log.race.header.format == (3 if options["end_when_stuck"] else 1)


def test_nobody_ends_a_race_in_which_somebody_has_a_move() -> None:
    log = stuck(3)
    log.say(Moved(seat=2, move=RESTART), STUCK_MS)
    assert run_of(log.race, 2).game.moves()
    assert log.race.ends_early_at is None
    assert refused(log, CLOSED, 60_000) == "untimely"


def test_undo_is_an_objection_until_the_race_is_closed() -> None:
    race, _ = stuck_with_undo()
    log = Logged(race)
    log.say(Moved(seat=1, move=UNDO), 2 * STUCK_MS)
    assert refused(log, CLOSED, 2 * STUCK_MS) == "untimely"


def test_a_move_that_leads_back_to_the_end_starts_the_time_again() -> None:
    log = stuck()
    log.say(Moved(seat=1, move=RESTART), 5)
    play_to_the_end(log, 1)
    assert log.race.ends_early_at == log.race.at + STUCK_MS


@pytest.mark.parametrize("event", [Taken(seat=1), Resigned(seat=3)])
def test_the_time_starts_again_after_each_entry(event: AnyEvent) -> None:
    """The others have that long to undo or restart, although they were stuck for long before a rival resigned."""
    log = stuck(3)
    log.say(event, 2 * STUCK_MS)
    assert refused(log, CLOSED, STUCK_MS - 1) == "untimely"
    log.say(CLOSED, STUCK_MS)


def test_a_race_is_over_when_all_are_done() -> None:
    log = stuck()
    for seat in (1, 2):
        log.say(Resigned(seat=seat), 5)
    assert log.race.ends_early_at is None
    log.say(CLOSED)


def test_the_time_limit_still_ends_a_race() -> None:
    log = stuck(limit_ms=60_000)
    ends_at = log.race.ends_at or 0
    log.say(Taken(seat=1), ends_at - log.race.at - 1)
    assert refused(log, CLOSED) == "untimely"
    log.say(CLOSED, 1)


def with_bot(*seats: int) -> Logged:
    """Return a race of two, of whom those in the seats are programs, and all are stuck."""
    log = opened(SLUG, seed_that_ends(SLUG, "lost"), end_when_stuck=True)
    for seat in (1, 2):
        log.say(structs.replace(joined(log, seat), bot=seat in seats))
        log.say(Readied(seat=seat))
    log.say(counting().entries[-1].event)
    log.say(Dealt(), 5_000)
    for seat in (1, 2):
        play_to_the_end(log, seat)
    return log


@pytest.mark.parametrize(("bots", "early"), [((), True), ((2,), False), ((1, 2), False)])
def test_it_takes_two_people_to_end_early(bots: tuple[int, ...], early: bool) -> None:
    assert with_bot(*bots).race.finished(with_bot(*bots).race.at + STUCK_MS) == early


def test_racers_without_cards_do_not_count_as_people() -> None:
    log = counting(3, slug=SLUG, end_when_stuck=True)
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), 5_000)
    for seat in (1, 2):
        play_to_the_end(log, seat)
    assert log.race.ends_early_at == log.race.at + STUCK_MS
    lone = counting(2, slug=SLUG, end_when_stuck=True)
    lone.say(Nonce(seat=1, nonce=nonce(1).hex()))
    lone.say(Dealt(), 5_000)
    play_to_the_end(lone, 1)
    assert lone.race.ends_early_at is None


# What is due.


def test_an_early_end_is_due_at_its_time() -> None:
    race = stuck().race
    at = race.at + STUCK_MS
    assert due_at(race, seen={}, away_ms=AWAY_MS) == at
    assert due(race, at - 1, seen={}, away_ms=AWAY_MS) is None
    assert due(race, at, seen={}, away_ms=AWAY_MS) == CLOSED


def test_an_early_end_waits_for_a_stuck_racer_who_is_disconnected() -> None:
    log = stuck(3)
    log.say(Resigned(seat=3))
    race, at = log.race, log.race.at
    early_at = race.ends_early_at
    for since, expected in ((at - AWAY_MS, early_at), (at - 15_000, at + 15_000), (at + 5_000, at + 35_000)):
        gone = {1: since, 3: at + 20_000}
        assert close_at(race, AWAY_MS, disconnected=gone) == expected
        assert due_at(race, seen={}, away_ms=AWAY_MS, disconnected=gone) == expected
        assert due(race, expected - 1, seen={}, away_ms=AWAY_MS, disconnected=gone) is None
        assert due(race, expected, seen={}, away_ms=AWAY_MS, disconnected=gone) == CLOSED


def test_all_have_ten_seconds_after_an_outage_of_the_server() -> None:
    race = stuck().race
    back_at = race.at + 60_000
    assert due(race, back_at, seen={}, away_ms=AWAY_MS, reachable_from=back_at) is None
    assert due_at(race, seen={}, away_ms=AWAY_MS, reachable_from=back_at) == back_at + STUCK_MS
    assert due(race, back_at + STUCK_MS, seen={}, away_ms=AWAY_MS, reachable_from=back_at) == CLOSED


def test_the_time_limit_does_not_wait_for_anybody() -> None:
    race = stuck(limit_ms=60_000).race
    ends_at = race.ends_at or 0
    gone = {1: ends_at - 1}
    assert close_at(race, AWAY_MS, disconnected=gone) == ends_at
    assert due(race, ends_at, seen={}, away_ms=AWAY_MS, disconnected=gone) == CLOSED


# What racers and spectators see.


@pytest.mark.parametrize("spectators", ["after", "progress"])
def test_everybody_who_sees_the_standings_sees_the_time_until_an_early_end(spectators: str) -> None:
    race = stuck(spectators=spectators).race
    for seat in (1, 2, None):
        expected = 7_000 if seat or spectators == "progress" else None
        assert views.view(race, seat, race.at, closing_ms=7_000).closing_ms == expected
        assert views.progress(race, seat, closing_ms=7_000).closing_ms == expected


def test_a_racer_gets_a_view_rather_than_changes_once_all_are_stuck() -> None:
    log = racing()
    play_to_the_end(log, 1)
    before = run_of(log.race).game
    assert views.changes(log.race, 1, before)
    play_to_the_end(log, 2)
    assert views.changes(log.race, 2, before) is None
    shown = views.view(log.race, 1, log.race.at)
    log.say(Moved(seat=1, move=RESTART))
    changed = views.changes(log.race, 1, before)
    assert changed
    assert views.apply(shown, changed).closing_ms is None


def test_the_seat_of_a_stuck_racer_can_be_taken_over() -> None:
    log = stuck()
    assert isinstance(log.entries[0].event, Joined)
    log.say(Taken(seat=2, by="f" * 16), STUCK_MS - 1)
    assert due(log.race, log.race.at + 1, seen={}, away_ms=AWAY_MS) is None
