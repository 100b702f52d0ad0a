"""The commands ``admin`` and ``report`` against a real server, on its socket and with its key."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from samedeal.wire import messages as m
from samedeal_cli.failure import Declined
from samedeal_cli.net import guests
from samedeal_cli.net.transport import Transport
from support.offline_cli import Result, run
from support.servers import Racer, Server, racers

pytestmark = pytest.mark.tier(2)

ADMIN_KEY = "k" * 32


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def server(store_url: str, data_dir: Path) -> Iterator[Server]:
    with Server(store_url, data_dir, admin_key=ADMIN_KEY, trusted_proxies="127.0.0.1") as running:
        yield running


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, server: Server, data_dir: Path) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", server.url)
    monkeypatch.setenv("SAMEDEAL_DATA_DIR", str(data_dir))
    monkeypatch.setenv("COLUMNS", "200")


def admin(*arguments: object) -> Result:
    return run("admin", *arguments)


def done(*arguments: object) -> str:
    """Return what a successful command prints."""
    result = admin(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


async def test_commands_change_the_server_and_are_logged(server: Server) -> None:
    async with racers(server, "ada", "eve") as (ada, eve):
        race = server.create("corners", seed="1", unlisted=True)
        await ada.join(race)
        listed = [" ".join(line.split()) for line in done("races", "--limit", 100).splitlines()]
        assert f"{race} corners open unlisted ada ({ada.player})" in listed
        assert done("hide", race, "--reason", "a name") == f"hide {race}\n"
        assert "unlisted hidden" in done("races", "--limit", 100)
        assert done("unhide", f"{server.url}/r/{race}") == f"unhide {race}\n"
        assert done("close", race) == f"close {race}\n"
        await ada.close()
        await ada.connect(server)
        assert isinstance(await ada.join(race), m.Problem)
        assert done("kick", "EVE") == "kick name:eve\n"
        assert done("ban", eve.player, "--until", "2035-01-31", "--reason", "insults").startswith(
            f"ban player:{eve.player} until 2035-01-31 00:00"
        )
        assert done("bans").startswith(f"player:{eve.player}  2035-01-31 00:00")
        assert done("unban", eve.player) == f"unban player:{eve.player}\n"
        assert done("bans") == ""
        assert done("revoke", ada.player) == "1 device logged out\n"
        assert done("revoke", ada.player) == "0 devices logged out\n"
    lines = done("log").splitlines()
    assert [line.split()[4] for line in lines] == [
        *("revoke", "revoke", "unban", "ban", "kick", "close", "unhide", "hide"),
    ]
    assert lines[-1].endswith(f"socket  hide    {race}                              a name") or "a name" in lines[-1]
    entries = json.loads(done("log", "--limit", 1, "--json"))["entries"]
    older = json.loads(done("log", "--limit", 1, "--before", entries[0]["id"], "--json"))["entries"]
    assert [entry["command"] for entry in entries + older] == ["revoke", "revoke"]


def test_key_is_used_over_http(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_DATA_DIR", "/nowhere")
    monkeypatch.setenv("SAMEDEAL_ADMIN_KEY", ADMIN_KEY)
    assert done("kick", "nobody", "--server", server.url) == "kick name:nobody\n"
    (entry,) = json.loads(done("log", "--limit", 1, "--server", server.url, "--json"))["entries"]
    assert entry["by"] == "key"
    monkeypatch.setenv("SAMEDEAL_ADMIN_KEY", "x" * 32)
    wrong = admin("log", "--server", server.url)
    assert (wrong.exit_code, wrong.output) == (4, "samedeal: The admin key is missing or wrong (bad-token)\n")


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "says"),
    [
        (["log", "--server", "http://127.0.0.1:1"], {}, 2, "--server needs the server's admin key in SAMEDEAL_ADMIN"),
        (["--server", "http://127.0.0.1:1", "log"], {}, 2, "--server needs the server's admin key in SAMEDEAL_ADMIN"),
        (["log", "--server", "http://cards.example"], {"SAMEDEAL_ADMIN_KEY": "k"}, 2, "connection is not encrypted"),
        (
            ["--socket", "/no/such.sock", "log"],
            {},
            3,
            "/no/such.sock cannot be reached: No such file or directory. Is the",
        ),
        (["ban", "eve", "--for", "soon"], {}, 2, "'soon' is not a valid duration (try 12h or 7d)"),
        (["ban", "eve", "--until", "soon"], {}, 2, "'soon' is not a valid time"),
        (["ban", "eve", "--for", "1d", "--until", "2035-01-01"], {}, 2, "--for and --until cannot be combined"),
        (["ban", "eve", "--until", "2001-01-01"], {}, 4, "A ban must end in the next ten years (bad-request)"),
        (["unban", "nobody"], {}, 4, "No ban of name:nobody is in force (not-found)"),
        (["close", "calm-otter-1"], {}, 4, "This race was not found"),
        (["close", "no race"], {}, 2, "is not a valid race"),
        (["dance"], {}, 2, "No such command 'dance'"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    environment: dict[str, str],
    code: int,
    says: str,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = admin(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


async def test_client_shows_why_it_was_removed(server: Server) -> None:
    transport = await Transport.open(server.url, "calm-otter-1")
    await transport.send(m.Hello(id=1, name="trent"))
    await transport.receive()
    done("ban", "trent", "--reason", "noise", "--for", "1h")
    with pytest.raises(Exception, match="4010"):
        await transport.receive()
    assert str(transport.failure).startswith("You are banned until 2")
    assert str(transport.failure).endswith("UTC: noise")
    assert isinstance(transport.failure, Declined)
    done("unban", "trent")


async def test_client_in_a_banned_network_shows_why(server: Server) -> None:
    client = Racer("walter")
    await client.connect(server)
    done("ban", "127.0.0.1", "--reason", "flood")
    try:
        with pytest.raises(Declined, match=r"UTC: flood$") as declined:
            await Transport.open(server.url, "calm-otter-1")
        assert declined.value.code == "banned"
        result = run("ls", "races", "--server", server.url)
        assert (result.exit_code, "UTC: flood (banned)" in result.stderr) == (4, True)
    finally:
        done("unban", "127.0.0.1")


def known(server: Server, racer: Racer) -> None:
    """Store a racer's token as that of a name on this machine."""
    guests.save(guests.Guest(server.url, racer.name, racer.player, racer.token or ""))


async def test_reported_player_is_listed_settled_and_erased(server: Server) -> None:
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
