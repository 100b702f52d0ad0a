"""``samedeal me`` and ``samedeal versus`` on a timed."""

import json
import time
from collections.abc import Callable

import pytest

from samedeal.wire import messages as m
from samedeal_cli.net import guests
from support.http_api import race_of_two
from support.logged_server import Line
from support.offline_cli import Result, run
from support.timed_server import TimedServer

pytestmark = [pytest.mark.usefixtures("on_timed"), pytest.mark.tier(2)]


async def raced(timed: TimedServer, *names: str) -> dict[str, guests.Guest]:
    """Let two guests race in a listed and an unlisted race. Return them; the names are stored."""
    lines: dict[str, Line] = {}
    known: dict[str, guests.Guest] = {}
    for number, name in enumerate(names):
        lines[f"{number}"] = line = await Line.open(timed)
        welcome = await line.ask("hello", name=name)
        assert isinstance(welcome, m.Welcome)
        known[f"{number}"] = guests.Guest(timed.url, name, welcome.player, welcome.token or "")
        guests.save(known[f"{number}"])
    for unlisted in (False, True):
        await race_of_two(timed, lines, unlisted=unlisted)
    for line in lines.values():
        await line.socket.close()
    return known


def once(true: Callable[[Result], bool], *arguments: str) -> Result:
    """Run a command until its result is as expected; scores are up to a second old."""
    deadline = time.monotonic() + 50
    while not true(result := run(*arguments)):
        assert time.monotonic() < deadline, result.output
    return result


async def test_me_shows_scores_and_newest_races(timed: TimedServer) -> None:
    known = await raced(timed, "ada", "bo")
    result = once(lambda result: "2 races" in result.stdout, "me", "--as", "ada")
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f"ada  {known['0'].player}",
        "2 races, 0 wins, 0 deals solved",
        "daily streak 0 days, longest 0 days",
    ]
    assert lines[3].split() == ["corners", "2", "races", "0", "wins", "0", "solved", "best", "0/48"]
    assert [line.split()[1] for line in lines[4:]] == ["corners"] * 2
    assert all(line.endswith("1 ada, 1 bo") for line in lines[4:])
    document = json.loads(run("me", "--as", "bo", "--json").stdout)
    assert (document["scores"]["name"], document["scores"]["races"]) == ("bo", 2)


async def test_versus_finds_a_player_by_name_or_id(timed: TimedServer) -> None:
    known = await raced(timed, "cy", "dee")
    result = once(lambda result: "2 tied" in result.stdout, "versus", "dee", "--as", "cy")
    assert result.stdout.splitlines() == ["cy 0 : 0 dee, 2 tied", "corners  0 : 0, 2 tied"]
    by_id = run("versus", known["0"].player, "--as", "dee")
    assert by_id.stdout.splitlines()[0] == "dee 0 : 0 cy, 2 tied"
    assert json.loads(run("versus", "cy", "--as", "dee", "--json").stdout)["tied"] == 2


async def test_versus_needs_a_unique_name_of_a_known_player(timed: TimedServer) -> None:
    first = await raced(timed, "eve", "fay")
    assert "No finished race" in run("versus", "0123456789abcdef", "--as", "eve").stderr
    unknown = run("versus", "gus", "--as", "eve")
    assert (unknown.exit_code, "gus was not found in your 100 newest races" in unknown.stderr) == (2, True)
    own = run("versus", "eve", "--as", "eve")
    assert "eve was not found" in own.stderr
    lines = {"eve": await Line.open(timed), "another fay": await Line.open(timed, name="fay")}
    await lines["eve"].ask("hello", token=first["0"].token)
    await race_of_two(timed, lines)
    for line in lines.values():
        await line.socket.close()
    several = once(lambda result: result.exit_code != 0, "versus", "fay", "--as", "eve")
    assert (several.exit_code, "several players are called fay: " in several.stderr) == (2, True)
    assert first["1"].player in several.stderr


def test_a_name_without_a_token_is_refused(timed: TimedServer) -> None:
    result = run("me", "--as", "stranger")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"stranger was not found for {timed.url}; samedeal whoami lists your names" in result.stderr
