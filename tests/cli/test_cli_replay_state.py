"""The replay state: every position shows the tables of the fold."""

from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from msgspec import structs

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Dealt, Moved, Nonce, Resigned
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import SPEEDS, Player
from samedeal_cli.timecode import Moment, parse_moment
from support import races_by_hand
from support.finished_races import finished, nonce


def player(replay: Replay, seat: int = 1) -> Player:
    return Player.of(Recording.of(replay)).watch_seat(seat)


def pressed(state: Player, *keys: str) -> Player:
    for key in keys:
        state = state.on_key(key)
    return state


def at_the_fold(state: Player, replay: Replay) -> bool:
    """Return whether every table is that of the log at the player's entry."""
    race = list(replay.races())[state.n]
    for track in state.recording.tracks:
        run = race.seat(track.standing.seat).run
        step = track.step(state.n)
        if run is None or (step.game, track.index(state.n), step.standing.attempts, step.standing.home) != (
            run.game,
            len(run.moves),
            run.attempts,
            run.peak,
        ):
            return False
    return True


@pytest.mark.parametrize("slug", sorted(GAMES))
def test_random_keys_always_show_the_table_of_the_fold(slug: str) -> None:
    replay, random = finished(slug, 60), Random(slug)
    races = list(replay.races())
    state = player(replay)
    keys = ["space", "left", "right", "up", "down", "[", "]", "<", ">", "t", "home", "end", "tab", "c", *"0123456789"]
    for _ in range(400):
        state = state.on_key(random.choice(keys)).advance(random.choice((0, 40, 500)))
        for track in state.recording.tracks:
            assert track.step(state.n).game == races_by_hand.run_of(races[state.n], track.standing.seat).game
        assert 0 <= state.at <= state.recording.length
        # The position includes exactly the entries up to its time.
        assert state.recording.time(state.n) <= state.at
        assert state.n == len(replay.entries) or state.recording.time(state.n + 1) >= state.at
    assert at_the_fold(state, replay)


def test_seek_shows_the_entries_up_to_a_time() -> None:
    replay = finished("corners", 60)
    state = player(replay)
    times = [entry.at - state.recording.dealt_at for entry in replay.entries]
    for ms in range(0, state.recording.length, 777):
        sought = state.seek(ms)
        assert sought.n == bisect_right(times, ms)
        assert at_the_fold(sought, replay)
    assert state.seek(-5).at == 0
    assert state.seek(1e12).at == state.recording.length
    assert state.seek(1e12).n == len(replay.entries)


def test_moves_of_the_same_millisecond_are_separate_steps() -> None:
    log = races_by_hand.running(1, max_racers=1)
    for _ in range(5):
        log.say(Moved(seat=1, move="draw"), 0)
    replay = races_by_hand.closed(log).replay()
    state = player(replay)
    for index in range(1, 6):
        state = state.on_key("right")
        assert (state.track.index(state.n), state.at) == (index, 0)
        assert at_the_fold(state, replay)
    for index in range(4, -1, -1):
        state = state.on_key("left")
        assert state.track.index(state.n) == index


def test_stepping_stops_at_both_ends_and_pauses() -> None:
    state = player(finished("corners", 20)).on_key("space")
    assert state.playing
    assert not state.on_key("right").playing
    assert state.on_key("left").track.index(state.n) == 0
    last = len(state.track.steps) - 1
    state = pressed(state, *["right"] * (last + 3))
    assert state.track.index(state.n) == last
    assert state.note == "this is the last move"


def test_mark_keys_visit_all_marks_in_order() -> None:
    replay = finished("the-edge", 120)
    state = player(replay)
    for keys, kinds in (("up", {"home"}), ("]", {"undo", "restart", "think", "end"})):
        wanted = [mark.n for mark in state.track.marks if mark.kind in kinds]
        assert wanted
        back = {"up": "down", "]": "["}[keys]
        seen, current = [], state
        while not (current := current.on_key(keys)).note:
            seen.append(current.n)
            assert current.at == current.recording.time(current.n)
        assert seen == list(dict.fromkeys(wanted))
        seen = []
        current = state.on_key("end")
        while not (current := current.on_key(back)).note:
            seen.append(current.n)
        assert seen[-1] == wanted[0]
        assert seen == sorted(seen, reverse=True)


def test_marks_match_the_log() -> None:
    log = races_by_hand.running(2, seed="42")
    for wait in (300, 400, 300, 9_000, 300):
        log.say(Moved(seat=1, move="draw"), wait)
    log.say(Moved(seat=1, move=RESTART), 300)
    log.say(Resigned(seat=1), 500)
    log.say(Moved(seat=2, move="draw"), 500)
    track = player(races_by_hand.closed(log).replay()).track
    assert [(mark.kind, mark.at) for mark in track.marks] == [("think", 10_000), ("restart", 10_600), ("end", 11_100)]
    assert track.at(track.ended.n - 1).outcome == "playing"
    assert track.at(track.ended.n).outcome == "resigned"


def test_undo_restart_and_home_are_marked() -> None:
    track = player(finished("gallery", 120)).track
    for kind, move in (("undo", UNDO), ("restart", RESTART)):
        marked = {mark.n for mark in track.marks if mark.kind == kind}
        assert marked == {step.n for step in track.steps if step.move == move}
        assert marked
    home = {mark.n for mark in track.marks if mark.kind == "home"}
    assert home == {
        after.n
        for before, after in pairwise(track.steps)
        if after.game.home > before.game.home and after.move not in (UNDO, RESTART)
    }


# Playing.


@pytest.mark.parametrize("speed", SPEEDS)
def test_playback_follows_the_clock_at_every_speed(speed: float) -> None:
    state = replace(player(finished("corners", 60)), speed=speed, playing=True, skipping=False)
    duration = state.recording.length / speed
    assert state.advance(duration / 2).at == pytest.approx(state.recording.length / 2)
    assert state.advance(duration * 0.999).playing
    assert not state.advance(duration * 1.001).playing
    bit = state
    for _ in range(10):
        bit = bit.advance(duration / 20)
    assert bit.at == pytest.approx(state.recording.length / 2)


def test_a_paused_player_does_not_advance() -> None:
    state = player(finished("corners", 20)).on_key("3")
    assert state.advance(10_000) == state
    assert state.due is None


def test_speed_is_limited_to_half_and_32() -> None:
    state = player(finished("corners", 20))
    assert pressed(state, *[">"] * 9).speed == 32
    assert pressed(state, *["<"] * 9).speed == 0.5
    assert replace(state, speed=3).on_key(">").speed == 4
    assert replace(state, speed=3).on_key("<").speed == 2


def test_long_pauses_are_shortened_by_default() -> None:
    log = races_by_hand.running(1, max_racers=1, seed="42")
    for wait in (1_000, 60_000, 1_000):
        log.say(Moved(seat=1, move="draw"), wait)
    state = replace(player(races_by_hand.closed(log).replay()), playing=True, speed=1.0, pause_ms=2_000)
    waits = []
    while (due := state.due) is not None:
        waits.append(due)
        state = state.advance(due)
    assert waits == pytest.approx([1_000, 2_000, 1_000, 1])
    long = replace(state.on_key("t").on_key("home"), playing=True)
    assert long.advance(1_000).due == pytest.approx(60_000)


def test_the_watched_racers_pauses_are_shortened() -> None:
    log = races_by_hand.running(2, seed="42")
    log.say(Moved(seat=1, move="draw"), 1_000)
    log.say(Moved(seat=2, move="draw"), 10_000)
    log.say(Moved(seat=1, move="draw"), 10_000)
    state = replace(player(races_by_hand.closed(log).replay()), playing=True, speed=1.0).advance(1_000)
    assert state.due == pytest.approx(2_000)
    assert state.advance(1_000).at == pytest.approx(11_000)
    assert state.on_key("c").advance(1_000).at == pytest.approx(6_000)


def test_space_at_the_end_restarts_playback() -> None:
    state = player(finished("corners", 20)).on_key("end")
    assert state.ended
    assert not state.playing
    again = state.on_key("space")
    assert (again.at, again.playing) == (0, True)


def test_advancing_by_due_misses_no_step() -> None:
    state = replace(player(finished("gallery", 80)), playing=True)
    seen = [state.track.index(state.n)]
    while (due := state.due) is not None:
        state = state.advance(due)
        seen.append(state.track.index(state.n))
    assert sorted(set(seen)) == list(range(len(state.track.steps)))


# Going to a moment.


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1:48", Moment(ms=108_000)),
        ("0:00", Moment(ms=0)),
        ("1:02:03.5", Moment(ms=3_723_599)),
        ("0:03.25", Moment(ms=3_250)),
        ("0:03.000", Moment(ms=3_000)),
        ("m35", Moment(move=35)),
        ("35", Moment(move=35)),
        (" M0 ", Moment(move=0)),
    ],
)
def test_a_moment_is_a_time_or_a_move(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize("text", ["", "x", "1:60", "1:2", "-1", "m", "1:48:", "999:00:00", "1.5", "m1:48", "\x1b[2J"])
def test_an_invalid_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid moment \(try a time such as 1:48"):
        parse_moment(text)


def test_a_typed_moment_is_sought() -> None:
    state = player(finished("corners", 60))
    assert state.go_to_text("m7").n == state.track.steps[7].n
    assert state.go_to_text("7").n == state.track.steps[7].n
    assert state.go_to_text("0:20").at == 20_000
    assert state.go_to_text("m9999").note == "ada made 45 moves"
    assert "is not a valid moment" in state.go_to_text("q").note


def test_digits_seek_to_tenths() -> None:
    state = player(finished("corners", 20))
    for digit in range(10):
        assert state.on_key(str(digit)).at == pytest.approx(state.recording.length * digit / 10)


def test_unknown_keys_change_nothing() -> None:
    state = player(finished("corners", 20))
    for key in ("x", "f1", "ctrl+x", "é", "²", "", "escape"):
        assert state.on_key(key) == state


# Racers.


def test_tab_watches_each_racer_in_turn() -> None:
    state = Player.of(Recording.of(finished("corners")))
    assert state.track.standing.place == 1
    assert {state.watched, state.on_key("tab").watched} == {0, 1}
    assert pressed(state, "tab", "tab") == state
    assert pressed(state, "tab", "shift+tab") == state
    with pytest.raises(ValueError, match="nobody played from seat 3"):
        state.watch_seat(3)


def test_comparing_shows_as_many_racers_as_fit() -> None:
    replay = races_by_hand.closed(races_by_hand.running(5)).replay()
    state = player(replay)
    assert list(state.shown(4)) == [0]
    state = state.on_key("c")
    assert [list(state.shown(most)) for most in (0, 1, 2, 4, 9)] == [[0], [0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert list(pressed(state, "tab", "tab").shown(2)) == [2, 3]
    assert list(pressed(state, "shift+tab").shown(2)) == [3, 4]
    alone = player(races_by_hand.closed(races_by_hand.running(1, max_racers=1)).replay()).on_key("c")
    assert (alone.comparing, alone.note) == (False, "there are no other racers")


# Replays of every kind.


def test_a_damaged_log_is_refused() -> None:
    replay = finished("corners")
    entries = list(replay.entries)
    entries[20] = structs.replace(entries[20], event=structs.replace(entries[20].event, move="redeal"))
    for damaged in (tuple(entries), replay.entries[:-1], replay.entries[1:], ()):
        with pytest.raises(Refused):
            Recording.of(structs.replace(replay, entries=damaged))


def test_a_race_without_a_deal_is_refused() -> None:
    log = races_by_hand.opened()
    log.say(Closed(secret=log.race.secret.hex()), 25 * 3_600_000)
    with pytest.raises(LookupError, match="has no deal"):
        Recording.of(log.replay())


def test_a_race_closed_late_ends_at_its_time_limit() -> None:
    log = races_by_hand.running(2, limit_ms=60_000)
    log.say(Moved(seat=1, move="draw"), 1_000)
    log.say(Closed(secret=log.race.secret.hex()), 86_400_000)
    state = player(log.replay())
    assert state.recording.length == 60_000
    assert state.track.ended.at == 60_000
    assert state.track.at(state.on_key("end").n).outcome == "timeout"


def test_a_scratched_racer_is_not_shown() -> None:
    log = races_by_hand.counting(3)
    for seat in (1, 3):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 10)
    log.say(Dealt(), log.race.options.start_delay_ms)
    recording = Recording.of(races_by_hand.closed(log).replay())
    assert [track.standing.seat for track in recording.tracks] == [1, 3]
