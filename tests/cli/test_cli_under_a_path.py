"""Commands against a server whose address has a path."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from samedeal_cli.addresses import canonical_address, same_server, server_address
from samedeal_cli.net import guests
from support.offline_cli import run
from support.program import ran
from support.servers import Server
from support.under_a_path import PATH, ServerUnderPath

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ServerUnderPath(tmp_path_factory.mktemp("path")) as running:
        yield running


@pytest.fixture(autouse=True)
def _name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_NAME", "ada")


def finished_race(server: Server) -> str:
    """Let the built-in bot play a race for one by its link, and return the link."""
    options = ("--seed", "1", "--max", "1", "--start-delay", "0s", "--limit", "1s")
    result = run("--server", server.url, "--json", "new", "the-edge", *options)
    link: str = json.loads(result.stdout)["link"]
    assert link.startswith(f"{server.url}/r/")
    ran("bot", link, "--speed", "1000", "--wait", "0s")
    return link


def test_race_is_opened_played_replayed_verified_and_shared_by_its_link(server: Server) -> None:
    link = finished_race(server)
    race_id = link.rpartition("/")[2]
    for command in ("replay", "verify", "share", "par", "watch"):
        result = run(command, link)
        assert result.exit_code == 0, result.output
        short = run("--server", f"{server.url}/", command, race_id)
        assert (short.exit_code, short.stdout) == (0, result.stdout)
    assert run("share", link).stdout.endswith(f"{link}\n")
    assert "verified (key known)" in run("verify", link).output
    api = f"{server.url}/api/v1/replays/{race_id}.json"
    assert run("verify", api).stdout == run("verify", link).stdout
    assert race_id in run("--server", server.url, "ls", "replays").stdout


def test_doctor_reaches_the_server_and_its_websocket(server: Server) -> None:
    report = json.loads(run("--server", server.url, "--json", "doctor").stdout)["server"]
    assert report["address"] == server.url
    assert (report["reached"], report["ready"]) == (True, True)
    assert report["round_trip_ms"] is not None


def test_names_belong_to_the_address_with_its_path(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_race(server)
    (guest,) = (each for each in guests.stored() if each.bot)
    assert guest.server == server.url
    host = server.url.removesuffix(PATH)
    assert guests.find(f"{host.replace('127.0.0.1', 'localhost')}{PATH}", guest.name) == guest
    assert guests.find(host, guest.name) is None
    code = json.loads(run("--server", server.url, "--json", "pass", "--as", guest.name).stdout)
    assert code["link"].startswith(f"{server.url}/login#")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert run("login", code["link"]).exit_code == 0
    assert [each.server for each in guests.stored()] == [server.url]


def test_addresses_with_paths() -> None:
    assert server_address("https://example.org/cards/") == "https://example.org/cards"
    assert canonical_address("http://localhost:8640/cards") == "http://127.0.0.1:8640/cards"
    assert same_server("http://localhost:8640/cards", "http://127.0.0.1:8640/cards")
    assert not same_server("http://localhost:8640/cards", "http://localhost:8640")
    assert not same_server("https://example.org/cards", "https://example.org/other")
