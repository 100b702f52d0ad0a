"""Clubs on a server: members, races that only they can join, tables, ratings and the log."""

import msgspec
import pytest

from samedeal.race.club import ClubFinished, ClubOpened
from samedeal.replays.replay import read
from samedeal.scores.challenge_table import RaceReplay
from samedeal.scores.club_proof import ClubProof
from samedeal.wire import messages as m
from samedeal.wire.documents import ClubPage
from support.club_servers import found, get, log, members, once_finished, open_race, page, preview, race, token_of
from support.contests import bearer, connected, guest, post
from support.logged_server import LoggedServer, request

pytestmark = pytest.mark.tier(2)


def test_a_club_is_founded_and_joined_by_invitation(server: LoggedServer) -> None:
    (ada, ada_id), (bo, bo_id), (eve, _) = (guest(server, name) for name in ("ada", "bo", "eve"))
    club = found(server, ada)
    assert (club.name, club.is_member, [member.name for member in club.members]) == ("Friday patience", True, ["ada"])
    assert get(server, club.club, bo).status == 409
    assert preview(server, club, "wrong", bo).status == 409
    seen = msgspec.json.decode(preview(server, club, token_of(club), bo).body, type=ClubPage)
    assert (seen.name, seen.is_member, seen.invitation, seen.n) == ("Friday patience", False, None, 0)
    answer = preview(server, club, token_of(club))
    assert msgspec.json.decode(answer.body, type=ClubPage) == seen, "newcomers have no token yet"
    assert msgspec.json.decode(preview(server, club, "wrong", ada).body, type=ClubPage) == club, "members see it all"
    assert request(server, "GET", f"/api/v1/clubs/{club.club}").status == 401
    for _ in range(2):
        assert post(server, f"/clubs/{club.club}/members", {"invitation": token_of(club)}, bo).status == 200
    assert [member.player for member in page(server, club.club, ada).members] == [ada_id, bo_id]
    assert post(server, f"/clubs/{club.club}/members", {"invitation": "wrong"}, eve).json["code"] == "not-allowed"
    listed = request(server, "GET", "/api/v1/clubs", None, **bearer(bo)).json["clubs"]
    assert listed == [{"club": club.club, "name": "Friday patience", "members": 2}]
    for path in ("", "/scores", "/history", "/log", "/invitation"):
        assert get(server, club.club, eve, path).json["code"] == "not-allowed", path


def test_the_owner_changes_the_club(server: LoggedServer) -> None:
    club, ((ada, ada_id), (bo, bo_id)) = members(server, "ada", "bo")
    path, eve = f"/clubs/{club.club}", guest(server, "eve")[0]
    for method, rest, body in (
        ("PATCH", "", {"name": "Bo’s"}),
        ("DELETE", "", None),
        ("POST", "/invitation", None),
        ("DELETE", "/invitation", None),
        ("DELETE", f"/members/{ada_id}", None),
    ):
        assert post(server, path + rest, body, bo, method).json["code"] == "not-allowed", (method, rest)
    assert post(server, path, {"name": "Patience"}, ada, "PATCH").json["name"] == "Patience"
    invited = post(server, f"{path}/invitation", None, ada).json["invitation"]
    assert invited != club.invitation
    assert get(server, club.club, bo, "/invitation").json["link"] == invited
    assert post(server, f"{path}/members", {"invitation": token_of(club)}, eve).status == 409
    assert post(server, f"{path}/invitation", None, ada, "DELETE").json["invitation"] is None
    assert get(server, club.club, ada, "/invitation").status == 404
    token = post(server, f"{path}/invitation", None, ada).json["invitation"].partition("#")[2]
    assert post(server, f"{path}/members/{bo_id}", None, ada, "DELETE").status == 204
    assert get(server, club.club, bo).status == 409
    assert post(server, f"{path}/members", {"invitation": token}, bo).json["code"] == "not-allowed"
    assert page(server, club.club, ada).invitation is None
    assert post(server, path, None, ada, "DELETE").status == 204
    assert page(server, club.club, ada).dissolved
    assert open_race(server, club.club, ada).json["code"] == "untimely"
    assert post(server, f"{path}/members/{ada_id}", None, ada, "DELETE").status == 204


async def test_only_members_race_and_their_results_count(server: LoggedServer) -> None:
    club, ((ada, ada_id), (bo, bo_id)) = members(server, "ada", "bo")
    opened = open_race(server, club.club, ada)
    assert opened.json["header"]["options"]["unlisted"]
    eve = guest(server, "eve")[0]
    assert open_race(server, club.club, eve).json["code"] == "not-allowed"
    async with connected(server, eve) as stranger:
        refused = await stranger.join(opened.json["race"])
        assert isinstance(refused, m.Problem)
        assert refused.code == "not-allowed"
    assert [listed.race for listed in page(server, club.club, bo).races] == [opened.json["race"]]
    first = await race(server, club.club, [ada, bo])
    found = await once_finished(server, club.club, bo, 1)
    assert [table.period for table in found.tables] == ["day", "week", "season", "all"]
    assert [(row.player, row.races) for row in found.tables[-1].rows] in (
        [(bo_id, 1), (ada_id, 1)],
        [(ada_id, 1), (bo_id, 1)],
    )
    assert {row.player for row in found.ratings["corners"]} == {ada_id, bo_id}
    signed = log(server, club.club, ada)
    entries = [entry.event for entry in signed.entries if getattr(entry.event, "race", "") == first]
    assert [type(event) for event in entries] == [ClubOpened, ClubFinished]
    replay = read(request(server, "GET", f"/api/v1/replays/{first}.json").body)
    proof = ClubProof.of([signed], [], [RaceReplay.of(replay)], [found], [replay.header])
    assert proof.faults == ()
    assert proof.scores.tables == found.tables
    assert get(server, club.club, ada, "/history").json == {"weeks": [], "strengths": {}}
