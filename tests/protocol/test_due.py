"""Timed events depend only on the race and the time."""

import pytest
from msgspec import structs

from samedeal.race.due import EMPTY_MS, NONCE_MS, REJOIN_MS, complete_by, due, due_at, ready_by
from samedeal.race.events import NEVER, Closed, Counting, Dealt, Left, Nonce, Readied, Resigned, Taken, Unreadied
from samedeal.race.race import OPEN_MS, Race
from support.finished_races import Logged, nonce
from support.races_by_hand import counting, joined, opened, running, seated

AWAY_MS, READY_MS = 30_000, 60_000


def seen(race: Race, at: int) -> dict[int, int]:
    return dict.fromkeys((seat.number for seat in race.roster), at)


def test_nothing_is_due_before_its_time() -> None:
    log = seated()
    race = log.race
    at = due_at(race, seen={}, away_ms=AWAY_MS)
    assert at == race.at + AWAY_MS
    assert due(race, at - 1, seen={}, away_ms=AWAY_MS) is None
    assert due(race, at, seen={}, away_ms=AWAY_MS) == Left(seat=1)


def test_absent_seats_are_released_one_after_another_and_present_ones_are_kept() -> None:
    log = seated(3)
    now = log.race.at + 10 * AWAY_MS
    present = {2: now - 1}
    assert due_at(log.race, seen=present, away_ms=AWAY_MS) < now
    while event := due(log.race, now, seen=present, away_ms=AWAY_MS):
        log.race, _ = log.race.extended(now, event)
    assert [seat.number for seat in log.race.roster] == [2]
    assert due_at(log.race, seen=present, away_ms=AWAY_MS) == now - 1 + AWAY_MS


def test_a_seat_that_was_taken_again_is_held_from_then_on() -> None:
    log = seated()
    log.say(Left(seat=1), AWAY_MS)
    log.say(joined(log, 1), 5)
    assert due_at(log.race, seen={1: 0}, away_ms=AWAY_MS) == log.race.at + AWAY_MS


def test_the_countdown_starts_as_soon_as_everybody_is_ready_but_not_with_an_absent_player() -> None:
    log = opened()
    for seat in (1, 2):
        log.say(joined(log, seat))
        log.say(Readied(seat=seat))
    now = log.race.at
    assert due(log.race, now, seen=seen(log.race, now), away_ms=AWAY_MS) == Counting()
    assert due(log.race, now + AWAY_MS, seen={1: now + AWAY_MS}, away_ms=AWAY_MS) == Left(seat=2)


def test_no_seat_is_released_once_the_countdown_has_started() -> None:
    for log in (counting(), running()):
        later = log.race.at + 2 * AWAY_MS
        assert not isinstance(due(log.race, later, seen={}, away_ms=AWAY_MS), Left)


def test_the_deal_waits_for_its_number_and_for_nonces_that_can_still_arrive() -> None:
    race = counting(start_delay_ms=0).race
    started = race.counting_at or 0
    assert due_at(race, seen={}, away_ms=AWAY_MS) == started + NONCE_MS
    assert due_at(race, seen={}, away_ms=AWAY_MS, reachable_from=started + 100) == started + 100 + NONCE_MS
    assert due(race, started + NONCE_MS - 1, seen={}, away_ms=AWAY_MS, deal_number=0) is None
    assert due(race, started + NONCE_MS, seen={}, away_ms=AWAY_MS) is None
    assert due(race, started + NONCE_MS, seen={}, away_ms=AWAY_MS, deal_number=3) == Dealt(k=3)


def test_the_deal_does_not_wait_once_all_nonces_have_arrived() -> None:
    log = counting(start_delay_ms=700)
    started = log.race.at
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 20)
    for reachable_from in (0, started + 10_000):
        assert due_at(log.race, seen={}, away_ms=AWAY_MS, reachable_from=reachable_from) == started + 700
    assert due(log.race, started + 699, seen={}, away_ms=AWAY_MS, deal_number=0) is None
    assert due(log.race, started + 700, seen={}, away_ms=AWAY_MS, deal_number=0) == Dealt()


def test_a_race_is_closed_when_all_have_stopped_or_the_time_is_up() -> None:
    log = running()
    assert due(log.race, log.race.at, seen={}, away_ms=AWAY_MS) is None
    ends_at = due_at(log.race, seen={}, away_ms=AWAY_MS)
    assert ends_at == log.race.ends_at
    assert isinstance(due(log.race, ends_at, seen={}, away_ms=AWAY_MS), Closed)
    for seat in (1, 2):
        log.say(Resigned(seat=seat))
    closed = due(log.race, log.race.at, seen={}, away_ms=AWAY_MS)
    assert isinstance(closed, Closed)
    log.say(closed)
    assert due(log.race, ends_at, seen={}, away_ms=AWAY_MS) is None


@pytest.mark.parametrize("daily", [False, True])
def test_a_race_that_never_started_is_cancelled(daily: bool) -> None:
    log = seated(daily=daily)
    at = log.race.expires_at
    assert daily or at == log.race.header.opened_at + OPEN_MS
    present = {1: at}
    assert due_at(log.race, seen=present, away_ms=AWAY_MS) == at
    assert isinstance(due(log.race, at, seen=present, away_ms=AWAY_MS), Closed)


def test_an_empty_race_is_due_after_ten_minutes() -> None:
    race = opened().race
    assert due_at(race, seen={}, away_ms=AWAY_MS) == race.header.opened_at + EMPTY_MS
    assert due(race, race.header.opened_at + EMPTY_MS, seen={}, away_ms=AWAY_MS) is None  # its expiry is not logged


def waiting(*ready: int, bots: tuple[int, ...] = (), seats: int = 3) -> Logged:
    """Return a race whose players join, and some get ready, one per second."""
    log = opened()
    for seat in range(1, seats + 1):
        log.say(structs.replace(joined(log, seat), bot=seat in bots), 1_000)
    for seat in ready:
        log.say(Readied(seat=seat), 1_000)
    return log


def released(race: Race, now: int) -> list[int]:
    """Return the seats that are released at a time at which everybody is connected."""
    before = {seat.number for seat in race.roster}
    while event := due(race, now, seen=seen(race, now), away_ms=AWAY_MS, ready_ms=READY_MS):
        race, _ = race.extended(now, event)
        if not isinstance(event, Left):
            break
    return sorted(before - {seat.number for seat in race.roster})


def test_players_who_do_not_get_ready_are_released_and_the_countdown_starts() -> None:
    race = waiting(1, 3, seats=4).race
    at = race.at + READY_MS
    assert ready_by(race, READY_MS) == at
    assert due_at(race, seen=seen(race, at), away_ms=AWAY_MS, ready_ms=READY_MS) == at
    assert released(race, at - 1) == []
    assert due(race, at - 1, seen=seen(race, at), away_ms=AWAY_MS, ready_ms=READY_MS) is None
    for expected in (Left(seat=2), Left(seat=4), Counting()):
        event = due(race, at, seen=seen(race, at), away_ms=AWAY_MS, ready_ms=READY_MS)
        assert event == expected
        race, _ = race.extended(at, expected)


@pytest.mark.parametrize("ready", [(), (2,), (1, 2, 3)])
def test_no_clock_runs_before_two_are_ready_or_once_all_are(ready: tuple[int, ...]) -> None:
    assert ready_by(waiting(*ready).race, READY_MS) is None


def test_the_clock_can_be_off_and_ends_with_the_countdown() -> None:
    log = waiting(1, 2)
    assert ready_by(log.race, 0) is None
    log.say(Left(seat=3))
    log.say(Counting())
    assert ready_by(log.race, READY_MS) is None


def test_who_joins_late_or_stops_being_ready_gets_the_full_time() -> None:
    log = waiting(1, 2)
    started = log.race.at
    log.say(joined(log, 4), READY_MS - 1)
    assert ready_by(log.race, READY_MS) == log.race.at + READY_MS == started + 2 * READY_MS - 1
    log.say(Readied(seat=4), 5)
    assert ready_by(log.race, READY_MS) == started + READY_MS  # seat 3 has had its time
    log.say(Unreadied(seat=4), 5)
    assert ready_by(log.race, READY_MS) == log.race.at + READY_MS
    log.say(Unreadied(seat=1), 5)
    assert ready_by(log.race, READY_MS) is None
    log.say(Readied(seat=1), 5)
    assert ready_by(log.race, READY_MS) == log.race.at + READY_MS


def test_reconnecting_does_not_extend_the_time() -> None:
    log = waiting(1, 2)
    at = ready_by(log.race, READY_MS)
    log.say(Taken(seat=3, by="0" * 16), 5_000)
    log.say(Taken(seat=1, by="0" * 16), 5_000)
    assert ready_by(log.race, READY_MS) == at


def test_bots_that_are_ready_wait_for_people() -> None:
    log = waiting(1, 2, bots=(1, 2), seats=4)
    assert ready_by(log.race, READY_MS) is None
    log.say(Readied(seat=3), 10 * READY_MS)
    assert ready_by(log.race, READY_MS) == log.race.at + READY_MS
    assert ready_by(waiting(1, 2, bots=(1, 2, 3)).race, READY_MS)  # there are only bots


def test_bots_that_wait_for_people_get_ready_after_them() -> None:
    log = waiting(1, 2, bots=(4,), seats=4)
    at = log.race.at + READY_MS
    assert ready_by(log.race, READY_MS) == at
    assert released(log.race, at) == [3]
    log.say(Left(seat=3), READY_MS)
    assert ready_by(log.race, READY_MS) == at + READY_MS
    assert released(log.race, at + READY_MS) == [4]


def rematch(*seats: int, bots: tuple[int, ...] = ()) -> Logged:
    """Return a rematch whose players join and are ready, one per second."""
    log = opened(follows="first-race")
    for number in seats:
        log.say(structs.replace(joined(log, number), bot=number in bots), 1_000)
        log.say(Readied(seat=number))
    return log


@pytest.mark.parametrize(
    ("until", "seats", "bots", "expected"),
    [
        ({}, 2, (), 0),
        ({1: NEVER, 2: NEVER}, 2, (), 0),  # all are in
        ({3: NEVER}, 2, (), 2_000 + REJOIN_MS),  # the second person joined after two seconds
        ({3: 12_000}, 2, (), 12_000),  # and the third is disconnected
        ({3: 12_000, 4: 15_000}, 2, (), 15_000),
        ({3: 50_000}, 2, (), 2_000 + REJOIN_MS),
        ({3: NEVER}, 2, (2,), NEVER),  # a person is ready, and so is a bot
        ({3: 12_000}, 2, (2,), 12_000),
        ({3: NEVER}, 4, (2,), 0),
        ({5: NEVER}, 3, (2,), 3_000 + REJOIN_MS),
    ],
)
def test_a_rematch_waits_for_the_people_of_the_race_before(
    until: dict[int, int], seats: int, bots: tuple[int, ...], expected: int
) -> None:
    log = rematch(*range(1, seats + 1), bots=bots)
    race, start = log.race, log.race.header.opened_at
    rejoining = {f"player-{seat}": at if at == NEVER else start + at for seat, at in until.items()}
    at = start + expected if 0 < expected < NEVER else expected
    assert complete_by(race, rejoining) == at
    now = max(at, race.at)
    here = seen(race, now)
    assert due_at(race, seen=here, away_ms=AWAY_MS, rejoining=rejoining) == min(at, race.expires_at, now + AWAY_MS)
    if at > race.at:
        assert due(race, min(at, race.expires_at) - 1, seen=here, away_ms=AWAY_MS, rejoining=rejoining) is None
    if at < NEVER:
        assert due(race, now, seen=here, away_ms=AWAY_MS, rejoining=rejoining) == Counting()


def test_a_rematch_does_not_wait_for_those_who_have_left_it() -> None:
    log = rematch(1, 2, 3)
    log.say(Left(seat=3))
    assert complete_by(log.race, {"player-3": NEVER}) == 0


def test_players_of_a_rematch_who_are_not_ready_have_as_long_as_those_who_are_missing() -> None:
    log = rematch(1, 2)
    log.say(joined(log, 3), 20_000)
    second_at = log.race.seat(2).joined_at
    at = ready_by(log.race, READY_MS)
    assert at == complete_by(log.race, {"player-4": NEVER}) == second_at + REJOIN_MS
    for event in (Unreadied(seat=3), Taken(seat=3), Unreadied(seat=2), Readied(seat=2)):
        log.say(event, 100)
    assert ready_by(log.race, READY_MS) == log.race.at + REJOIN_MS  # only now are two ready
    assert ready_by(log.race, 5_000) == log.race.at + 5_000
    assert ready_by(log.race, 0) is None


def test_bots_of_a_rematch_have_time_after_the_people() -> None:
    log = rematch(1, 2)
    log.say(structs.replace(joined(log, 3), bot=True), 40_000)
    log.say(joined(log, 4))
    log.say(Left(seat=4), 100)
    assert ready_by(log.race, READY_MS) == log.race.at + REJOIN_MS
    alone = rematch(1, 2, bots=(2,))
    alone.say(structs.replace(joined(alone, 3), bot=True), 100)
    assert ready_by(alone.race, READY_MS) == alone.race.at + READY_MS


def test_the_ready_clock_starts_again_after_an_outage() -> None:
    log = seated(3)
    for seat in (1, 2):
        log.say(Readied(seat=seat))
    race, back = log.race, log.race.at + 10 * READY_MS
    here = seen(race, back)
    assert ready_by(race, READY_MS) == race.at + READY_MS
    assert ready_by(race, READY_MS, back) == back + READY_MS
    assert due(race, back, seen=here, away_ms=AWAY_MS, ready_ms=READY_MS, reachable_from=back) is None
