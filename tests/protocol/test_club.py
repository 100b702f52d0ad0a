"""The fold of a club's log: who is a member, and which races and challenges are open."""

import pytest

from samedeal.errors import Refused
from samedeal.race import club as clubs
from samedeal.race.club import (
    AnyClubEvent,
    Club,
    ClubCancelled,
    ClubEntry,
    ClubFinished,
    ClubJoined,
    ClubLeft,
    ClubOpened,
    Dissolved,
    Erased,
    Invited,
    Places,
    Removed,
    Revoked,
)
from support.clubs import DIGEST, ID, LoggedClub
from support.finished_races import OPENED_AT

OTHER = "e2" * 32
FINISHED = ClubFinished(race="calm-otter-1", digest=DIGEST)


def refused(logged: LoggedClub, event: AnyClubEvent, wait: int = 0) -> str:
    """Return the code with which an event is refused."""
    with pytest.raises(Refused) as failure:
        logged.say(event, wait)
    return failure.value.code


def after(*events: AnyClubEvent) -> LoggedClub:
    logged = LoggedClub()
    for event in events:
        logged.say(event)
    return logged


def joined(player: str, digest: str = DIGEST) -> ClubJoined:
    return ClubJoined(player=player, digest=digest)


def opened(race: str = "calm-otter-1", *games: str) -> ClubOpened:
    return ClubOpened(race=race, commitment="c" * 64, games=games or ("corners",))


def test_the_founder_is_the_first_member() -> None:
    club = LoggedClub().club
    assert (club.id, club.members, club.invitation, club.at) == (ID, ("player-1",), None, OPENED_AT)
    assert (club.link.club, club.link.h) == (ID, club.digest)


def test_players_join_with_the_newest_invitation() -> None:
    logged = LoggedClub()
    assert refused(logged, joined("bo")) == "not-allowed"
    logged.say(Invited(digest=DIGEST))
    logged.say(joined("bo"))
    assert refused(logged, joined("bo")) == "untimely"
    logged.say(Invited(digest=OTHER))
    assert refused(logged, joined("cy")) == "not-allowed"
    logged.say(joined("cy", OTHER))
    logged.say(Revoked())
    assert refused(logged, joined("di", OTHER)) == "not-allowed"
    assert logged.club.members == ("player-1", "bo", "cy")


def test_members_leave_are_removed_or_erased_and_the_next_one_is_the_owner() -> None:
    logged = after(Invited(digest=DIGEST), *map(joined, ("a", "b", "c")))
    logged.say(ClubLeft(player="player-1"))
    assert logged.club.members == ("a", "b", "c")
    for event in (Removed(player="b"), Erased(player="a"), Erased(player="a")):
        logged.say(event)
    assert [*logged.club.members] == ["c"]
    assert refused(logged, ClubLeft(player="b")) == refused(logged, Removed(player="player-1")) == "not-found"
    logged.say(Invited(digest=DIGEST))
    logged.say(joined("b"))
    assert [*logged.club.members] == ["c", "b"]


def test_an_invitation_ends_when_a_member_is_removed_or_the_last_one_is_gone() -> None:
    invited = Invited(digest=DIGEST)
    for gone in ([joined("a"), Removed(player="a")], [ClubLeft(player="player-1")], [Erased(player="player-1")]):
        assert refused(after(invited, *gone), joined("a")) == "not-allowed"
    for some in ([joined("b"), ClubLeft(player="player-1")], [Erased(player="eve")]):
        assert after(invited, *some, joined("a")).club.invitation == DIGEST


def test_a_club_has_a_limited_number_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clubs, "MAX_MEMBERS", 2)
    logged = after(Invited(digest=DIGEST), joined("a"))
    assert refused(logged, joined("b")) == "too-many"


def test_a_race_is_opened_and_ends_once() -> None:
    logged = LoggedClub()
    for event in (FINISHED, ClubCancelled(race="calm-otter-1")):
        assert refused(logged, event) == "untimely"
    logged.say(opened())
    assert refused(logged, opened()) == "untimely"
    logged.say(opened("calm-otter-2"))
    assert [*logged.club.races] == ["calm-otter-1", "calm-otter-2"]
    logged.say(FINISHED)
    logged.say(ClubCancelled(race="calm-otter-2"))
    assert (refused(logged, FINISHED), dict(logged.club.races)) == ("untimely", {})


def test_a_challenge_has_places_for_each_deal_or_none() -> None:
    logged = after(opened("calm-otter-1", "corners", "golf"))
    wrong: list[tuple[Places, ...]] = [({"a": 1},), ({"a": 1}, {}, {"b": 1})]
    for places in wrong:
        assert refused(logged, ClubFinished(race="calm-otter-1", digest=DIGEST, places=places)) == "untimely"
    logged.say(ClubFinished(race="calm-otter-1", digest=DIGEST, places=({"a": 1}, {})))
    logged.say(opened("calm-otter-1"))
    logged.say(FINISHED)


def test_a_limited_number_of_races_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clubs, "MAX_OPEN", 1)
    logged = after(opened())
    assert refused(logged, opened("calm-otter-2")) == "too-many"
    logged.say(FINISHED)
    logged.say(opened("calm-otter-2"))


def test_a_dissolved_club_only_ends_what_is_open() -> None:
    logged = after(Invited(digest=DIGEST), joined("a"), joined("b"), opened(), opened("calm-otter-2"), Dissolved())
    assert (logged.club.dissolved, logged.club.invitation) == (True, None)
    events: list[AnyClubEvent] = [Invited(digest=DIGEST), Revoked(), joined("c"), opened("calm-otter-3"), Dissolved()]
    assert {refused(logged, event) for event in events} == {"untimely"}
    more: list[AnyClubEvent] = [FINISHED, ClubCancelled(race="calm-otter-2")]
    for each in (*more, ClubLeft(player="a"), Removed(player="b"), Erased(player="player-1")):
        logged.say(each)
    assert logged.club.members == ()


def test_entries_follow_in_time_and_by_their_digests() -> None:
    logged = after(Invited(digest=DIGEST), opened())
    assert refused(logged, FINISHED, -1) == "untimely"
    club, (first, second) = LoggedClub().club, logged.entries
    assert club.after_all(logged.entries) == logged.club
    for entry in (second, ClubEntry(1, first.at + 1, first.event, first.h), ClubEntry(1, first.at, Revoked(), first.h)):
        with pytest.raises(Refused, match="does not match the log"):
            club.after(entry)
    assert Club.opened(club.header).digest == club.digest != first.h
