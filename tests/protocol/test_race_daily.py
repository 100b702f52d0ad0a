"""Daily deals in the fold."""

from hashlib import sha256
from typing import Any

import pytest
from msgspec import structs

from samedeal.commitments import commitment
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    Closed,
    Counting,
    Dealt,
    HeadStart,
    Moved,
    Nonce,
    Options,
    Readied,
)
from samedeal.race.race import Race
from support.finished_races import OPENED_AT, SECRET, Logged, nonce
from support.race_steps import every_game, play, refused
from support.races_by_hand import counting, joined, opened, run_of

DAY_MS, HOUR_MS = 86_400_000, 3_600_000


MIDNIGHT = OPENED_AT - OPENED_AT % DAY_MS + DAY_MS
"""The end of the day on which races are opened by default."""


def sit(log: Logged, racers: int = 2) -> Logged:
    """Return the race in its countdown, with racers without commitments."""
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


def test_a_daily_commitment_covers_the_game_and_the_day() -> None:
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


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": "42"},
        {"variant": {"refill": "waste"}},
        {"head_start": HeadStart(player="player-1", ms=1_000)},
        {"options": Options(limit_ms=360_000, end_when_stuck=True)},
    ],
)
def test_a_daily_deal_is_the_same_for_all(fields: dict[str, Any]) -> None:
    header = opened(daily=True).race.header
    with pytest.raises(Refused, match="no seed") as refusal:
        Race.opened(structs.replace(header, **fields), SECRET)
    assert refusal.value.code == "bad-replay"


def test_a_daily_deal_must_be_dealt_before_its_day_ends() -> None:
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


def test_a_daily_race_without_a_countdown_expires_when_the_day_ends() -> None:
    daily, other = opened(daily=True), opened()
    for log in (daily, other):
        assert refused(log, Closed(secret=SECRET.hex()), MIDNIGHT - OPENED_AT - 1) == "untimely"
    assert refused(other, Closed(secret=SECRET.hex()), MIDNIGHT - OPENED_AT) == "untimely"
    daily.say(Closed(secret=SECRET.hex()), MIDNIGHT - OPENED_AT)
    assert daily.race.stage == "cancelled"


def test_a_running_daily_race_continues_past_midnight() -> None:
    log = sit(opened(daily=True, limit_ms=2 * HOUR_MS))
    log.say(Dealt(), MIDNIGHT - OPENED_AT - 1)
    play(log, 1, ["draw"], wait=1)
    assert log.race.at == MIDNIGHT
    play(log, 1, ["draw"], wait=2 * HOUR_MS - 2)
    assert refused(log, Moved(seat=1, move="draw"), 1) == "race-over"
    log.say(Closed(secret=SECRET.hex()), 1)
    assert (log.race.stage, log.race.at) == ("over", log.race.header.reveals_at - 1)


def test_a_daily_deal_is_revealed_once_no_race_on_it_can_run() -> None:
    assert opened(daily=True).race.header.reveals_at == MIDNIGHT + 2 * HOUR_MS
    assert opened().race.header.reveals_at == opened(seed="42").race.header.reveals_at == 0
