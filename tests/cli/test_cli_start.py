"""``samedeal`` without a command and without a full screen: suggestions on a terminal, help in a pipe."""

import os
import re
from pathlib import Path

import pytest

from samedeal_cli.commands.start import start_lines
from samedeal_cli.main import COMMANDS, main
from samedeal_cli.settings import Settings
from support.program import SAMEDEAL
from support.servers import Server
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def said(server: str = "", name: str = "") -> str:
    return "\n".join(start_lines(Settings(server=server, name=name)))


def test_start_without_a_server_suggests_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_cli.settings.DEFAULT_SERVER", NOBODY)
    monkeypatch.setattr("samedeal_cli.commands.start.DEFAULT_SERVER", NOBODY)
    text = said(name="ada")
    assert "server     not running on this machine\n  you        ada\n" in text
    assert re.search(r"demo +try it: a server, racing bots", text)
    assert "cannot be reached" not in text
    assert f"server     {NOBODY}9 cannot be reached" in said(server=f"{NOBODY}9")


def test_start_with_a_server_lists_open_races(redis_url: str) -> None:
    with Server(redis_url) as server:
        assert "open  " not in said(server=server.url)
        race = server.create("the-edge", max_racers=3)
        text = said(server=server.url)
    assert f"server     {server.url}\n" in text
    assert f"open       {race}: the-edge, 0 of 3 seats taken" in text
    assert re.search(rf"join {race} +join this race", text)


def test_every_suggested_command_exists(store_url: str) -> None:
    with Server(store_url) as server:
        server.create("corners")
        texts = [said(server=server.url), said(server=NOBODY)]
    proposed = re.findall(r"samedeal (\w+)(?: [\w-]+)*(?: --\w+)* {3}", "\n".join(texts))
    assert {"demo", "serve", "join", "play", "new", "solo", "daily", "games"} == set(proposed) <= set(COMMANDS)


def test_pipe_gets_the_help_even_with_flags(capsys: pytest.CaptureFixture[str]) -> None:
    for args in ([], ["--server", NOBODY], ["-q"]):
        assert main.exit_code(args) == 0
        out, err = capsys.readouterr()
        assert out.startswith("Usage: samedeal [OPTIONS] COMMAND")
        assert err == ""


def test_terminal_without_a_full_screen_gets_suggestions() -> None:
    environment = os.environ | {"SAMEDEAL_SERVER": NOBODY, "SAMEDEAL_ASCII": "on", "TERM": "dumb"}
    with at_a_terminal(environment, SAMEDEAL) as (process, terminal):
        text = until(terminal, "every command")
        assert process.wait(50) == 0
    assert "race your friends at patience" in text
    assert f"{NOBODY} cannot be reached" in text
    assert text.isascii()
