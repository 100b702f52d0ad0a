"""The fold of a challenge's log: what is possible when, its heats and their roots."""

from hashlib import sha256
from random import Random

import pytest
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.race import challenge as challenges
from samedeal.race.challenge import (
    LONGEST_MS,
    OPENING_MS,
    SHORTEST_MS,
    AnyChallengeEvent,
    Cancelled,
    Challenge,
    Finished,
    HeatOpened,
    Opened,
    Revealed,
)
from support.challenges import HOUR_MS, ID, NONCE, LoggedChallenge, deal, header, raced
from support.finished_races import OPENED_AT, SECRET

REVEALED = Revealed(secret=SECRET.hex())
DIGEST = "d" * 64


def refused(logged: LoggedChallenge, event: AnyChallengeEvent, wait: int = 0) -> str:
    """Return the code with which an event is refused."""
    with pytest.raises(Refused) as failure:
        logged.say(event, wait)
    return failure.value.code


def test_a_challenge_goes_from_its_opening_to_the_reveal() -> None:
    logged = LoggedChallenge.opening(deal(limit_ms=60_000), deal("gallery", 120_000), hours=2)
    opening, until = logged.challenge, OPENED_AT + 2 * HOUR_MS
    assert (opening.id, opening.due_at()) == (ID, OPENED_AT + OPENING_MS)
    logged.say(Opened(nonce=NONCE), OPENING_MS)
    assert logged.challenge.due_at() == logged.challenge.header.reveals_at == until + 120_000
    logged.say(HeatOpened(deal=2), 1)
    logged.say(HeatOpened(deal=1))
    assert (logged.challenge.n, dict(logged.challenge.heats)) == (3, {2: 2, 3: 1})
    logged.say(Cancelled(heat=2))
    assert [logged.challenge.stage(at) for at in (until - 1, until)] == ["open", "closed"]
    logged.say(Finished(heat=3, digest=DIGEST), 3 * HOUR_MS)
    logged.say(REVEALED)
    assert (logged.challenge.stage(until), dict(logged.challenge.heats)) == ("revealed", {})
    assert opening.after_all(logged.entries) == logged.challenge
    assert refused(logged, HeatOpened(deal=1)) == refused(logged, REVEALED) == "untimely"


def test_nothing_precedes_what_the_creator_contributes() -> None:
    logged = LoggedChallenge.opening()
    for event in (HeatOpened(deal=1), Cancelled(heat=1), REVEALED):
        assert refused(logged, event) == "untimely"
    assert refused(logged, Opened(nonce=NONCE), OPENING_MS + 1) == "untimely"
    logged.say(Opened(nonce=NONCE))
    assert refused(logged, Opened(nonce=NONCE)) == "untimely"


def test_heats_are_opened_on_a_deal_before_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    logged = LoggedChallenge.open(deal(), deal(), hours=1)
    assert refused(logged, HeatOpened(deal=3)) == "not-found"
    assert refused(logged, HeatOpened(deal=1), HOUR_MS - 1_000) == "untimely"
    monkeypatch.setattr(challenges, "MAX_OPEN_HEATS", 2)
    logged.say(HeatOpened(deal=2))
    logged.say(HeatOpened(deal=1), HOUR_MS - 1_001)
    assert refused(logged, HeatOpened(deal=1)) == "too-many"
    logged.say(Cancelled(heat=2))
    logged.say(HeatOpened(deal=1))


def test_a_heat_ends_once() -> None:
    logged = LoggedChallenge.open()
    logged.say(HeatOpened(deal=1))
    for event in (Finished(heat=1, digest=DIGEST), Cancelled(heat=3)):
        assert refused(logged, event) == "untimely"
    logged.say(Finished(heat=2, digest=DIGEST))
    assert refused(logged, Cancelled(heat=2)) == refused(logged, Finished(heat=2, digest=DIGEST)) == "untimely"


def test_the_secret_is_revealed_after_the_last_heat_and_the_longest_time_limit() -> None:
    logged = LoggedChallenge.open(hours=1)
    reveals_in = logged.challenge.header.reveals_at - logged.challenge.at
    assert refused(logged, REVEALED, reveals_in - 1) == "untimely"
    assert refused(logged, Revealed(secret="0" * 64), reveals_in) == "untimely"
    logged.say(HeatOpened(deal=1))
    assert refused(logged, REVEALED, reveals_in) == "untimely"
    logged.say(Cancelled(heat=2))
    logged.say(REVEALED, reveals_in)


def test_events_are_in_the_order_of_time_and_of_their_digests() -> None:
    logged = LoggedChallenge.open()
    first = Challenge.opened(header(), SECRET)
    with pytest.raises(Refused, match="earlier"):
        logged.challenge.extended(logged.challenge.at - 1, HeatOpened(deal=1))
    for other in ({"n": 2}, {"at": OPENED_AT}, {"event": Opened(nonce="0" * 64)}, {"h": "0" * 64}):
        with pytest.raises(Refused, match="does not match the log"):
            first.after(replace(logged.entries[0], **other))


@pytest.mark.parametrize("ms", [SHORTEST_MS - 1, LONGEST_MS + 1])
def test_a_challenge_lasts_an_hour_to_thirty_days(ms: int) -> None:
    for valid in (SHORTEST_MS, LONGEST_MS):
        Challenge.opened(replace(header(), until=OPENED_AT + valid), SECRET)
    with pytest.raises(Refused, match="lasts 1 hour to 30 days"):
        Challenge.opened(replace(header(), until=OPENED_AT + ms), SECRET)


def test_the_same_people_see_all_deals() -> None:
    seen = replace(deal(), options=replace(deal().options, spectators="progress"))
    assert [header(each).shows_results for each in (deal(), seen)] == [False, True]
    assert [header(each).unlisted for each in (deal(), deal(unlisted=False))] == [True, False]
    for other in (seen, deal(unlisted=False)):
        Challenge.opened(header(other, other), SECRET)
        with pytest.raises(Refused, match="the same people see all"):
            Challenge.opened(header(deal(), other), SECRET)


def test_the_secret_matches_the_commitment() -> None:
    with pytest.raises(Refused, match="does not match the commitment"):
        Challenge.opened(header(), bytes(32))


def test_all_heats_on_a_deal_have_the_same_root() -> None:
    logged = LoggedChallenge.open(deal(), deal())
    digests = [logged.challenge.digest]
    heats = [logged.heat(number, max_racers=racers) for number, racers in ((1, 1), (1, 8), (2, 8))]
    digests += [entry.h for entry in logged.entries[1:]]
    assert [log.race.id for log in heats] == [f"{ID}-2", f"{ID}-3", f"{ID}-4"]
    stated = [log.race.header.heat for log in heats]
    assert [(heat.challenge, heat.deal, heat.nonce, heat.h) for heat in stated if heat] == [
        (ID, number, NONCE, digest) for number, digest in zip((1, 1, 2), digests, strict=False)
    ]
    text = f"samedeal/1/challenge|{SECRET.hex()}|{ID}|{NONCE}|"
    roots = [sha256(f"{text}{number}".encode()).hexdigest() for number in (1, 1, 2)]
    assert [log.race.root for log in heats] == roots
    assert [logged.challenge.root(number) for number in (1, 1, 2)] == roots


def test_a_race_with_any_number_of_racers_is_a_heat() -> None:
    logged = LoggedChallenge.open()
    for players in ([1], [2, 3], []):
        log = raced(logged.heat(max_racers=max(1, len(players))), players, Random(1))
        logged.finish(log)
    assert [type(entry.event) for entry in logged.entries[2::2]] == [Finished, Finished, Cancelled]
