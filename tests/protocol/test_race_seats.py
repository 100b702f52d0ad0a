"""The fold before the deal: seats, readiness, the countdown and the nonces."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from msgspec import structs

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery
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
from samedeal.race.race import MAX_PLAYER_ENTRIES, MAX_SEATS, Race
from samedeal.values import replace
from support.finished_races import OPENED_AT, SECRET, nonce
from support.race_steps import WRONG, every_game, play, refused, standing
from support.races_by_hand import closed, counting, joined, opened, run_of, running, seated

# Before the first entry.


def test_a_race_starts_from_its_header() -> None:
    race = opened("gallery").race
    assert (race.n, race.at, race.stage, race.roster, race.deal) == (0, OPENED_AT, "open", (), None)
    assert (race.id, race.game) == ("calm-otter-42", Gallery)


@pytest.mark.parametrize("change", [{"game": "whist"}, {"rules": "corners/2"}, {"game": "gallery"}])
def test_unknown_rules_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(Refused, match="rules") as refusal:
        Race.opened(structs.replace(opened().race.header, **change), SECRET)
    assert refusal.value.code == "unsupported-version"


@pytest.mark.parametrize("change", [{"seed": "ms:0"}, {"variant": {"passes": "many"}}, {"variant": {"draw": "3"}}])
def test_unknown_deals_and_variants_are_refused(change: dict[str, Any]) -> None:
    slug = "freecell" if "seed" in change else "klondike"
    with pytest.raises(Refused) as refusal:
        Race.opened(structs.replace(opened(slug).race.header, **change), SECRET)
    assert refusal.value.code == "unsupported-version"


def test_a_secret_that_does_not_match_the_commitment_is_refused() -> None:
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


def test_a_full_race_refuses_new_racers() -> None:
    log = seated(2, max_racers=2)
    assert refused(log, joined(log, 3)) == "race-full"
    log.say(Left(seat=1))
    log.say(joined(log, 3))
    assert [seat.number for seat in log.race.roster] == [2, 3]


def test_a_player_has_one_seat() -> None:
    log = seated()
    assert refused(log, structs.replace(joined(log, 2), player="player-1")) == "untimely"


def test_only_a_sealed_deal_requires_a_commitment() -> None:
    log = opened()
    assert refused(log, structs.replace(joined(log, 1), commitment=None)) == "nonce-mismatch"
    log = opened(seed="42")
    log.say(structs.replace(joined(log, 1), commitment=None))
    assert log.race.seat(1).commitment is None


def test_joining_after_the_countdown_started_is_refused() -> None:
    log = counting()
    assert refused(log, joined(log, 3)) == "untimely"
    log = running()
    assert refused(log, joined(log, 3)) == "untimely"


def test_a_player_who_left_can_return_to_the_same_seat() -> None:
    log = seated()
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


def test_the_number_of_seats_is_limited() -> None:
    log = opened(max_racers=1)
    for _ in range(20):
        log.say(joined(log, 1))
        log.say(Left(seat=1))
    log.race = replace(log.race, seats=tuple(replace(log.race.seats[0], number=n + 1) for n in range(MAX_SEATS)))
    assert refused(log, structs.replace(joined(log, 2), seat=MAX_SEATS + 1)) == "race-full"
    log.say(joined(log, 1))


def test_new_players_get_abandoned_seats_once_all_were_used() -> None:
    log = seated(max_racers=2)
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
    assert log.race.seat_for("player-2") == 3  # the former seat is taken
    log.say(Left(seat=2))
    assert log.race.seat_for("newcomer") == 2
    seats = [replace(seat, entries=MAX_PLAYER_ENTRIES) if seat.left else seat for seat in log.race.seats]
    log.race = replace(log.race, seats=(*seats[:4], replace(seats[4], entries=MAX_PLAYER_ENTRIES - 1), *seats[5:]))
    assert log.race.seat_for("another") == 5
    log.race = replace(log.race, seats=tuple(seats))
    assert log.race.seat_for("another") == MAX_SEATS + 1


@pytest.mark.parametrize("number", [0, 2, 99])
@pytest.mark.parametrize("event", [Left, Readied, Unreadied, Resigned, Taken])
def test_events_for_an_unoccupied_seat_are_refused(event: Callable[..., AnyEvent], number: int) -> None:
    log = seated()
    assert refused(log, event(seat=number)) == "not-seated"


def test_leaving_or_changing_readiness_after_the_countdown_started_is_refused() -> None:
    for log in (counting(), running()):
        for event in (Left(seat=1), Readied(seat=1), Unreadied(seat=1)):
            assert refused(log, event) == "untimely"


def test_a_seat_records_the_entry_that_took_it_last() -> None:
    log = running()
    assert [seat.taken for seat in log.race.seats] == [1, 3]
    log.say(Taken(seat=1))
    assert [seat.taken for seat in log.race.seats] == [log.race.n, 3]


# The countdown.


def test_the_countdown_requires_two_racers_who_are_all_ready() -> None:
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


def test_players_who_left_need_not_be_ready() -> None:
    log = seated(3)
    log.say(Readied(seat=1))
    log.say(Readied(seat=3))
    log.say(Left(seat=2))
    log.say(Counting())
    assert log.race.stage == "countdown"


def test_a_nonce_is_opened_once_and_only_during_the_countdown() -> None:
    log = seated()
    assert refused(log, Nonce(seat=1, nonce=nonce(1).hex())) == "untimely"
    log = counting()
    assert refused(log, Nonce(seat=1, nonce=WRONG)) == "nonce-mismatch"
    assert refused(log, Nonce(seat=1, nonce=nonce(2).hex())) == "nonce-mismatch"
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    assert refused(log, Nonce(seat=1, nonce=nonce(1).hex())) == "untimely"
    log.say(Dealt(), 5_000)
    assert refused(log, Nonce(seat=2, nonce=nonce(2).hex())) == "untimely"


def test_the_deal_follows_the_countdown_and_happens_once() -> None:
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


def test_an_open_deal_follows_from_its_seed_and_variant_without_nonces() -> None:
    log = counting(slug="gallery", seed="31", variant={"cap": False})
    log.say(Dealt(), 5_000)
    assert log.race.deal == "gallery:31"
    assert run_of(log.race).game == Gallery.from_seed("31", cap=False) != Gallery.from_seed("31")
    assert [racer.outcome for racer in log.race.standings()] == ["playing", "playing"]


def test_a_racer_without_a_nonce_is_scratched() -> None:
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


def test_a_race_without_any_nonce_is_cancelled() -> None:
    log = counting()
    assert not log.race.finished(log.race.at)
    log.say(Dealt(), 5_000)
    assert log.race.finished(log.race.at)
    log.say(Closed(secret=SECRET.hex()))
    assert log.race.stage == "cancelled"
    assert [racer.outcome for racer in log.race.standings()] == ["scratched", "scratched"]
