"""Requests from a seat lead to events, and a request that has already taken effect leads to none."""

from collections.abc import Iterable

import pytest

from samedeal.commitments import nonce_commitment
from samedeal.errors import Refused
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Joined,
    Left,
    Moved,
    Nonce,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.run import RESTART, UNDO
from samedeal.values import replace
from samedeal.wire import messages as m
from samedeal.wire.requests import (
    OPEN_ENTRIES,
    SeatRequest,
    check_entries,
    closing_event,
    expulsion_events,
    join_events,
    remove_events,
    seat_events,
    start_events,
)
from support.finished_races import SECRET, Logged, nonce
from support.race_steps import play, refused
from support.races_by_hand import closed, counting, joined, opened, run_of, running, seated

CONNECTION = "0123456789abcdef"
RACE = "calm-otter-42"
PROMISE = nonce_commitment(RACE, nonce(1))
OTHER_PROMISE = nonce_commitment(RACE, nonce(9))


def send(log: Logged, request: SeatRequest, seat: int = 1) -> list[AnyEvent]:
    """Log the events of a request and return them. The same request leads to no more events."""
    events = seat_events(log.race, seat, request)
    for event in events:
        log.say(event)
    assert seat_events(log.race, seat, request) == []
    return events


def join(
    log: Logged, player: str = "player-1", *, commitment: str | None = PROMISE, has_seat: bool = False
) -> list[AnyEvent]:
    request = m.Join(id=1, race=log.race.id, commitment=commitment)
    return join_events(log.race, request, player=player, name="Ada", connection=CONNECTION, has_seat=has_seat)


# Readiness.


def test_ready_and_not_ready_each_take_effect_once() -> None:
    log = seated()
    assert send(log, m.Ready(id=1, ready=False)) == []
    assert send(log, m.Ready(id=2)) == [Readied(seat=1)]
    assert send(log, m.Ready(id=3, ready=False)) == [Unreadied(seat=1)]


# Nonces.


def test_a_nonce_is_opened_once_and_another_one_is_passed_on_to_be_refused() -> None:
    log = counting()
    assert send(log, m.Nonce(id=1, nonce=nonce(2).hex()), seat=2) == [Nonce(seat=2, nonce=nonce(2).hex())]
    (other,) = seat_events(log.race, 2, m.Nonce(id=2, nonce=nonce(9).hex()))
    assert refused(log, other) == "untimely"


# Moves.


def test_a_move_is_made_once() -> None:
    log = running()
    assert send(log, m.Move(id=1, move="draw", ply=0)) == [Moved(seat=1, move="draw")]
    assert send(log, m.Move(id=2, move="draw", ply=1)) == [Moved(seat=1, move="draw")]
    assert seat_events(log.race, 1, m.Move(id=3, move="draw", ply=0)) == []
    assert tuple(run_of(log.race).moves) == ("draw", "draw")


def test_undo_and_restart_count_as_moves() -> None:
    log = running(slug="corner-stones")
    first = run_of(log.race).game.moves()[0]
    for ply, move in enumerate((first, UNDO, first, RESTART)):
        assert send(log, m.Move(id=1, move=move, ply=ply)) == [Moved(seat=1, move=move)]


@pytest.mark.parametrize(("move", "ply"), [("r1", 0), ("draw", 3), ("draw", 2**31)])
def test_a_move_from_another_position_is_stale(move: str, ply: int) -> None:
    log = running()
    play(log, 1, ["draw", "draw"])
    with pytest.raises(Refused, match=f"The ply of this move is {ply}, but 2 is next") as refusal:
        seat_events(log.race, 1, m.Move(id=1, move=move, ply=ply))
    assert refusal.value.code == "stale-move"


@pytest.mark.parametrize("ply", [0, 3])
def test_a_move_without_cards_is_passed_on_to_be_refused(ply: int) -> None:
    for log, expected in ((counting(), "untimely"), (_scratched(), "not-playing")):
        (event,) = seat_events(log.race, 1, m.Move(id=1, move="draw", ply=ply))
        assert event == Moved(seat=1, move="draw")
        assert refused(log, event) == expected


def test_moves_do_not_count_towards_the_limit_before_the_countdown() -> None:
    race = running().race
    seat = replace(race.seat(1), entries=OPEN_ENTRIES)
    check_entries(replace(race, seats=(seat, race.seat(2))), Moved(seat=1, move="draw"))


def test_what_a_player_repeats_is_limited_per_seat() -> None:
    race = seated().race
    full = replace(race, seats=(replace(race.seat(1), entries=OPEN_ENTRIES),))
    with pytest.raises(Refused, match="limit of log entries"):
        check_entries(full, Readied(seat=1))
    check_entries(replace(race, seats=(replace(full.seat(1), inherited=1),)), Readied(seat=1))
    check_entries(full, Left(seat=1))


# Resigning and leaving.


def test_resigning_takes_effect_once_even_after_the_race() -> None:
    log = running()
    assert send(log, m.Resign(id=1)) == [Resigned(seat=1)]
    closed(log)
    assert seat_events(log.race, 2, m.Resign(id=2)) == []


def test_resigning_without_cards_is_passed_on_to_be_refused() -> None:
    for log, expected in ((counting(), "untimely"), (_scratched(), "not-playing")):
        (event,) = seat_events(log.race, 1, m.Resign(id=1))
        assert refused(log, event) == expected


def test_leaving_takes_effect_once() -> None:
    log = seated(2)
    assert send(log, m.Leave(id=1)) == [Left(seat=1)]
    assert [seat.number for seat in log.race.roster] == [2]


@pytest.mark.parametrize(
    "request_",
    [m.Move(id=1, move="draw", ply=0), m.Ready(id=1), m.Nonce(id=1, nonce="0f" * 32), m.Resign(id=1)],
    ids=lambda request: type(request).__name__,
)
def test_a_seat_that_was_left_makes_no_other_requests(request_: SeatRequest) -> None:
    log = seated()
    log.say(Left(seat=1))
    with pytest.raises(Refused) as refusal:
        seat_events(log.race, 1, request_)
    assert refusal.value.code == "not-seated"


# Joining.


def test_a_new_player_takes_the_next_seat() -> None:
    log = seated()
    request = m.Join(id=1, race=RACE, commitment=PROMISE, bot=True)
    events = join_events(log.race, request, player="ada", name="Ada", connection=CONNECTION, has_seat=False)
    assert events == [Joined(seat=2, player="ada", name="Ada", bot=True, commitment=PROMISE, by=CONNECTION)]
    _log_all(log, events)
    assert log.race.seat(2).player == "ada"


def test_a_player_who_left_joins_the_same_seat_again() -> None:
    log = seated(2)
    log.say(Left(seat=1))
    assert join(log) == [Joined(seat=1, player="player-1", name="Ada", commitment=PROMISE, by=CONNECTION)]


def test_another_connection_of_the_player_takes_the_seat_over() -> None:
    for log in (opened(), counting(), running()):
        if not log.race.seats:
            log.say(joined(log, 1))
        assert join(log, has_seat=True) == join(log, commitment=None, has_seat=True) == []
        assert join(log) == join(log, commitment=None) == [Taken(seat=1, by=CONNECTION)]
        _log_all(log, join(log))


def test_a_player_can_change_the_commitment_only_before_the_countdown() -> None:
    log = seated()
    log.say(Readied(seat=1))
    for has_seat in (False, True):
        events = join(log, commitment=OTHER_PROMISE, has_seat=has_seat)
        assert [type(event) for event in events] == [Left, Joined]
    _log_all(log, events)
    assert (log.race.seat(1).commitment, log.race.seat(1).ready) == (OTHER_PROMISE, False)
    for later in (counting(), running()):
        assert join(later, commitment=OTHER_PROMISE) == [Taken(seat=1, by=CONNECTION)]
        assert join(later, commitment=OTHER_PROMISE, has_seat=True) == []


def test_joining_a_closed_race_again_changes_nothing() -> None:
    log = closed(running())
    assert join(log) == join(log, commitment=OTHER_PROMISE) == []
    (event,) = join(log, "newcomer")
    assert refused(log, event) == "race-over"


def _scratched() -> Logged:
    """A running race in which the nonce of seat 1 did not arrive."""
    log = counting()
    log.say(Nonce(seat=2, nonce=nonce(2).hex()))
    log.say(Dealt(), 5_000)
    return log


def _log_all(log: Logged, events: Iterable[AnyEvent]) -> None:
    for event in events:
        log.say(event)


# The host.


def test_the_host_starts_with_those_who_are_ready() -> None:
    log = seated(3)
    for host in ("player-1", "elsewhere"):
        with pytest.raises(Refused, match="at least two"):
            start_events(log.race, host)
    log.say(Readied(seat=2))
    events = start_events(log.race, "player-1")
    assert events == [Readied(seat=1), Left(seat=3), Counting()]
    with pytest.raises(Refused, match="at least two"):
        start_events(log.race, "elsewhere")
    for event in events:
        log.say(event)
    assert start_events(log.race, "player-1") == []
    with pytest.raises(Refused, match="before the countdown"):
        start_events(running().race, "player-1")


def test_the_host_of_a_race_for_one_starts_alone() -> None:
    log = seated(max_racers=1)
    assert start_events(log.race, "player-1") == [Readied(seat=1), Counting()]


def test_the_host_removes_a_player_once() -> None:
    log = seated(2)
    for seat, code in ((1, "not-allowed"), (3, "not-seated")):
        with pytest.raises(Refused) as caught:
            remove_events(log.race, seat, "player-1")
        assert caught.value.code == code
    assert remove_events(log.race, 2, "player-1") == [Left(seat=2)]
    log.say(Left(seat=2))
    assert remove_events(log.race, 2, "player-1") == []
    with pytest.raises(Refused, match="before the countdown"):
        remove_events(running().race, 2, "player-1")


def test_the_server_takes_seats_before_the_countdown_and_resigns_for_racers_who_play() -> None:
    log = seated()
    assert expulsion_events(log.race, "player-1", resigns=False) == [closing_event(log.race)] == [Left(seat=1)]
    assert expulsion_events(log.race, "elsewhere", resigns=True) == []
    log = running()
    assert expulsion_events(log.race, "player-2", resigns=False) == []
    assert expulsion_events(log.race, "player-2", resigns=True) == [Resigned(seat=2)]
    for seat in (1, 2):
        assert closing_event(log.race) == Resigned(seat=seat)
        log.say(Resigned(seat=seat))
    timed_out = running()
    timed_out.say(Closed(secret=SECRET.hex()), timed_out.race.options.limit_ms)
    assert {closing_event(race) for race in (counting().race, log.race, timed_out.race)} == {None}


def test_latecomers_are_refused_with_the_reason() -> None:
    log = seated(3)
    for event in (Left(seat=3), Readied(seat=1), Readied(seat=2), Counting()):
        log.say(event)
    with pytest.raises(Refused, match="started without you"):
        log.say(joined(log, 3))
    with pytest.raises(Refused, match="The race has started"):
        log.say(joined(log, 4))
