"""The race: one fold, told event by event with a clock that the test sets."""

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from samedeal.errors import IllegalMove, Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery
from samedeal.proof.commitments import commitment
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
from samedeal.race.race import MAX_SEAT_ENTRIES, MAX_SEATS, OPEN_MS, Race
from samedeal.race.run import MAX_MOVES, RESTART, UNDO, Run
from samedeal.race.seat import Standing
from samedeal.race.undo_history import UndoHistory
from samedeal.replays import replay
from samedeal.values import PersistentList, replace
from support.finished_races import OPENED_AT, SECRET, Logged, nonce
from support.races_by_hand import at_random, closed, counting, joined, opened, run_of, running

WINS = msgspec.json.decode((Path(__file__).parents[1] / "vectors.json").read_bytes())["wins"]
WRONG = "f" * 64

every_game = pytest.mark.parametrize("slug", GAMES)
luck = st.integers(0, 2**64 - 1).map(Random)
few = settings(derandomize=True, deadline=None, max_examples=25)


def refused(log: Logged, event: AnyEvent, wait: int = 0) -> str:
    """The code with which an event is refused; one that is accepted fails the test."""
    before, count = log.race, len(log.entries)
    with pytest.raises(Refused) as refusal:
        log.say(event, wait)
    assert log.race is before
    assert len(log.entries) == count
    return refusal.value.code


def play(log: Logged, seat: int, moves: Iterable[str], wait: int = 10) -> None:
    for move in moves:
        log.say(Moved(seat=seat, move=move), wait)


def standing(race: Race, seat: int) -> Standing:
    return next(standing for standing in race.standings() if standing.seat == seat)


def play_to_the_end(log: Logged, seat: int = 1, choose: Callable[[Game], str] = lambda game: game.moves()[-1]) -> None:
    while not run_of(log.race, seat).game.over:
        log.say(Moved(seat=seat, move=choose(run_of(log.race, seat).game)), 10)


@cache
def seed_that_ends(slug: str, outcome: str) -> str:
    """A seed with which always making the last move listed ends like that."""
    for seed in map(str, range(300)):
        game = GAMES[slug].from_seed(seed)
        while game.moves():
            game = game.after(game.moves()[-1])
        if game.outcome == outcome:
            return seed
    raise AssertionError(f"no seed of {slug} ends {outcome}")


# Before the first entry.


def test_a_race_begins_where_its_header_says() -> None:
    race = opened("gallery").race
    assert (race.n, race.at, race.stage, race.roster, race.deal) == (0, OPENED_AT, "open", (), None)
    assert (race.id, race.game) == ("calm-otter-42", Gallery)


@pytest.mark.parametrize("change", [{"game": "whist"}, {"rules": "corners/2"}, {"game": "gallery"}])
def test_rules_that_are_not_known_here_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(Refused, match="rules") as refusal:
        Race.opened(structs.replace(opened().race.header, **change), SECRET)
    assert refusal.value.code == "unsupported-version"


def test_a_secret_that_was_not_committed_to_is_refused() -> None:
    with pytest.raises(Refused) as refusal:
        Race.opened(opened().race.header, bytes(32))
    assert refusal.value.code == "bad-replay"


# Seats.


def test_seats_are_numbered_in_the_order_of_joining() -> None:
    log = opened()
    assert refused(log, joined(log, 2)) == "untimely"
    log.say(joined(log, 1))
    assert refused(log, joined(log, 3)) == "untimely"
    log.say(joined(log, 2))
    assert [(seat.number, seat.name, seat.ready) for seat in log.race.roster] == [
        (1, "Name 1", False),
        (2, "Name 2", False),
    ]


def test_a_race_holds_so_many_racers_and_no_more() -> None:
    log = opened(max_racers=2)
    log.say(joined(log, 1))
    log.say(joined(log, 2))
    assert refused(log, joined(log, 3)) == "race-full"
    log.say(Left(seat=1))
    log.say(joined(log, 3))
    assert [seat.number for seat in log.race.roster] == [2, 3]


def test_a_player_has_one_seat() -> None:
    log = opened()
    log.say(joined(log, 1))
    assert refused(log, structs.replace(joined(log, 2), player="player-1")) == "untimely"


def test_a_seat_at_a_sealed_deal_needs_a_commitment_and_at_an_open_one_none() -> None:
    log = opened()
    assert refused(log, structs.replace(joined(log, 1), commitment=None)) == "nonce-mismatch"
    log = opened(seed="42")
    log.say(structs.replace(joined(log, 1), commitment=None))
    assert log.race.seat(1).commitment is None


def test_nobody_joins_once_the_countdown_has_begun() -> None:
    log = counting()
    assert refused(log, joined(log, 3)) == "untimely"
    log = running()
    assert refused(log, joined(log, 3)) == "untimely"


def test_who_has_left_may_come_back_to_the_same_seat() -> None:
    log = opened()
    log.say(joined(log, 1))
    log.say(Left(seat=1))
    assert [seat.number for seat in log.race.roster] == []
    assert log.race.seat_of("player-1") is None
    assert refused(log, Readied(seat=1)) == refused(log, Left(seat=1)) == "not-seated"
    log.say(joined(log, 2))
    assert refused(log, structs.replace(joined(log, 3), player="player-1")) == "untimely"
    log.say(Readied(seat=2))
    log.say(joined(log, 1))
    assert [seat.player for seat in log.race.roster] == ["player-1", "player-2"]
    assert [seat.ready for seat in log.race.roster] == [False, True]
    assert log.race.seat(1).entries == 3


def test_coming_and_going_has_an_end() -> None:
    log = opened(max_racers=1)
    for _ in range(20):
        log.say(joined(log, 1))
        log.say(Left(seat=1))
    log.race = replace(log.race, seats=tuple(replace(log.race.seats[0], number=n + 1) for n in range(MAX_SEATS)))
    assert refused(log, structs.replace(joined(log, 2), seat=MAX_SEATS + 1)) == "race-full"
    log.say(joined(log, 1))


def test_once_all_seats_were_used_new_players_get_those_that_were_left() -> None:
    log = opened(max_racers=2)
    log.say(joined(log, 1))
    for seat in range(2, MAX_SEATS + 1):
        log.say(joined(log, seat))
        log.say(Left(seat=seat))
    newcomer = structs.replace(joined(log, 2), player="newcomer", name="New")
    assert log.race.seat_for("newcomer") == 2
    for wrong in (1, 3, MAX_SEATS + 1):
        assert refused(log, structs.replace(newcomer, seat=wrong)) in ("untimely", "race-full")
    log.say(newcomer)
    assert [seat.name for seat in log.race.roster] == ["Name 1", "New"]
    assert log.race.seat(2).player == "newcomer"
    assert log.race.seat_for("player-2") == 3  # whose seat somebody else has now
    log.say(Left(seat=2))
    assert log.race.seat_for("newcomer") == 2


@pytest.mark.parametrize("number", [0, 2, 99])
@pytest.mark.parametrize("event", [Left, Readied, Unreadied, Resigned, Taken])
def test_seats_that_nobody_has_do_nothing(event: Callable[..., AnyEvent], number: int) -> None:
    log = opened()
    log.say(joined(log, 1))
    assert refused(log, event(seat=number)) == "not-seated"


def test_nobody_leaves_or_gets_unready_after_the_countdown_has_begun() -> None:
    for log in (counting(), running()):
        for event in (Left(seat=1), Readied(seat=1), Unreadied(seat=1)):
            assert refused(log, event) == "untimely"


def test_a_seat_remembers_the_entry_that_took_it_last() -> None:
    log = running()
    assert [seat.taken for seat in log.race.seats] == [1, 3]
    log.say(Taken(seat=1))
    assert [seat.taken for seat in log.race.seats] == [log.race.n, 3]


# The countdown.


def test_the_countdown_begins_when_all_are_ready_and_they_are_two() -> None:
    log = opened()
    assert refused(log, Counting()) == "untimely"
    log.say(joined(log, 1))
    log.say(Readied(seat=1))
    assert refused(log, Counting()) == "untimely"
    log.say(joined(log, 2))
    assert refused(log, Counting()) == "untimely"
    log.say(Readied(seat=2))
    log.say(Unreadied(seat=1))
    assert refused(log, Counting()) == "untimely"
    log.say(Readied(seat=1))
    log.say(Counting())
    assert (log.race.stage, log.race.starts_at) == ("countdown", log.race.at + 5_000)
    assert refused(log, Counting()) == "untimely"


def test_one_racer_is_enough_in_a_race_for_one() -> None:
    log = opened(max_racers=1)
    assert refused(log, Counting()) == "untimely"
    log.say(joined(log, 1))
    assert refused(log, Counting()) == "untimely"
    log.say(Readied(seat=1))
    log.say(Counting())
    assert log.race.stage == "countdown"


def test_who_has_left_need_not_be_ready() -> None:
    log = opened()
    for seat in (1, 2, 3):
        log.say(joined(log, seat))
    log.say(Readied(seat=1))
    log.say(Readied(seat=3))
    log.say(Left(seat=2))
    log.say(Counting())
    assert log.race.stage == "countdown"


def test_a_nonce_is_opened_once_and_only_during_the_countdown() -> None:
    log = opened()
    log.say(joined(log, 1))
    assert refused(log, Nonce(seat=1, nonce=nonce(1).hex())) == "untimely"
    log = counting()
    assert refused(log, Nonce(seat=1, nonce=WRONG)) == "nonce-mismatch"
    assert refused(log, Nonce(seat=1, nonce=nonce(2).hex())) == "nonce-mismatch"
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    assert refused(log, Nonce(seat=1, nonce=nonce(1).hex())) == "untimely"
    log.say(Dealt(), 5_000)
    assert refused(log, Nonce(seat=2, nonce=nonce(2).hex())) == "untimely"


def test_the_deal_comes_when_the_countdown_is_over_and_once() -> None:
    log = opened()
    assert refused(log, Dealt()) == "untimely"
    log = counting(start_delay_ms=700)
    assert refused(log, Dealt(), 699) == "untimely"
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    log.say(Dealt(), 700)
    assert (log.race.stage, log.race.started_at) == ("running", log.race.at)
    assert refused(log, Dealt()) == "untimely"


@every_game
def test_a_sealed_deal_follows_from_the_secret_and_all_nonces_in_the_order_of_seats(slug: str) -> None:
    log = counting(3, slug=slug)
    for seat in (3, 1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(k=7), 5_000)
    nonces = ",".join(byte * 32 for byte in ("01", "02", "03"))
    root = sha256(f"samedeal/1/root|{SECRET.hex()}|{nonces}".encode()).hexdigest()
    assert log.race.seed == f"{root}.7"
    assert log.race.deal == f"{slug}:{root}.7"
    assert [run_of(log.race, seat).game for seat in (1, 2, 3)] == [GAMES[slug].from_seed(f"{root}.7")] * 3


def test_an_open_deal_is_that_of_its_seed_in_its_variant_and_needs_no_nonce() -> None:
    log = counting(slug="gallery", seed="31", variant={"cap": False})
    log.say(Dealt(), 5_000)
    assert log.race.deal == "gallery:31"
    assert run_of(log.race).game == Gallery.from_seed("31", cap=False) != Gallery.from_seed("31")
    assert [racer.outcome for racer in log.race.standings()] == ["playing", "playing"]


def test_a_racer_whose_nonce_does_not_come_is_scratched() -> None:
    log = counting(3)
    for seat in (3, 1):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), 5_000)
    nonces = ",".join(nonce(seat).hex() for seat in (1, 3))
    root = sha256(f"samedeal/1/root|{SECRET.hex()}|{nonces}".encode()).hexdigest()
    assert log.race.seed == f"{root}.0"
    assert refused(log, Moved(seat=2, move="draw")) == refused(log, Resigned(seat=2)) == "not-playing"
    last = log.race.standings()[-1]
    assert (last.seat, last.place, last.outcome, last.done, last.attempts) == (2, 3, "scratched", True, 0)
    play(log, 1, ["draw"])
    closed(log)
    assert (log.race.stage, standing(log.race, 2).outcome) == ("over", "scratched")


def test_a_race_in_which_nobody_opens_the_nonce_is_called_off() -> None:
    log = counting()
    assert not log.race.finished(log.race.at)
    log.say(Dealt(), 5_000)
    assert log.race.finished(log.race.at)
    log.say(Closed(secret=SECRET.hex()))
    assert log.race.stage == "cancelled"
    assert [racer.outcome for racer in log.race.standings()] == ["scratched", "scratched"]


# Daily deals.

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
MIDNIGHT = OPENED_AT - OPENED_AT % DAY_MS + DAY_MS
"""When the day is over on which all races here are opened that are not opened at another time."""


def sit(log: Logged, racers: int = 2) -> Logged:
    """The race with racers who are ready and have promised no nonce, in its countdown."""
    for seat in range(1, racers + 1):
        log.say(structs.replace(joined(log, seat), commitment=None))
        log.say(Readied(seat=seat))
    log.say(Counting())
    return log


@every_game
def test_a_daily_deal_follows_from_the_secret_alone(slug: str) -> None:
    root = sha256(f"samedeal/1/root|{SECRET.hex()}|".encode()).hexdigest()
    alone, others = sit(opened(slug, daily=True, race_id="one", max_racers=1), 1), sit(opened(slug, daily=True), 3)
    with_nonces = counting(slug=slug, daily=True, race_id="another")
    with_nonces.say(Nonce(seat=2, nonce=nonce(2).hex()))
    for log in (alone, others, with_nonces):
        assert (log.race.root, log.race.has_all_nonces) == (root, True)
        log.say(Dealt(k=3), 5_000)
        assert log.race.deal == f"{slug}:{root}.3"
        assert {racer.outcome for racer in log.race.standings()} == {"playing"}
        assert run_of(log.race).game == GAMES[slug].from_seed(f"{root}.3")


def test_a_daily_deal_is_committed_to_for_its_game_and_its_day() -> None:
    header = opened(daily=True).race.header
    assert header.commitment == sha256(f"samedeal/1/daily|corners|2023-11-14|{SECRET.hex()}".encode()).hexdigest()
    others: list[dict[str, Any]] = [
        {"game": "the-edge", "rules": "the-edge/1"},
        {"opened_at": MIDNIGHT},
        {"opened_at": MIDNIGHT - DAY_MS - 1},
        {"daily": False},
        {"commitment": commitment(header.race, SECRET)},
    ]
    for other in others:
        with pytest.raises(Refused, match="does not match the commitment") as refusal:
            Race.opened(structs.replace(header, **other), SECRET)
        assert refusal.value.code == "bad-replay"
    for same in ({"opened_at": MIDNIGHT - 1}, {"opened_at": MIDNIGHT - DAY_MS}, {"race": "other-race-1"}):
        assert Race.opened(structs.replace(header, **same), SECRET).root == opened(daily=True).race.root


@pytest.mark.parametrize("fields", [{"seed": "42"}, {"variant": {"refill": "waste"}}])
def test_a_daily_deal_has_neither_seed_nor_variant(fields: dict[str, Any]) -> None:
    header = opened(daily=True).race.header
    with pytest.raises(Refused, match="neither a seed") as refusal:
        Race.opened(structs.replace(header, **fields), SECRET)
    assert refusal.value.code == "bad-replay"


def test_a_daily_deal_comes_before_its_day_is_over_or_not_at_all() -> None:
    for wait, called_off in ((MIDNIGHT - OPENED_AT - 1, False), (MIDNIGHT - OPENED_AT, True)):
        log = sit(opened(daily=True))
        assert log.race.finished(OPENED_AT + wait) == called_off
        if called_off:
            assert refused(log, Dealt(), wait) == "untimely"
            log.say(Closed(secret=SECRET.hex()), wait)
            assert (log.race.stage, log.race.deal) == ("cancelled", None)
        else:
            assert refused(log, Closed(secret=SECRET.hex()), wait) == "untimely"
            log.say(Dealt(), wait)


def test_a_daily_race_that_waits_for_its_countdown_is_called_off_when_the_day_is_over() -> None:
    daily, other = opened(daily=True), opened()
    for log in (daily, other):
        assert refused(log, Closed(secret=SECRET.hex()), MIDNIGHT - OPENED_AT - 1) == "untimely"
    assert refused(other, Closed(secret=SECRET.hex()), MIDNIGHT - OPENED_AT) == "untimely"
    daily.say(Closed(secret=SECRET.hex()), MIDNIGHT - OPENED_AT)
    assert daily.race.stage == "cancelled"


def test_a_daily_deal_that_was_dealt_is_played_over_midnight_until_its_time_is_up() -> None:
    log = sit(opened(daily=True, limit_ms=2 * HOUR_MS))
    log.say(Dealt(), MIDNIGHT - OPENED_AT - 1)
    play(log, 1, ["draw"], wait=1)
    assert log.race.at == MIDNIGHT
    play(log, 1, ["draw"], wait=2 * HOUR_MS - 2)
    assert refused(log, Moved(seat=1, move="draw"), 1) == "race-over"
    log.say(Closed(secret=SECRET.hex()), 1)
    assert (log.race.stage, log.race.at) == ("over", log.race.reveals_at - 1)


def test_the_deal_of_a_daily_race_may_be_told_when_none_can_run_any_more_and_that_of_others_with_the_race() -> None:
    assert opened(daily=True).race.reveals_at == MIDNIGHT + 2 * HOUR_MS
    assert opened().race.reveals_at == opened(seed="42").race.reveals_at == 0


@pytest.mark.parametrize(
    ("time", "date"),
    [
        ("1970-01-01T00:00:00.000", "1970-01-01"),
        ("1999-12-31T23:59:59.999", "1999-12-31"),
        ("2000-01-01T00:00:00.000", "2000-01-01"),
        ("2000-02-29T12:00:00.000", "2000-02-29"),
        ("2024-02-28T23:59:59.999", "2024-02-28"),
        ("2024-02-29T00:00:00.000", "2024-02-29"),
        ("2024-02-29T23:59:59.999", "2024-02-29"),
        ("2024-03-01T00:00:00.000", "2024-03-01"),
        ("2100-02-28T23:59:59.999", "2100-02-28"),
        ("2100-03-01T00:00:00.000", "2100-03-01"),
        ("9999-12-31T23:59:59.999", "9999-12-31"),
    ],
)
def test_a_day_is_a_date_by_utc_from_midnight_to_midnight(time: str, date: str) -> None:
    since = datetime.fromisoformat(time).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    opened_at = since // timedelta(milliseconds=1)
    header = opened(daily=True, opened_at=opened_at).race.header
    assert header.date == date
    assert header.commitment == sha256(f"samedeal/1/daily|corners|{date}|{SECRET.hex()}".encode()).hexdigest()
    assert header.day_ends_at > opened_at >= header.day_ends_at - DAY_MS
    assert header.day_ends_at % DAY_MS == 0


# Moves.


def test_nobody_moves_or_resigns_before_the_start() -> None:
    for log in (counting(), opened()):
        if not log.race.seats:
            log.say(joined(log, 1))
        assert refused(log, Moved(seat=1, move="draw")) == refused(log, Resigned(seat=1)) == "untimely"


@every_game
def test_a_move_is_judged_by_the_game_and_changes_one_run_only(slug: str) -> None:
    log = running(slug=slug)
    deal = run_of(log.race).game
    assert refused(log, Moved(seat=1, move="nonsense")) == "illegal-move"
    assert refused(log, Moved(seat=3, move=deal.moves()[0])) == "not-seated"
    play(log, 1, deal.moves()[:1])
    assert run_of(log.race, 1).game == deal.after(deal.moves()[0])
    assert run_of(log.race, 1).moves == deal.moves()[:1]
    assert run_of(log.race, 2) == Run(log.race.options, deal, deal, peak=deal.home)


def test_the_time_is_up_to_the_millisecond() -> None:
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


def test_who_has_resigned_does_nothing_more() -> None:
    log = running()
    log.say(Resigned(seat=1), 5)
    for event in (Moved(seat=1, move="draw"), Moved(seat=1, move=RESTART), Resigned(seat=1)):
        assert refused(log, event) == "not-playing"
    assert standing(log.race, 1).outcome == "resigned"
    play(log, 2, ["draw"])


def test_a_racer_makes_only_so_many_moves() -> None:
    log = running()
    seat = replace(log.race.seat(1), run=replace(run_of(log.race), moves=PersistentList(("draw",) * (MAX_MOVES - 1))))
    log.race = replace(log.race, seats=(seat, log.race.seat(2)))
    play(log, 1, ["draw"])
    for move in ("draw", UNDO, RESTART):
        assert refused(log, Moved(seat=1, move=move)) == "not-allowed"
    play(log, 2, ["draw"])


def test_a_seat_has_only_so_much_of_the_log() -> None:
    log = opened()
    log.say(joined(log, 1))
    log.say(joined(log, 2))
    log.race = replace(log.race, seats=(replace(log.race.seat(1), entries=MAX_SEAT_ENTRIES - 1), log.race.seat(2)))
    log.say(Readied(seat=1))
    for event in (Unreadied(seat=1), Taken(seat=1)):
        assert refused(log, event) == "not-allowed"
    log.say(Readied(seat=2))


def test_every_log_fits_into_a_replay() -> None:
    about_no_seat = 3  # counting, dealt, closed
    assert MAX_SEATS * MAX_SEAT_ENTRIES + about_no_seat <= replay.MAX_ENTRIES


def test_time_never_runs_backwards() -> None:
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
def test_undo_goes_back_to_the_last_reveal_and_not_beyond(slug: str, random: Random) -> None:
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
    """All that can be gone back to, the newest last."""
    found: list[Game] = []
    while past:
        position, past = past.back()
        found.insert(0, position)
    return found


def test_the_way_back_may_be_left_for_another_at_any_place() -> None:
    """Positions that are not kept follow from those that are, however one has gone to and fro."""
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


def test_every_game_has_moves_that_can_be_undone_and_all_but_one_have_others() -> None:
    undoable, final = set[str](), set[str]()
    for slug, win in WINS.items():
        game = GAMES[slug].from_seed(win["seed"])
        for move in win["moves"]:
            later = game.after(move)
            (final if game.reveals(later) else undoable).add(slug)
            game = later
    assert undoable == set(GAMES)
    assert final == set(GAMES) - {"corner-stones"}


def test_undo_takes_back_what_followed_by_itself_and_costs_a_move_of_its_own() -> None:
    log = running(slug="corner-stones")
    before = run_of(log.race).game
    play(log, 1, [before.moves()[0], UNDO])
    run = run_of(log.race)
    assert (run.game, tuple(run.moves), run.attempts) == (before, (before.moves()[0], UNDO), 1)


def test_a_race_may_be_run_without_undo() -> None:
    log = running(slug="corner-stones", undo=False)
    play(log, 1, run_of(log.race).game.moves()[:1])
    assert refused(log, Moved(seat=1, move=UNDO)) == "not-allowed"
    assert not run_of(log.race).may(UNDO)


@pytest.mark.parametrize(("slug", "outcome"), [("the-edge", "lost"), ("gallery", "over"), ("corner-stones", "won")])
def test_an_end_other_than_stuck_cannot_be_undone(slug: str, outcome: str) -> None:
    end = next(
        run
        for seed in map(str, range(3_000))
        if (run := _ended(slug, WINS[slug] if outcome == "won" else {"seed": seed})).game.outcome == outcome
        and run.undo_history
    )
    with pytest.raises(IllegalMove, match=f"The game is {outcome}"):
        end.after(UNDO, 0)
    assert not end.may(UNDO)


def test_stuck_can_be_undone_where_nothing_was_revealed_since() -> None:
    ends = (_ended("corners", {"seed": seed}, attempts=1) for seed in map(str, range(3_000)))
    run = next(run for run in ends if run.undo_history and not run.game.won)
    assert run.game.outcome == "stuck"
    assert not run.done
    again = run.after(UNDO, 0)
    assert again.game.outcome == "playing"
    assert structs.replace(run, options=structs.replace(run.options, undo=False)).done


def _ended(slug: str, play: dict[str, Any], **options: Any) -> Run:
    """A run to its end: the moves given, or any."""
    deal, chance = GAMES[slug].from_seed(play["seed"]), random.Random(play["seed"])
    run = Run(opened(slug, **options).race.options, deal, deal)
    for move in play.get("moves", ()):
        run = run.after(move, 0)
    while moves := run.game.moves():
        run = run.after(chance.choice(moves), 0)
    return run


# Restart.


@every_game
def test_restart_deals_the_same_again_while_the_clock_runs_on(slug: str) -> None:
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


def test_the_last_attempt_is_the_last() -> None:
    log = running(slug="the-edge", seed=seed_that_ends("the-edge", "lost"), attempts=2)
    play(log, 1, [run_of(log.race).game.moves()[0], RESTART])
    play(log, 1, run_of(log.race).game.moves()[:1])
    assert refused(log, Moved(seat=1, move=RESTART)) == "not-allowed"
    assert not standing(log.race, 1).done
    play_to_the_end(log)
    assert standing(log.race, 1).done
    assert refused(log, Moved(seat=1, move="a1")) == "not-playing"


def test_an_end_may_be_restarted_where_the_race_allows_it() -> None:
    log = running(slug="the-edge", seed=seed_that_ends("the-edge", "lost"))
    play_to_the_end(log)
    racer = standing(log.race, 1)
    assert (racer.outcome, racer.done) == ("lost", False)
    assert refused(log, Moved(seat=1, move="a1")) == "illegal-move"
    play(log, 1, [RESTART])
    assert standing(log.race, 1).outcome == "playing"


def test_the_best_attempt_counts_with_the_time_when_it_first_got_there() -> None:
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


def test_undo_does_not_lower_the_peak() -> None:
    log = running(slug="corner-stones", seed="1")
    game = run_of(log.race).game
    home = next(move for move in game.moves() if game.after(move).home > game.home)
    play(log, 1, [home, UNDO], wait=70)
    racer = standing(log.race, 1)
    assert (run_of(log.race).game.home, racer.home, racer.ms) == (0, 1, 70)
    assert racer.progress == 1 / 96


@pytest.mark.parametrize("seed", ["0", "31"])
def test_what_is_home_in_the_deal_counts_from_the_start(seed: str) -> None:
    log = running(slug="gallery", seed=seed)
    dealt = run_of(log.race).game.home
    assert dealt > 0
    assert [(racer.home, racer.ms, racer.place) for racer in log.race.standings()] == [(dealt, 0, 1)] * 2
    play(log, 2, ["deal"], wait=100)
    gained = run_of(log.race, 2).game.home - dealt
    assert standing(log.race, 2).ms == (100 if gained else 0)


# Standings.


@every_game
def test_a_win_counts_from_its_moment_and_is_final(slug: str) -> None:
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


def test_the_others_follow_by_the_most_cards_home_then_by_who_got_there_first() -> None:
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


def test_before_the_deal_the_standings_say_who_is_ready() -> None:
    log = opened()
    for seat in (1, 2, 3):
        log.say(joined(log, seat))
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
def test_an_outcome_is_the_games_own_and_stays_so_after_the_race(slug: str, outcome: str) -> None:
    log = running(slug=slug, seed=seed_that_ends(slug, outcome), attempts=1)
    play_to_the_end(log)
    assert standing(log.race, 1).outcome == outcome
    closed(log)
    assert [standing(log.race, seat).outcome for seat in (1, 2)] == [outcome, "resigned"]


# The end.


def test_a_race_is_finished_when_everybody_has_stopped() -> None:
    log = running(3)
    assert refused(log, Closed(secret=SECRET.hex())) == "untimely"
    for seat in (1, 2, 3):
        assert not log.race.finished(log.race.at)
        log.say(Resigned(seat=seat))
    assert log.race.finished(log.race.at)
    assert refused(log, Closed(secret=WRONG)) == "untimely"
    log.say(Closed(secret=SECRET.hex()))
    assert (log.race.stage, log.race.closed) == ("over", True)


def test_nothing_follows_the_closing() -> None:
    log = closed(running())
    late: list[AnyEvent] = [
        *(Taken(seat=1), Moved(seat=1, move="draw"), Resigned(seat=1), Counting(), Dealt(), joined(log, 3)),
        *(Left(seat=1), Readied(seat=1), Unreadied(seat=1), Nonce(seat=1, nonce=WRONG), Closed(secret=SECRET.hex())),
    ]
    assert {refused(log, event) for event in late} == {"race-over"}


def test_a_race_that_nobody_starts_is_called_off_after_a_day() -> None:
    log = opened()
    log.say(joined(log, 1))
    assert refused(log, Closed(secret=SECRET.hex()), OPEN_MS - 1) == "untimely"
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    assert log.race.stage == "cancelled"
    assert log.race.deal is None


def test_a_countdown_is_never_called_off() -> None:
    log = counting()
    assert refused(log, Closed(secret=SECRET.hex()), 2 * OPEN_MS) == "untimely"


# The log.


def test_no_entry_can_be_changed_and_still_belong() -> None:
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


def test_entries_belong_in_their_order_and_to_their_race() -> None:
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
def test_whatever_happens_the_fold_agrees_with_itself(slug: str, options: dict[str, Any], random: Random) -> None:
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
