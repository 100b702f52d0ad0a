"""``samedeal me`` and ``samedeal versus`` on a server."""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from samedeal.wire import messages as m
from samedeal_cli.net import guests
from support.http_api import race_of_two
from support.logged_server import Line, LoggedServer
from support.offline_cli import Result, run

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("me") / "log"
    with LoggedServer(store_url, log, connections_per_address="0").start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, server: LoggedServer) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", server.url)
    monkeypatch.setenv("COLUMNS", "160")


async def raced(server: LoggedServer, *names: str) -> dict[str, guests.Guest]:
    """Let two guests race in a listed and an unlisted race. Return them; the names are stored."""
    lines: dict[str, Line] = {}
    known: dict[str, guests.Guest] = {}
    for number, name in enumerate(names):
        lines[f"{number}"] = line = await Line.open(server)
        welcome = await line.ask("hello", name=name)
        assert isinstance(welcome, m.Welcome)
        known[f"{number}"] = guests.Guest(server.url, name, welcome.player, welcome.token or "")
        guests.save(known[f"{number}"])
    for unlisted in (False, True):
        await race_of_two(server, lines, unlisted=unlisted)
    for line in lines.values():
        await line.socket.close()
    return known


def once(true: Callable[[Result], bool], *arguments: str) -> Result:
    """Run a command until its result is as expected; scores are up to a second old."""
    deadline = time.monotonic() + 50
    while not true(result := run(*arguments)):
        assert time.monotonic() < deadline, result.output
    return result


async def test_me_shows_scores_and_newest_races(server: LoggedServer) -> None:
    known = await raced(server, "ada", "bo")
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


async def test_versus_finds_a_player_by_name_or_id(server: LoggedServer) -> None:
    known = await raced(server, "cy", "dee")
    result = once(lambda result: "2 tied" in result.stdout, "versus", "dee", "--as", "cy")
    assert result.stdout.splitlines() == ["cy 0 : 0 dee, 2 tied", "corners  0 : 0, 2 tied"]
    by_id = run("versus", known["0"].player, "--as", "dee")
    assert by_id.stdout.splitlines()[0] == "dee 0 : 0 cy, 2 tied"
    assert json.loads(run("versus", "cy", "--as", "dee", "--json").stdout)["tied"] == 2


async def test_versus_needs_a_unique_name_of_a_known_player(server: LoggedServer) -> None:
    first = await raced(server, "eve", "fay")
    assert "No finished race" in run("versus", "0123456789abcdef", "--as", "eve").stderr
    unknown = run("versus", "gus", "--as", "eve")
    assert (unknown.exit_code, "gus was not found in your 100 newest races" in unknown.stderr) == (2, True)
    own = run("versus", "eve", "--as", "eve")
    assert "eve was not found" in own.stderr
    lines = {"eve": await Line.open(server), "another fay": await Line.open(server, name="fay")}
    await lines["eve"].ask("hello", token=first["0"].token)
    await race_of_two(server, lines)
    for line in lines.values():
        await line.socket.close()
    several = once(lambda result: result.exit_code != 0, "versus", "fay", "--as", "eve")
    assert (several.exit_code, "several players are called fay: " in several.stderr) == (2, True)
    assert first["1"].player in several.stderr


def test_a_name_without_a_token_is_refused(server: LoggedServer) -> None:
    result = run("me", "--as", "stranger")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"stranger was not found for {server.url}; samedeal whoami lists your names" in result.stderr
