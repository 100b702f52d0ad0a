"""Daily deals on the command line, from the first race to the revealed deal."""

import json
import os

import pytest

from samedeal import commitments
from samedeal.day import Day
from samedeal.games.catalogue import GAMES
from support.logged_server import request
from support.offline_cli import said
from support.program import SAMEDEAL, ran
from support.terminals import at_a_terminal, until
from support.timed_server import TimedServer
from support.waiting import wait_until

pytestmark = [pytest.mark.usefixtures("on_timed"), pytest.mark.tier(2)]

GAME = "corner-stones"


def played(*args: str, typed: str) -> list[str]:
    """The output of a game played through a pipe."""
    done = ran(*args, typed=typed)
    assert done.stderr == ""
    return done.stdout.splitlines()


def until_kept(timed: TimedServer, day: Day, count: int) -> None:
    """Wait for a number of results of a day, which appear shortly after a race."""
    path = f"/api/v1/daily/{day.date}/{GAME}"
    wait_until(lambda: len(request(timed, "GET", path).json["results"]) >= count)


def test_daily_deal_is_played_sealed_and_verified_after_it_is_revealed(timed: TimedServer) -> None:
    day = timed.noon("2027-04-01")
    lines = played("solo", GAME, "--daily", "--as", "ada", typed="resign\n")
    assert any(line.startswith("daily deal of 2027-04-01, time limit 15:00") for line in lines)
    assert "the race is over; the deal and the replay are secret until 2027-04-02 02:00 UTC" in lines
    assert not any(f"{GAME}:" in line for line in lines)
    (solo,) = [line.split()[-1].rpartition("/")[2] for line in lines if line.startswith("To verify it then: ")]

    (link,), _ = said("new", GAME, "--daily", "--max", "1", "--start-delay", "0s")
    listed = link.rpartition("/")[2]
    assert "0/1    ada   daily" in said("ls", "races", "--game", GAME)[0][1]
    played("join", listed, "--as", "bo", "--ready", typed="resign\n")
    until_kept(timed, day, 2)
    for name, question in (
        (
            "ada",
            "You have already raced today's deal of Corner Stones, and only the first race counts."
            " Play it again? [y/N]: ",
        ),
        ("cy", "Only your first race on today's deal of Corner Stones counts. Play it now? [Y/n]: "),
    ):
        solo_at_terminal = [*SAMEDEAL, "solo", GAME, "--daily", "--as", name]
        with at_a_terminal(os.environ | {"TERM": "xterm"}, solo_at_terminal) as (process, terminal):
            until(terminal, question)
            os.write(terminal, b"n\n")
            assert process.wait(50) == 130

    shown, err = said("daily", GAME)
    assert f" solo {GAME} --daily; with friends: " in err
    assert shown[0] == "Corner Stones · 2027-04-01 · open until 2027-04-02 00:00 UTC"
    assert shown[2] == "sealed      until 2027-04-02 02:00 UTC"
    assert sorted(" ".join(line.split()) for line in shown[3:]) == [
        "1. ada resigned, 0 of 96 0.0 s",
        f"1. bo resigned, 0 of 96 0.0 s {listed}",
    ]
    commitment = shown[1].split()[1]

    for race in (solo, listed):
        for command in (["verify", race], ["export", race], ["replay", race], ["verify", f"{timed.url}/r/{race}"]):
            out, err = said(*command, code=4)
            assert out == []
            assert err == (
                f"samedeal: The replay of {race} is available from 2027-04-02 02:00 UTC."
                " Until then, others can play the same deal (replay-sealed)\n"
            )

    timed.set_clock(day.ends_at + 3 * 3_600_000)
    out, _ = said("verify", listed)
    assert out[-1].partition(":")[0] == "verified (key known)"
    out, _ = said("export", listed, "--format", "txt")
    deal = next(line for line in out if line.startswith("Deal  "))
    assert deal.endswith("(daily of 2027-04-01)")
    shown, _ = said("daily", GAME, "--date", "2027-04-01")
    assert shown[:2] == ["Corner Stones · 2027-04-01 · closed and revealed", f"commitment  {commitment}"]
    assert deal.split()[1] == shown[3].split()[1]
    secret = bytes.fromhex(shown[2].split()[1])
    assert commitments.daily_commitment(GAME, "2027-04-01", secret) == commitment


def test_daily_shows_all_games(timed: TimedServer) -> None:
    timed.noon("2027-04-05")
    today, _ = said("daily", "--ascii")
    assert [line.partition(" - ")[0] for line in today if "2027-04-05 - open until" in line] == [
        game.title for game in GAMES.values()
    ]
    assert today.count("no results yet") == len(GAMES)
    assert not any(line.startswith("commitment") for line in today)
    coming, _ = said("daily", "--date", "2027-04-06")
    assert [line for line in coming if "2027-04-06" in line and " · " in line] == [
        f"{game.title} · 2027-04-06 · opens 2027-04-06 00:00 UTC" for game in GAMES.values()
    ]
    assert "no results yet" not in coming


def test_json_contains_the_server_response(timed: TimedServer) -> None:
    timed.noon("2027-04-05")
    for args, games in ((["daily"], list(GAMES)), (["daily", "gallery", "--date", "2027-04-07"], ["gallery"])):
        (text,), _ = said(*args, "--json")
        deals = json.loads(text)["daily"]
        assert [each["game"] for each in deals] == games
        assert deals == [request(timed, "GET", f"/api/v1/daily/{each['date']}/{each['game']}").json for each in deals]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["new", GAME, "--daily", "--undo", "off"], "--undo"),
        (["new", GAME, "--daily", "--seed", "1", "--limit", "5m"], "--seed, --limit"),
        (["new", "corners", "--daily", "--variant", "refill=waste"], "--variant"),
        (["new", GAME, "--daily", "--attempts", "0", "--spectators", "open"], "--attempts, --spectators"),
        (["solo", f"{GAME}:7", "--daily"], "a deal code"),
        (["solo", GAME, "--daily", "--limit", "5m"], "--limit"),
        (["daily", GAME, "--date", "yesterday"], "2026-11-21"),
        (["daily", GAME, "--date", "20261121"], "2026-11-21"),
        (["daily", "whist"], "whist"),
    ],
)
def test_daily_with_conflicting_options_exits_with_2(args: list[str], named: str) -> None:
    out, err = said(*args, code=2)
    assert (out, err.count("\n")) == ([], 1)
    assert named in err
