"""Head starts: for a time after the deal, only one player has the cards."""

from typing import Any

import pytest
from msgspec import ValidationError, convert, structs, to_builtins

from samedeal.errors import Refused
from samedeal.race.events import (
    LONGEST_HEAD_START_MS,
    Closed,
    Dealt,
    Header,
    HeadStart,
    Moved,
    Nonce,
    Resigned,
    Taken,
)
from samedeal.race.race import Race
from samedeal.race.server_bots import bots_playing
from samedeal.wire import views
from samedeal.wire.messages import Move
from samedeal.wire.requests import seat_events
from support.finished_races import SECRET, Logged, nonce
from support.race_steps import refused, standing
from support.races_by_hand import counting, joined, opened, run_of, running, with_server_bot

WAIT_MS = 20_000
AHEAD = HeadStart(player="player-1", ms=WAIT_MS)


def racing(racers: int = 3, **race: Any) -> Logged:
    return running(racers, **{"head_start": AHEAD, **race})


def test_only_the_player_with_a_head_start_moves_until_it_is_over() -> None:
    log = racing()
    log.say(Moved(seat=1, move="draw"), 5)
    for seat in (2, 3):
        assert refused(log, Moved(seat=seat, move="draw"), WAIT_MS - 6) == "untimely"
        assert refused(log, Moved(seat=seat, move="nonsense")) == "untimely"
    log.say(Moved(seat=2, move="draw"), WAIT_MS - 5)
    log.say(Moved(seat=1, move="draw"))
    assert standing(log.race, 2).ms == 0
    assert log.race.header.format == 3


def test_the_refusal_says_who_has_the_head_start_and_for_how_long() -> None:
    log = racing()
    with pytest.raises(Refused, match=r"Name 1 has a head start\. You can play in 20 s\."):
        log.say(Moved(seat=2, move="draw"))
    with pytest.raises(Refused, match="in 1 s"):
        log.say(Moved(seat=2, move="draw"), WAIT_MS - 1)


def test_times_are_measured_from_the_start_of_the_race() -> None:
    log = racing(seed="1")
    run = run_of(log.race, 2)
    while run.peak == 0:
        log.say(Moved(seat=2, move=run.game.moves()[0]), WAIT_MS if not run.moves else 1)
        run = run_of(log.race, 2)
    assert standing(log.race, 2).ms == log.race.at - (log.race.started_at or 0) > WAIT_MS


def test_those_who_wait_can_resign_and_reconnect() -> None:
    log = racing()
    log.say(Taken(seat=2), 10)
    log.say(Resigned(seat=2), 10)
    assert run_of(log.race, 2).done


@pytest.mark.parametrize("ahead", ["player-9", "player-3"])
def test_nobody_waits_for_a_player_who_does_not_take_part(ahead: str) -> None:
    """The third player has a seat, but is scratched."""
    log = counting(3, head_start=HeadStart(player=ahead, ms=WAIT_MS))
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), 5_000)
    log.say(Moved(seat=1, move="draw"))
    assert views.view(log.race, 2, log.race.at).board
    assert log.race.plays_from(log.race.seat(2)) == log.race.started_at


@pytest.mark.parametrize(
    "changes", [{"ms": 0}, {"ms": LONGEST_HEAD_START_MS + 1}, {"player": ""}, {"player": None}, {"seat": 1}]
)
def test_a_head_start_has_a_player_and_at_most_ten_minutes(changes: dict[str, Any]) -> None:
    header = to_builtins(opened().race.header)
    head_start: dict[str, Any] = {"player": "ada", "ms": LONGEST_HEAD_START_MS}
    assert convert(header | {"head_start": head_start}, Header).head_start == HeadStart(**head_start)
    with pytest.raises(ValidationError):
        convert(header | {"head_start": head_start | changes}, Header)


def test_a_head_start_is_shorter_than_the_race() -> None:
    header = opened(head_start=AHEAD, limit_ms=WAIT_MS + 1).race.header
    with pytest.raises(Refused, match="must be shorter"):
        Race.opened(structs.replace(header, options=structs.replace(header.options, limit_ms=WAIT_MS)), SECRET)


# What is seen.


def test_those_who_wait_see_no_cards_until_the_head_start_is_over() -> None:
    log = racing()
    now = log.race.at + 500
    shown = [views.view(log.race, seat, now) for seat in (1, 2, 3)]
    assert [bool(view.board) for view in shown] == [True, False, False]
    assert [view.waits_ms for view in shown] == [None, WAIT_MS - 500, WAIT_MS - 500]
    assert [view.boards for view in shown] == [None, None, None]
    at = (log.race.started_at or 0) + WAIT_MS
    assert views.view(log.race, 2, at - 1).board is None
    second, third = (views.view(log.race, seat, at) for seat in (2, 3))
    assert (second.waits_ms, third.waits_ms) == (None, None)
    assert second.board == third.board == shown[0].board


def test_nobody_sees_others_tables_before_all_have_cards() -> None:
    """Those who wait could watch without a seat, or let a friend resign who then sees the tables."""
    log = racing(spectators="open", finishers="all")
    log.say(Moved(seat=1, move="draw"))
    log.say(Resigned(seat=3))
    at = log.race.all_play_from
    for viewer in (None, 2, 3):
        assert views.view(log.race, viewer, at - 1).boards is None
    assert {viewer: bool(views.view(log.race, viewer, at).boards) for viewer in (None, 2, 3)} == {
        None: True,
        2: False,
        3: True,
    }


def test_a_head_start_ends_when_its_player_is_done() -> None:
    log = racing()
    log.say(Resigned(seat=1), 5)
    log.say(Moved(seat=2, move="draw"))
    assert views.view(log.race, 3, log.race.at).waits_ms is None


def test_who_resigns_while_waiting_gets_no_table_before_the_others() -> None:
    log = racing()
    log.say(Resigned(seat=2), 10)
    assert views.view(log.race, 2, log.race.at).board is None
    for seat in (1, 3):
        log.say(Resigned(seat=seat))
    log.say(Closed(secret=SECRET.hex()))
    assert views.view(log.race, 2, log.race.at).board


def test_everybody_sees_who_has_the_head_start() -> None:
    log = opened(head_start=AHEAD)
    assert views.view(log.race, None, log.race.at, header=True).head_start is None
    log.say(joined(log, 1))
    assert views.view(log.race, None, log.race.at).head_start == 1
    assert [views.view(racing().race, seat, 0).head_start for seat in (1, 2, None)] == [1, 1, 1]
    assert views.view(running().race, 1, 0).head_start is None


def test_a_repeated_move_is_refused_like_the_first() -> None:
    log = racing()
    (event,) = seat_events(log.race, 2, Move(id=1, move="draw", ply=0))
    assert refused(log, event) == "untimely"


def test_server_bots_wait_too() -> None:
    race = with_server_bot(moves=0, head_start=AHEAD).race
    (bot,) = bots_playing(race)
    assert race.plays_from(bot) == (race.started_at or 0) + WAIT_MS
