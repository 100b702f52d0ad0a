"""Clubs on the command line: members, invitations, races, challenges, tables and ratings."""

import json
import os
import shlex
import time
from typing import Any

import pytest

from samedeal.scores.club_scores import ClubScores, ClubTable, RatingRow
from samedeal.scores.evening import TotalsRow
from samedeal.wire.documents import ClubChallenge, ClubMember, ClubPage
from samedeal_cli.addresses import ClubName, club_name
from samedeal_cli.commands.club import _lines, _names
from samedeal_cli.commands.club_scores import score_lines
from samedeal_cli.failure import Misused
from samedeal_cli.net import guests
from samedeal_cli.settings import program
from support import club_servers
from support.club_servers import members, once_finished
from support.contests import guest
from support.offline_cli import said
from support.program import SAMEDEAL, ran, started
from support.servers import Server
from support.terminals import at_a_terminal, until
from support.waiting import LIMIT_S, wait_until

pytestmark = [pytest.mark.usefixtures("on_live"), pytest.mark.tier(2)]


def club_of(live: Server, *names: str) -> tuple[ClubPage, list[tuple[str, str]]]:
    """Start a club whose members play on this machine. Return it with their tokens and ids."""
    page, people = members(live, *names)
    for name, (token, player) in zip(names, people, strict=True):
        guests.save(guests.Guest(live.url, name, player, token))
    return page, people


def has_racers(live: Server, club: str, token: str) -> bool:
    """Whether somebody has a seat in the newest race of a club."""
    return any(listed.racers for listed in club_servers.page(live, club, token).races[:1])


@pytest.mark.tier(1)
def test_a_club_is_founded_and_raced_in(live: Server) -> None:
    (link,), err = said("club", "new", "Friday patience", "--as", "ada", "--qr")
    page = link.partition("#")[0]
    club = page.rpartition("/")[2]
    assert page.startswith(f"{live.url}/g/")
    assert "Friday patience: anybody with this link can join." in err
    assert "█▀" in err

    token, player = guest(live, "bo")
    guests.save(guests.Guest(live.url, "bo", player, token))
    lines, _ = said("club", link, "--as", "bo")
    assert lines[0] == "Friday patience, 1 member: ada"
    assert lines[1].endswith(f" club join {shlex.quote(link)}")
    assert "You are a member of Friday patience." in said("club", "join", link, "--as", "bo")[1]
    assert said("club", "--as", "bo")[0] == [f"{club}  Friday patience  2 members"]

    options = ("--filter", "any", "--limit", "1m", "--start-delay", "0s", "--max", "2", "--as", "ada")
    (opened,), _ = said("new", "corners", "--club", "friday", *options)
    ada = started(*SAMEDEAL, "join", opened, "--as", "ada", "--ready", "--line")
    ran("join", opened, "--as", "bo", "--ready", "--line", typed="resign\n")
    raced, _ = ada.communicate("resign\n", timeout=LIMIT_S)
    assert "To see the club: " in raced
    assert raced.rstrip().endswith(f" club {page}")

    wait_until(lambda: "ratings in Corners" in said("club", "FRIDAY PATIENCE", "--as", "bo")[0])
    lines, _ = said("club", "FRIDAY PATIENCE", "--as", "bo")
    assert lines[:2] == ["Friday patience, 2 members: ada, bo", f"To invite others: {link}"]
    assert lines[2].endswith(f" play golf --club {page}")
    assert sum(line.endswith("1 race  provisional") for line in lines) == 2
    documents = json.loads(said("club", page, "--as", "bo", "--json")[0][0])
    assert documents["club"]["name"] == "Friday patience"
    assert documents["scores"]["tables"][0]["rows"][0]["races"] == 1


async def test_play_joins_the_open_race_of_a_club(live: Server) -> None:
    club, ((token, _), _) = club_of(live, "ada", "bo")
    ada = started(*SAMEDEAL, "play", "golf", "--club", club.club, "--as", "ada", "--line")
    wait_until(lambda: has_racers(live, club.club, token))
    line = said("club", "friday", "--as", "bo")[0][3]
    assert line.startswith("To race Golf with ada: ")
    assert line.endswith(f" join {live.url}/r/{club_servers.page(live, club.club, token).races[0].race}")
    raced = ran("play", "--club", club.link, "--as", "bo", "--line", typed="resign\n").stdout
    assert "Golf" in raced
    out, _ = ada.communicate("resign\n", timeout=LIMIT_S)
    assert "bo" in out
    scores = await once_finished(live, club.club, token, 1)
    assert len(scores.tables[-1].rows) == 2


def test_a_challenge_of_a_club_is_listed_until_it_is_revealed(live: Server) -> None:
    club, _ = club_of(live, "ada", "bo")
    (link,), _ = said("challenge", "corners", "--filter", "any", "--club", "friday", "--as", "ada")
    (line,) = said("club", club.club, "--as", "bo")[0][3:]
    assert line.startswith("ada challenges you to Corners until ")
    assert ", nobody has played: " in line
    assert line.endswith(f" play {link}")
    ran("play", link, "--as", "bo", "--line", typed="resign\n")
    wait_until(lambda: said("club", club.club, "--as", "bo")[0][3].endswith(f" challenge {link}"))


def test_the_owner_manages_a_club(live: Server) -> None:
    club, (_, (_, bo), _) = club_of(live, "ada", "bo", "cy")
    for args in (["rename", "friday", "x"], ["invite", "friday", "--new"], ["dissolve", "friday"]):
        assert "(not-allowed)" in said("club", *args, "--as", "bo", code=4)[1]
    assert said("club", "invite", "friday", "--as", "bo")[0] == [club.invitation]
    assert "The club is now called Sunday" in said("club", "rename", "friday", "Sunday", "--as", "ada")[1]
    (link,), _ = said("club", "invite", "sunday", "--new", "--as", "ada")
    assert link != club.invitation
    assert "Nobody can join any more." in said("club", "invite", "sunday", "--close", "--as", "ada")[1]
    assert "Sunday has no invitation" in said("club", "invite", "sunday", "--as", "bo", code=2)[1]
    assert "cy is no longer a member of Sunday" in said("club", "remove", "sunday", "cy", "--as", "ada")[1]
    assert "unknown member 'dee'" in said("club", "remove", "sunday", "dee", "--as", "ada", code=2)[1]
    assert "nobody was not found" in said("club", "leave", club.link, "--as", "nobody", code=2)[1]
    (left,), _ = said("club", "leave", "sunday", "--as", "bo", "--json")
    assert json.loads(left) == {"club": club.club, "player": bo}
    assert said("club", "--as", "bo") == (
        [],
        f"You are not in any club yet. To start one: {program()} club new NAME\n",
    )
    said("club", "dissolve", club.link, "--as", "ada")
    assert "The club has been dissolved." in said("club", "sunday", "--as", "ada")[0]
    assert "(untimely)" in said("new", "golf", "--club", "sunday", "--as", "ada", code=4)[1]


def test_a_person_is_asked_before_a_club_is_dissolved(live: Server) -> None:
    club, ((token, _), _) = club_of(live, "ada", "bo")
    for answer, code, is_over in ((b"n\n", 130, False), (b"y\n", 0, True)):
        dissolve = [*SAMEDEAL, "club", "dissolve", "friday", "--as", "ada"]
        with at_a_terminal(os.environ | {"TERM": "dumb"}, dissolve) as (process, terminal):
            until(terminal, "Dissolve Friday patience? This cannot be undone. [y/N]: ")
            os.write(terminal, answer)
            assert process.wait(LIMIT_S) == code
        assert club_servers.page(live, club.club, token).dissolved is is_over


def test_clubs_with_the_same_name_are_told_apart_by_their_ids(live: Server) -> None:
    one, ((token, _),) = club_of(live, "ada")
    other = club_servers.found(live, token)
    third = club_servers.found(live, token, "Friday patience 2")
    err = said("club", "friday patience", "--as", "ada", code=2)[1]
    assert f"ambiguous club 'friday patience': Friday patience {min(one.club, other.club)}" in err
    for club in (one, other, third):
        assert said("club", club.club, "--as", "ada")[0][0] == f"{club.name}, 1 member: ada"
    assert said("club", "friday patience 2", "--as", "ada")[0][1].endswith(third.invitation or "-")


def test_refusals(live: Server) -> None:
    club, _ = club_of(live, "ada")
    token, player = guest(live, "eve")
    guests.save(guests.Guest(live.url, "eve", player, token))
    link = club.invitation or ""
    for args, code, named in (
        (["club", "--as", "nobody"], 2, f"nobody is not in a club on {live.url}; to join one: "),
        (["club", link, "--as", "nobody"], 2, "nobody is not in a club"),
        (["club", club.link, "--as", "eve"], 4, "Only members can see this club."),
        (["club", f"{club.link}#wrong", "--as", "eve"], 4, "(not-allowed)"),
        (["club", "join", f"{club.link}#wrong", "--as", "eve"], 4, "(not-allowed)"),
        (["club", "join", club.link, "--as", "eve"], 2, "this is not an invitation"),
        (["club", "friday", "--as", "eve"], 2, "you are not in a club"),
        (["club", "freitag", "--as", "ada"], 2, "unknown club 'freitag'"),
        (["club", f"{live.url}/r/calm-otter-42"], 2, "is not a valid club"),
        (["club", "invite", "friday", "--close", "--qr"], 2, "--close cannot be combined"),
        (["new", "golf", "--club", club.link, "--as", "eve"], 4, "(not-allowed)"),
        (["new", "golf", "--club", "friday", "--daily"], 2, "--daily cannot be combined with --club"),
        (["new", "golf", "--club", "friday", "--seed", "1", "--as", "ada"], 4, ""),
        (["play", f"{live.url}/r/calm-otter-42", "--club", "friday"], 2, "cannot be combined with a link"),
        (["challenge", f"{live.url}/c/calm-otter-42", "--club", "friday"], 2, "they are fixed"),
        (["club", "http://127.0.0.1:1/g/calm-fox-1", "--as", "ada"], 2, "ada is not in a club on http://127.0.0.1:1"),
    ):
        out, err = said(*args, code=code)
        assert (out, err.count("\n")) == ([], 1)
        assert named in err


# Without a server.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://h:1/g/calm-fox-1#q7Vd2mKx-_pR4tBz", ClubName("http://h:1", "calm-fox-1", "q7Vd2mKx-_pR4tBz")),
        ("<https://h/sub/g/Calm-Fox-1/>,", ClubName("https://h/sub", "calm-fox-1")),
        ("h:1/api/v1/clubs/calm-fox-1", ClubName("http://h:1", "calm-fox-1")),
        (" Friday, 8 o'clock ", ClubName(None, "Friday, 8 o'clock")),
        ("AC/DC", ClubName(None, "AC/DC")),
    ],
)
def test_a_club_is_a_link_an_id_or_a_name(text: str, found: ClubName) -> None:
    assert club_name(text) == found


@pytest.mark.parametrize("text", ["", " ", "http://h/c/calm-fox-1", "http://h:99999/g/calm-fox-1"])
def test_other_links_are_not_clubs(text: str) -> None:
    with pytest.raises(Misused):
        club_name(text)


def row(place: int, player: str, points: float, races: int, wins: int) -> TotalsRow:
    return TotalsRow(place=place, player=player, points=points, races=races, wins=wins)


def page_with(**fields: Any) -> ClubPage:
    fixed: dict[str, Any] = {"club": "a-b-1", "link": "http://h/g/a-b-1", "name": "Friday", "is_member": True}
    return ClubPage(**fixed, members=[ClubMember("1", "ada"), ClubMember("2", "bo")], **fields)


def test_equal_tables_are_shown_once_and_few_races_are_provisional() -> None:
    rows = (row(1, "1", 1.5, 2, 1), row(2, "2", 0.5, 2, 0))
    friday, monday, october = (1_000 * at for at in (1_795_737_600, 1_795_392_000, 1_790_812_800))
    tables = (
        ClubTable(period="day", since=friday, rows=rows),
        ClubTable(period="week", since=monday, rows=rows),
        ClubTable(period="season", since=october, rows=rows),
        ClubTable(period="all", since=0, rows=(*rows, row(3, "3", 0.0, 1, 0))),
    )
    ratings = {
        "corners": (
            RatingRow(player="1", strength=10.0, races=10),
            RatingRow(player="4", strength=2.0, races=9),
            RatingRow(player="3", strength=0.1, races=9),
        )
    }
    scores = ClubScores(club="a-b-1", n=9, tables=tables, rated=9, ratings=ratings)
    assert [*score_lines(_names(page_with(names={"1": "ada", "4": "bo"})), scores)] == [
        "",
        "2026-11-27, week from 2026-11-23 and season from 2026-10-01",
        " 1. ada     1.5 points  2 races   1 win",
        " 2. bo (2)  0.5 points  2 races  0 wins",
        "",
        "all time",
        " 1. ada              1.5 points  2 races   1 win",
        " 2. bo (2)           0.5 points  2 races  0 wins",
        " 3. a former player    0 points   1 race  0 wins",
        "",
        "ratings in Corners",
        "ada              1400  10 races",
        "bo (4)           1120   9 races  provisional",
        "a former player   600   9 races  provisional",
    ]


def test_challenges_that_are_over_or_played_are_shown_not_played() -> None:
    now = time.time_ns() // 1_000_000

    def line(until: int, *, played: bool) -> str:
        challenge = ClubChallenge(challenge="c-d-2", by=None, games=["golf"], until=until, names=["bo"], played=played)
        return [*_lines("http://h", page_with(challenges=[challenge]))][-1]

    assert line(now + 60_000, played=False).endswith(f", 1 has played: {program()} play http://h/c/c-d-2")
    assert line(now + 60_000, played=True).endswith(f" {program()} challenge http://h/c/c-d-2")
    assert line(now - 1, played=False).endswith(f" {program()} challenge http://h/c/c-d-2")
    assert line(now, played=False).startswith("A former player challenges you to Golf until ")
