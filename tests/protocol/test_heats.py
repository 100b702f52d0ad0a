"""Heats: how races on the deals of a challenge differ from others."""

from typing import Any

import pytest
from msgspec.structs import replace

from samedeal import codec
from samedeal.errors import Refused
from samedeal.race.events import (
    SERVER,
    Closed,
    ClubLink,
    Counting,
    Dealt,
    Header,
    HeadStart,
    Joined,
    Nonce,
    Options,
    Readied,
)
from samedeal.race.race import OPEN_MS, Race, is_heat_valid
from samedeal.replays.replay import Replay, read
from support.challenges import HOUR_MS, ID, LoggedChallenge
from support.finished_races import SECRET, SIGNING_KEY, Logged, nonce, opened
from support.races_by_hand import joined

CLOSED = Closed(secret=SECRET.hex())


def heat(**options: Any) -> Logged:
    return LoggedChallenge.open(hours=48).heat(**options)


def refused(log: Logged, event: Any, wait: int = 0) -> str:
    with pytest.raises(Refused) as failure:
        log.say(event, wait)
    return failure.value.code


def counting(log: Logged) -> Logged:
    log.say(Joined(seat=1, player="player-1", name="ada"))
    log.say(Readied(seat=1))
    log.say(Counting())
    return log


def test_racers_need_no_nonces_and_those_they_send_change_nothing() -> None:
    log = heat(max_racers=2)
    log.say(joined(log, 1))
    log.say(Joined(seat=2, player="player-2", name="bo"))
    for seat in (1, 2):
        log.say(Readied(seat=seat))
    log.say(Counting())
    root = log.race.root
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    assert (log.race.root, log.race.has_all_nonces, log.race.header.sealed) == (root, True, False)
    log.say(Dealt(), 5_000)
    assert [bool(seat.run) for seat in log.race.roster] == [True, True]
    assert log.race.seed == f"{root}.0"


def test_a_heat_is_dealt_before_the_deadline_or_cancelled_at_it() -> None:
    log = counting(heat(max_racers=1))
    until = log.race.header.dealt_by - log.race.at
    assert refused(log, CLOSED, until - 1) == "untimely"
    assert refused(log, Dealt(), until) == "untimely"
    log.say(CLOSED, until)
    assert log.race.stage == "cancelled"
    log = counting(heat(max_racers=1))
    log.say(Dealt(), until - 1)
    assert refused(log, CLOSED) == "untimely"


def test_a_heat_without_a_countdown_expires_after_a_day_or_at_the_deadline() -> None:
    log = heat()
    assert log.race.expires_at == log.race.at + OPEN_MS
    late = LoggedChallenge.open(hours=2)
    late.challenge = replace(late.challenge, at=late.challenge.at + HOUR_MS)
    log = late.heat()
    assert log.race.expires_at == late.challenge.header.until
    assert refused(log, CLOSED, log.race.expires_at - log.race.at - 1) == "untimely"
    log.say(CLOSED, log.race.expires_at - log.race.at)
    assert log.race.stage == "cancelled"


def test_server_bots_do_not_take_part() -> None:
    assert refused(heat(), Joined(seat=1, player="player-1", name="bot", bot=True, by=SERVER)) == "not-allowed"


def test_a_heat_states_the_fourth_format_and_when_its_deal_is_public() -> None:
    log = counting(heat(max_racers=1))
    header = log.race.header
    assert (header.format, header.is_common, header.is_sealed_heat) == (4, True, True)
    shown = replace(header, options=replace(header.options, spectators="progress"))
    assert (shown.is_sealed_heat, replace(header, heat=None).is_sealed_heat) == (False, False)
    assert header.heat
    assert (header.dealt_by, header.reveals_at) == (header.heat.until, header.heat.reveals_at)
    log.say(CLOSED, header.dealt_by - log.race.at)
    replay = Replay.of(log.race, tuple(log.entries), SIGNING_KEY)
    assert read(codec.encode(replay, "json")) == read(codec.encode(replay, "msgpack")) == replay
    with pytest.raises(Refused, match=r"needs the format samedeal\.replay/4"):
        read(codec.encode(replay, "json").replace(b"replay/4", b"replay/3"))


def with_options(header: Header, **options: Any) -> Header:
    return replace(header, options=replace(header.options, **options))


@pytest.mark.parametrize(
    "change",
    [
        {"race": "brave-otter-4217"},
        {"race": f"{ID}-0"},
        {"race": f"x{ID}-2"},
        {"race": f"{ID}-1234567890"},
        {"seed": "1"},
        {"daily": True},
        {"follows": "a"},
        {"ghosts": ("a",)},
        {"head_start": HeadStart(player="player-1", ms=1)},
        {"heat": None},
        {"best_of": 3},
        {"finishers": "all"},
        {"spectators": "open"},
        {"limit_ms": 360_001},
    ],
    ids=str,
)
def test_a_header_of_a_heat_has_nothing_that_shows_its_deal_or_gives_an_advantage(change: dict[str, Any]) -> None:
    header = heat().race.header
    assert is_heat_valid(header)
    is_option = change.keys() <= set(Options.__struct_fields__)
    other = with_options(header, **change) if is_option else replace(header, **change)
    assert not is_heat_valid(other)
    with pytest.raises(Refused):
        Race.opened(other, SECRET)


def test_only_races_on_sealed_deals_are_in_a_club_and_heats_are_in_that_of_their_challenge() -> None:
    link = ClubLink(club="merry-heron-77", h="0" * 64)
    sealed = opened("corners").race.header
    assert Race.opened(replace(sealed, club=link), SECRET).header.format == 4
    daily = opened("corners", daily=True).race.header
    for header in (heat().race.header, replace(sealed, seed="1"), daily):
        with pytest.raises(Refused, match="on sealed deals"):
            Race.opened(replace(header, club=link), SECRET)
