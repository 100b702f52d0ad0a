"""``samedeal report``, and what administrators do with reports and with people who want to be erased."""

import json
from collections.abc import Iterator

import pytest

from samedeal.wire import messages as m
from samedeal_cli.net import guests
from support.logged_server import LoggedServer
from support.offline_cli import run
from support.servers import Racer, racers

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    folder = tmp_path_factory.mktemp("reports")
    server = LoggedServer(store_url, folder / "log")
    server._env["SAMEDEAL_DATA_DIR"] = str(folder)
    with server.start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, server: LoggedServer) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", server.url)
    monkeypatch.setenv("SAMEDEAL_DATA_DIR", server._env["SAMEDEAL_DATA_DIR"])
    monkeypatch.setenv("COLUMNS", "200")


def known(server: LoggedServer, racer: Racer) -> None:
    """Store a racer's token as that of a name on this machine."""
    guests.save(guests.Guest(server.url, racer.name, racer.player, racer.token or ""))


async def test_reported_player_is_listed_settled_and_erased(server: LoggedServer) -> None:
    race_id = server.create("corners")
    async with racers(server, "zadie", "bo", "bo", "ada") as (zadie, bo, other, ada):
        known(server, ada)
        for racer in (zadie, bo, other):
            await racer.join(race_id)
        assert isinstance(await ada.ask(m.Ping), m.Pong)
        result = run("report", race_id, "bo", "--as", "ada")
        assert (result.exit_code, "bo was not found" in result.stderr) == (2, True)
        assert "zadie, bo #2, bo #3" in result.stderr
        result = run("report", race_id, "bo #3", "--as", "ada", "--reason", "name", "--text", "It imitates me.")
        assert (result.exit_code, "will see your report about bo" in result.stderr) == (0, True), result.output
        result = run("report", race_id, "zadie", "--as", "ada", "--reason", "conduct", "--json")
        assert json.loads(result.stdout)["name"] == "zadie"
        assert run("report", race_id, "zadie", "--as", "nobody").exit_code == 2

        lines = run("admin", "reports").stdout.splitlines()
        assert [line.split()[5] for line in lines] == ["conduct", "name"]
        assert f"bo {other.player}" in lines[1]
        assert f"by ada {ada.player}  It imitates me." in lines[1]
        result = run("admin", "settle", lines[1].split()[0], "--reason", "warned")
        assert (result.exit_code, "about bo in" in result.stderr) == (0, True), result.output
        assert len(run("admin", "reports").stdout.splitlines()) == 1
        assert run("admin", "settle", lines[1].split()[0]).exit_code != 0

        result = run("admin", "erase", zadie.player, zadie.player, "--reason", "asked")
        assert (result.exit_code, result.stdout) == (0, ""), result.output
        assert f"{zadie.player} was erased: 1 device logged out, 0 replays withdrawn" in result.stderr
        assert run("admin", "reports").stdout == ""
        erased = json.loads(run("admin", "erase", zadie.player, "--json").stdout)
        assert erased == {"erased": [{"player": zadie.player, "tokens": 0, "withdrawn": 0, "unreadable": 0}]}
        assert run("admin", "erased").stdout.split() == [zadie.player]
        assert run("admin", "erase", "zadie").exit_code != 0
