"""What the log of a club proves, with the replays of its races and the scores that a server states: each thing that a
dishonest server could forge has its own text. ``test_verifiers_agree_on_logs`` names the other ones.
"""

import math
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from samedeal import codec
from samedeal.proof.outcomes import Outcome
from samedeal.race.club import Club, ClubFinished, ClubJoined, ClubOpened, Erased, Invited
from samedeal.race.events import Header, HeadStart
from samedeal.replays.log_files import ClubLog
from samedeal.replays.signature import public_key
from samedeal.scores.challenge_table import RaceReplay
from samedeal.scores.club_proof import ClubProof
from samedeal.scores.club_scores import ClubScores
from support.challenges import raced
from support.clubs import DIGEST, HOUR_MS, ID, IDS, Change, Forge, LoggedClub, with_entries
from support.finished_races import SIGNING_KEY
from support.forged_clubs import stated

KEY, OTHER_KEY = public_key(SIGNING_KEY), bytes(32)
FIRST, SECOND, CANCELLED, AHEAD = (f"calm-otter-{number}" for number in range(1, 5))
CHALLENGE = "brave-elk-5"
OTHER_HEAD = "names a different head of the log"


def club(change: Change = lambda event: event, forge: Forge = lambda made: made) -> LoggedClub:
    """Return a club with two races, one that was cancelled, one with a head start, and a challenge over two deals."""
    logged, random = LoggedClub(change=change, forge=forge), Random(8)
    logged.say(Invited(digest=DIGEST))
    logged.say(ClubJoined(player=IDS[2], digest=DIGEST))
    for race, players in ((FIRST, [0, 1]), (SECOND, [0, 1, 2]), (CANCELLED, []), (AHEAD, [1, 2])):
        head_start = HeadStart(player=IDS[1], ms=1) if race == AHEAD else None
        logged.finish(raced(logged.race(race, head_start=head_start), players, random, IDS.__getitem__))
    logged.challenge(CHALLENGE, Random(8))()
    logged.say(Invited(digest=DIGEST))
    return logged


def proof(
    logged: LoggedClub,
    *others: ClubLog,
    scores: Iterable[ClubScores] = (),
    headers: Iterable[Header] = (),
    outcome: Outcome = "verified",
) -> ClubProof:
    replays = map(RaceReplay.of, logged.replays)
    return ClubProof.of([logged.log(), *others], logged.challenges, replays, scores, headers, outcome)


def faults(logged: LoggedClub, *others: ClubLog, **given: Any) -> tuple[str, ...]:
    found = proof(logged, *others, **given)
    assert found.outcome == ("refused" if found.faults else "verified")
    return found.faults


def of(kind: type[ClubOpened | ClubFinished], race: str, **changes: Any) -> Change:
    """Return what changes the event of a race."""
    return lambda event: replace(event, **changes) if isinstance(event, kind) and event.race == race else event


def test_a_club_is_proved_by_its_log_and_replays_in_any_order() -> None:
    logged = club()
    found = proof(logged, scores=[stated(logged), stated(logged, 3)])
    assert (found.faults, found.unproved, found.outcome) == ((), (), "verified")
    assert found.keys == {KEY: (ID, FIRST, SECOND, AHEAD, CHALLENGE)}
    assert found.scores == stated(logged)
    assert len(found.scores.tables[-1].rows) > 3
    logged.replays.reverse()
    assert codec.encode(proof(logged), "json") == codec.encode(found, "json")
    logged.replays = [each for each in logged.replays if each.header.race != CANCELLED]
    assert proof(logged) == found  # a cancelled race needs no replay


def test_a_race_that_is_left_out_of_the_log_is_named_by_its_receipts() -> None:
    logged = club(lambda event: None if getattr(event, "race", "") == SECOND else event)
    headers = [each.header for each in logged.replays]
    logged.replays = [each for each in logged.replays if each.header.race != SECOND]
    assert faults(logged) == ()
    assert faults(logged, headers=headers) == (f"{SECOND} is not in the log of the club",)


def test_receipts_of_other_clubs_and_of_races_after_the_log_are_ignored() -> None:
    logged, later = club(), club()
    header = later.race("calm-otter-6").race.header
    assert header.club
    assert faults(logged, headers=[header, replace(header, club=replace(header.club, club="other"))]) == ()
    later.say(Invited(digest=DIGEST), 1)
    assert faults(later, headers=[header]) == ()
    assert faults(later, headers=[replace(header, club=replace(header.club, h="0" * 64))]) == (
        f"calm-otter-6 {OTHER_HEAD}",
    )


def test_two_heads_are_named_with_the_first_entry_that_differs() -> None:
    logged = club()
    assert faults(logged, with_entries(logged, logged.entries[:4]).log()) == ()
    other = with_entries(logged, logged.entries[:4], Invited(digest="0" * 64)).log()
    text = "two logs of the club differ from entry 5 on"
    assert faults(logged, other) == (text,)
    founded = replace(logged.club.header, founder="eve")
    assert faults(logged, replace(other, header=founded, entries=())) == (
        "two logs of the club differ from entry 1 on",
    )
    long = [with_entries(logged, logged.entries, *(each,)) for each in (Invited(digest="0" * 64), Erased(player="x"))]
    ways = [ClubProof.of([one.log() for one in logs], (), ()) for logs in (long, long[::-1])]
    assert ways[0] == ways[1]


def test_a_strength_that_is_off_by_one_bit_is_named() -> None:
    logged = club()
    scores = stated(logged)
    game, (best, *others) = "corners", scores.ratings["corners"]
    off = replace(best, strength=math.nextafter(best.strength, 0))
    wrong = replace(scores, ratings={**scores.ratings, game: (off, *others)})
    assert faults(logged, scores=[scores, wrong]) == ("the ratings in corners do not follow from the log",)
    assert faults(logged, scores=[replace(scores, ratings={"zebra": ()})])[-1] == (
        "the ratings in zebra do not follow from the log"
    )


def test_tables_that_do_not_follow_and_scores_of_another_log_are_named() -> None:
    logged = club()
    scores = stated(logged)
    day, *others = scores.tables
    wrong = replace(scores, tables=(replace(day, rows=day.rows[:-1]), *others[:-1]))
    assert faults(logged, scores=[wrong]) == tuple(
        f"the table of {period} does not follow from the log" for period in ("the day", "all time")
    )
    more = replace(scores, rated=scores.n + 1)
    assert faults(logged, scores=[more, replace(scores, club="other-club")]) == (
        f"the scores after entry {scores.n + 1} of {ID} are not those of this log",
        f"the scores after entry {scores.n} of other-club are not those of this log",
    )


def test_a_race_that_is_logged_twice_is_named() -> None:
    """Its header names the head before one of the two entries only."""
    logged = club()
    again = [each.event for each in logged.entries if getattr(each.event, "race", "") == FIRST]
    assert faults(with_entries(logged, logged.entries, *again)) == (f"{FIRST} {OTHER_HEAD}",)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("race", [FIRST, CHALLENGE])
def test_an_end_that_is_left_out_is_named_a_minute_after_it_must_have_been(race: str, known: bool) -> None:
    logged = LoggedClub(change=lambda event: None if isinstance(event, ClubFinished) else event)
    over_by = logged.club.at + 1 + 31 * 86_400_000
    if race == CHALLENGE:
        logged.challenge(race, Random(8))()
    else:
        logged.finish(raced(logged.race(race), [0, 1], Random(8), IDS.__getitem__))
    if not known:
        logged.challenges, logged.replays = [], []
    elif race == CHALLENGE:
        over_by = logged.challenges[0].header.reveals_at
    else:
        over_by = RaceReplay.of(logged.replays[0]).race.started_at + 60_000
    logged.at(over_by + 60_000, Invited(digest=DIGEST))
    assert faults(logged) == ()
    logged.say(Invited(digest=DIGEST), 1)
    assert faults(logged) == (f"{race} has no end in the log",)


def without(logged: LoggedClub, *races: str) -> LoggedClub:
    logged.replays = [each for each in logged.replays if each.header.race not in races]
    return logged


def test_races_with_players_who_were_erased_may_be_missing() -> None:
    logged = club()
    logged.say(Erased(player=IDS[2]))
    heat = next(each.header.race for each in logged.replays if each.header.heat)
    found = proof(without(logged, FIRST, SECOND, AHEAD, heat))
    assert found.faults == (f"{FIRST} is missing",)  # the one in which that player did not take part
    assert found.unproved == (SECOND, AHEAD, CHALLENGE)
    assert found.keys == {KEY: (ID,)}


@pytest.mark.parametrize("player", [IDS[2], "eve"])
def test_erasures_before_the_opening_or_of_others_than_members_excuse_nothing(player: str) -> None:
    logged, random = LoggedClub(), Random(8)
    for event in (Invited(digest=DIGEST), ClubJoined(player=IDS[2], digest=DIGEST), Erased(player=player)):
        logged.say(event)
    logged.finish(raced(logged.race(FIRST, head_start=HeadStart(player=IDS[1], ms=1)), [1, 2], random, IDS.__getitem__))
    logged.say(Erased(player="eve"))
    assert faults(without(logged, FIRST)) == (f"{FIRST} is missing",)
    logged.say(Erased(player=IDS[2]))
    assert (proof(logged).faults, proof(logged).unproved) == ((), (FIRST,))


def test_races_that_were_dealt_before_their_entries_or_end_after_them_are_named() -> None:
    earlier = club(forge=lambda made: replace(made, opened_at=made.opened_at - HOUR_MS) if made.race == FIRST else made)
    assert faults(earlier) == (f"{FIRST} was dealt before the log says that it was opened",)
    logged = LoggedClub()
    end = raced(logged.race(FIRST), [0, 1], Random(8), IDS.__getitem__)
    finish = ClubFinished(race=FIRST, digest=end.race.digest, places=(dict.fromkeys(IDS[:2], 1),))
    logged.replays.append(end.replay())
    logged.at(end.race.at - 1, finish)
    assert faults(logged) == (f"{FIRST} does not end as the log says",)


def test_a_clock_that_was_set_back_is_no_fault() -> None:
    """The opening has the time of the entry before, which can be later than the deal."""
    logged = LoggedClub(forge=lambda made: replace(made, opened_at=made.opened_at - HOUR_MS))
    made = logged.race(FIRST)
    (entry,) = logged.entries
    logged.club, logged.entries = Club.opened(logged.club.header), []
    logged.say(entry.event)
    logged.finish(raced(made, [0, 1], Random(8), IDS.__getitem__))
    assert faults(logged) == ()


def test_nothing_else_is_excused_by_players_who_were_erased() -> None:
    logged = club(of(ClubOpened, CHALLENGE, commitment="0" * 64))
    logged.say(Erased(player=IDS[2]))
    heat = next(each.header.race for each in logged.replays if each.header.heat)
    found = proof(without(logged, heat))
    assert found.faults == (
        f"{CHALLENGE} is a challenge in which {heat} is missing",
        f"{CHALLENGE} does not have the commitment and the games that the log announced",
    )
