"""Server bots: their nonces follow from the secret, and they play from nothing but the views of their seats."""

from typing import Any

import pytest
from msgspec import structs

from samedeal.commitments import nonce_commitment, server_nonce
from samedeal.computer.bot import MAX_ATTEMPTS, Seen
from samedeal.computer.bots import BOTS, LEVELS
from samedeal.deck import Words
from samedeal.errors import Refused
from samedeal.proof.verification import verify
from samedeal.race.due import due, due_at, released_at
from samedeal.race.events import NEVER, SERVER, Closed, Counting, Dealt, Joined, Left, Nonce, Readied, Resigned
from samedeal.race.run import RESTART
from samedeal.race.server_bots import (
    SERVER_BOTS,
    Level,
    add_bot_events,
    bots_playing,
    follow_events,
    levels,
    people_playing,
    server_bot_id,
)
from samedeal.wire.bot_player import RESIGN, choose
from samedeal.wire.views import view
from support.finished_races import SECRET, Logged, nonce
from support.races_by_hand import closed, joined, opened, run_of, seated, with_server_bot

AWAY_MS = 30_000


def with_bots(number: int = 1, **options: Any) -> Logged:
    """A race with one player and some bots, in which nobody else is ready."""
    log = seated(**options)
    for _ in range(number):
        for event in add_bot_events(log.race):
            log.say(event)
    return log


def test_bots_have_names_ids_and_nonces_of_their_own() -> None:
    log = with_bots(3)
    bots = [seat for seat in log.race.roster if seat.server]
    assert tuple(seat.name for seat in bots) == tuple(SERVER_BOTS)
    assert levels(log.race) == {2: "regular", 3: "beginner", 4: "expert"}
    assert len({server_bot_id(name) for name in SERVER_BOTS}) == 3
    assert all(seat.bot and seat.ready for seat in bots)
    promises = [nonce_commitment(log.race.id, server_nonce(SECRET, log.race.id, seat.number)) for seat in bots]
    assert [seat.commitment for seat in bots] == promises
    assert len(set(promises)) == 3
    with pytest.raises(Refused, match="3 bots"):
        add_bot_events(log.race)
    log.say(Left(seat=3))
    again, _ = add_bot_events(log.race)
    assert isinstance(again, Joined)
    assert (again.seat, again.name) == (3, "Deuce")


def test_the_bot_of_a_level_joins_once() -> None:
    log = with_bots(0)
    choices: tuple[tuple[Level | None, str], ...] = (("expert", "Joker"), ("beginner", "Deuce"), (None, "Trey"))
    for level, name in choices:
        joining, _ = events = add_bot_events(log.race, level)
        assert isinstance(joining, Joined)
        assert joining.name == name
        for event in events:
            log.say(event)
        if level == "expert":
            with pytest.raises(Refused, match="Joker, the expert bot, is already in this race") as caught:
                add_bot_events(log.race, level)
            assert caught.value.code == "not-allowed"
    assert levels(log.race) == {2: "expert", 3: "beginner", 4: "regular"}


def test_a_guest_with_the_name_of_a_server_bot_has_no_level() -> None:
    log = opened()
    log.say(structs.replace(joined(log, 1, "Joker"), bot=True))
    assert levels(log.race) == view(log.race, 1, log.race.at).levels == {}


def test_spectators_who_do_not_see_the_standings_see_no_levels() -> None:
    log = with_server_bot("corners", moves=0, spectators="after")
    assert view(log.race, 1, log.race.at).levels == {2: "regular"}
    assert view(log.race, None, log.race.at).levels == {}


@pytest.mark.parametrize("slug", BOTS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_bot_plays_at_its_level(slug: str, level: Level) -> None:
    log = with_server_bot(slug, moves=0)
    seen = structs.replace(view(log.race, 2, log.race.at, legal=True, header=True), levels={2: level})
    position, bot = run_of(log.race, 2).game, LEVELS[level][slug]
    for ply in range(6):
        assert seen.board
        words = Words(f"{bot.name}|a|{seen.board.ply}")
        candidates = bot.strategy(Seen.of(position, log.race.header.variant), "", words)
        assert choose(seen, "", "a") == candidates[words.below(len(candidates))]
        board = structs.replace(seen.board, ply=ply + 1)
        seen = structs.replace(seen, board=board)


def test_a_server_cannot_choose_the_nonce_of_its_bot() -> None:
    log = opened()
    promise = nonce_commitment(log.race.id, nonce(1))
    chosen = Joined(seat=1, player="p", name="Deuce", bot=True, commitment=promise, by=SERVER)
    with pytest.raises(Refused, match="does not follow from the secret") as caught:
        log.say(chosen)
    assert caught.value.code == "nonce-mismatch"
    log.say(structs.replace(chosen, by="00000000000000ff"))  # as anybody else


def test_a_server_cannot_withhold_the_nonce_of_its_bot() -> None:
    log = with_bots()
    log.say(Readied(seat=1))
    log.say(Counting())
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    with pytest.raises(Refused, match="is missing") as caught:
        log.say(Dealt(), 10_000)
    assert caught.value.code == "nonce-mismatch"
    own = due(log.race, log.race.at, seen={}, away_ms=AWAY_MS)
    assert own == Nonce(seat=2, nonce=server_nonce(SECRET, log.race.id, 2).hex())
    log.say(own)
    log.say(Dealt(), 10_000)
    assert len(bots_playing(log.race)) == 1


@pytest.mark.parametrize("kind", [{"seed": "42"}, {"daily": True}], ids=("public", "daily"))
def test_a_deal_without_nonces_needs_none_of_bots(kind: dict[str, Any]) -> None:
    log = with_bots(**kind)
    assert log.race.seat(2).commitment is None
    log.say(Readied(seat=1))
    log.say(Counting())
    assert due(log.race, log.race.at, seen={}, away_ms=AWAY_MS) is None


def test_bots_never_leave_before_everybody_else() -> None:
    log = with_bots(2)
    assert released_at(log.race.seat(2), {}, AWAY_MS) == NEVER
    assert due_at(log.race, seen={}, away_ms=AWAY_MS) == released_at(log.race.seat(1), {}, AWAY_MS)
    assert due(log.race, log.race.at, seen={}, away_ms=AWAY_MS) is None  # they wait, although both are ready
    now = log.race.at + AWAY_MS
    gone = list[object]()
    while event := due(log.race, now, seen={}, away_ms=AWAY_MS):
        gone.append(event)
        log.race, _ = log.race.extended(now, event)
    assert gone == [Left(seat=seat) for seat in (1, 2, 3)]


def test_bots_follow_the_first_player_to_a_rematch_once() -> None:
    before = with_bots(2).race
    log = opened()
    assert follow_events(log.race, before, 7) == []  # nobody is there
    log.say(joined(log, 1))
    for event in follow_events(log.race, before, 7):
        log.say(event)
    assert [(seat.name, seat.ready) for seat in log.race.roster if seat.server] == [("Trey", True), ("Deuce", True)]
    for number in (2, 3):
        log.say(Left(seat=number))
    assert follow_events(log.race, before, 7) == []
    small = seated()
    assert len(follow_events(small.race, before, 1)) == 2  # one bot joins and is ready
    assert follow_events(small.race, before, -1) == []


@pytest.mark.parametrize("slug", BOTS)
def test_a_race_against_a_bot_verifies(slug: str) -> None:
    log = with_server_bot(slug, moves=1_300)
    assert not bots_playing(log.race)
    assert people_playing(log.race)
    assert len(run_of(log.race, 2).moves) > 20
    log.say(Resigned(seat=1))
    assert not people_playing(log.race)
    assert all(fact.holds for fact in verify(closed(log).replay()))


def test_a_bot_stops_playing_when_the_time_is_up() -> None:
    log = with_server_bot(moves=3)
    assert [seat.number for seat in bots_playing(log.race)] == [2]
    log.say(Closed(secret=SECRET.hex()), log.race.options.limit_ms)
    assert not run_of(log.race, 2).done
    assert not bots_playing(log.race)


def test_a_bot_restarts_where_it_can_and_then_resigns() -> None:
    log = with_server_bot("the-edge", moves=0)
    seen = view(log.race, 2, log.race.at, legal=True, header=True)
    assert seen.board
    stuck = structs.replace(seen, board=structs.replace(seen.board, moves=(), restart=True))
    assert choose(stuck, "", "a") == RESTART
    assert stuck.board
    last = structs.replace(stuck, board=structs.replace(stuck.board, attempt=MAX_ATTEMPTS))
    assert choose(last, "", "a") == RESIGN
    endless = structs.replace(seen, board=structs.replace(seen.board, ply=BOTS["the-edge"].max_moves))
    assert choose(endless, "", "a") == RESIGN
    for lacking in ({"header": None}, {"board": None}, {"board": structs.replace(seen.board, moves=None)}):
        with pytest.raises(ValueError, match="must have a header"):
            choose(structs.replace(seen, **lacking), "", "a")
