"""A first time in the terminal: every way to a seat, in a new home without a name, a token or a configuration."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from samedeal_cli.full_screen.race_view import draw_screen
from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api, LoginCode
from samedeal_cli.state.actions import footer
from samedeal_cli.state.race_actions import working_actions
from support.example_states import lobby
from support.servers import Server, racers
from support.terminals import at_a_terminal, press, until

SAMEDEAL = (sys.executable, "-m", "samedeal_cli.main")
QUESTION = f"Your name [{guests.account_name()}]: "
WAYS = [
    pytest.param(("join", "RACE", "--line"), id="join"),
    pytest.param(("join", "SERVER/r/RACE", "--line"), id="link"),
    pytest.param(("solo", "corners", "--daily", "--line"), id="daily"),
    pytest.param(
        ("new", "corners", "--join", "--line"),
        id="new",
        marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason="C-1"),
    ),
]
"""The ways to a seat that the README and the first screen offer. The demo has tests of its own."""


@pytest.fixture(scope="module")
def live(store_url: str) -> Iterator[Server]:
    with Server(store_url) as running:
        yield running


@pytest.fixture
def newcomer(live: Server, tmp_path: Path) -> dict[str, str]:
    """The environment of a new user, who only knows where the server is."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SAMEDEAL_", "XDG_"))}
    return inherited | {"HOME": str(tmp_path), "SAMEDEAL_SERVER": live.url, "TERM": "xterm"}


def samedeal(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command without a terminal and without input."""
    return subprocess.run(
        [*SAMEDEAL, *words], env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


def take_a_seat(environment: dict[str, str], *words: str) -> str:
    """Take a seat at a terminal, answer what is asked as a new user would, leave, and return what was shown."""
    answers = {QUESTION: b"Zo\n", "Enter to begin": b"\r"}
    with at_a_terminal(environment, [*SAMEDEAL, *words]) as (process, terminal):
        shown = ""
        while "seat 1" not in (new := until(terminal, *answers, "seat 1")):
            shown += new
            question = next(question for question in answers if question in new)
            answer = answers.pop(question)
            (os.write if answer.endswith(b"\n") else press)(terminal, answer)
        os.write(terminal, b"quit\n")
        process.wait(60)
    return shown + new


@pytest.mark.parametrize("words", WAYS)
def test_a_new_player_is_asked_for_a_name_once_on_every_way_to_a_seat(
    words: tuple[str, ...], newcomer: dict[str, str], live: Server, tmp_path: Path
) -> None:
    for is_asked in (True, False):
        race = live.create("corners")
        shown = take_a_seat(newcomer, *(word.replace("RACE", race).replace("SERVER", live.url) for word in words))
        assert ("Your name" in shown) is is_asked
        assert "you are Zo, seat 1" in shown
    config = tmp_path / ".config/samedeal/config.toml"
    assert tomllib.loads(config.read_text()) == {"name": "Zo"}


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="C-2")
def test_who_opens_a_first_race_is_its_host(newcomer: dict[str, str], live: Server) -> None:
    shown = take_a_seat(newcomer, "new", "corners", "--join", "--line", "--as", "Zo")
    race = re.search(r"/r/([a-z0-9-]+)", shown)
    assert race
    _, view = live.get(f"/api/v1/races/{race[1]}")
    assert b'"host":{"name":"Zo"' in view


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="T-F5")
@pytest.mark.parametrize("words", [("me",), ("join", "RACE", "--line", "--no-ready"), ("logout",)], ids=" ".join)
async def test_after_logging_in_every_command_uses_that_name(
    words: tuple[str, ...], newcomer: dict[str, str], live: Server
) -> None:
    race = live.create("corners")
    async with racers(live, "mia") as (mia,):
        api = Api(live.url)
        assert mia.token
        code = api.read(api.create_login_code(mia.token), LoginCode).code
        login = samedeal(newcomer, "login", code)
        assert login.returncode == 0, login.stderr
        done = samedeal(newcomer, *(word.replace("RACE", race) for word in words))
        assert "mia" in done.stdout + done.stderr, done.stderr
        assert done.returncode == 0


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="F-F9")
def test_a_refused_account_name_is_named_with_the_option_for_another_one(
    newcomer: dict[str, str], live: Server
) -> None:
    done = samedeal(newcomer | {"LOGNAME": "admin"}, "join", live.create("corners"), "--line")
    assert done.returncode == 4, done.stderr
    assert "admin" in done.stderr
    assert "--as" in done.stderr


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="T-F8")
def test_the_lobby_offers_the_rules() -> None:
    state = lobby("corners")
    entries = footer([action.entry(state) for action in working_actions(state)], 80)
    shown = [*draw_screen(state, 80, 24).text(), *(entry.label for entry in entries)]
    assert any("rules" in line for line in shown)
