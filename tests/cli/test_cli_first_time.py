"""A first time in the terminal: every way to a seat, in a new home without a name, a token or a configuration."""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api, LoginCode
from support import waiting
from support.program import SAMEDEAL, ran
from support.servers import Server, begin_together, racers, resign_all
from support.terminals import at_a_terminal, until

NOBODY = "http://127.0.0.1:1"
QUESTION = f"Your name [{guests.account_name()}]: "
WAYS = [
    pytest.param(("join", "RACE", "--line"), id="join"),
    pytest.param(("join", "SERVER/r/RACE", "--line"), id="link"),
    pytest.param(("solo", "corners", "--daily", "--line"), id="daily"),
    pytest.param(("new", "corners", "--join", "--line"), id="new"),
]
"""The ways to a seat that the README and the first screen offer. The demo has tests of its own."""


@pytest.fixture
def newcomer(live: Server, tmp_path: Path) -> dict[str, str]:
    """The environment of a new user, who only knows where the server is."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SAMEDEAL_", "XDG_"))}
    return inherited | {"HOME": str(tmp_path), "SAMEDEAL_SERVER": live.url, "TERM": "xterm"}


def token(environment: dict[str, str]) -> str:
    """Return the only stored token."""
    (file,) = Path(environment["HOME"]).glob(".local/state/samedeal/guests/*.json")
    stored: str = json.loads(file.read_text())["token"]
    return stored


def newest_race(server: Server) -> str | None:
    races = json.loads(server.get("/api/v1/races?limit=1")[1])["races"]
    return races[0]["race"] if races else None


def take_a_seat(environment: dict[str, str], *words: str) -> str:
    """Take a seat at a terminal, answer what is asked as a new user would, leave, and return what was shown."""
    answers = {QUESTION: b"Zo\n", "counts. Play it": b"\n"}
    with at_a_terminal(environment, [*SAMEDEAL, *words]) as (process, terminal):
        shown = ""
        while "seat 1" not in (new := until(terminal, *answers, "seat 1")):
            shown += new
            question = next(question for question in answers if question in new)
            os.write(terminal, answers.pop(question))
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


def test_who_opens_a_first_race_is_its_host(newcomer: dict[str, str], live: Server) -> None:
    shown = take_a_seat(newcomer, "new", "corners", "--join", "--line", "--as", "Zo")
    race = re.search(r"/r/([a-z0-9-]+)", shown)
    assert race
    _, view = live.get(f"/api/v1/races/{race[1]}")
    assert b'"host":{"name":"Zo"' in view


@pytest.mark.parametrize(
    "words",
    [("me",), ("join", "RACE", "--line", "--no-ready"), ("new", "corners", "--join", "--line"), ("logout",)],
    ids=" ".join,
)
async def test_after_logging_in_every_command_uses_that_name(
    words: tuple[str, ...], newcomer: dict[str, str], live: Server
) -> None:
    race = live.create("corners")
    async with racers(live, "mia") as (mia,):
        api = Api(live.url)
        assert mia.token
        code = api.read(api.create_login_code(mia.token), LoginCode).code
        ran("login", code, environment=newcomer)
        done = ran(*(word.replace("RACE", race) for word in words), environment=newcomer)
        assert "mia" in done.stdout + done.stderr, done.stderr


@pytest.mark.tier(2)
@pytest.mark.parametrize("known", ["option", "environment", "token", "guest", "quiet", "json"])
def test_user_with_a_name_is_not_asked(known: str, tmp_path: Path) -> None:
    if known == "guest":
        guests.save(guests.Guest(NOBODY, "ada", "0" * 16, "sd_x"))
    variables = {"environment": {"SAMEDEAL_NAME": "ada"}, "token": {"SAMEDEAL_TOKEN": "sd_x"}}.get(known, {})
    options = {"option": ["--as", "ada"], "quiet": ["-q"], "json": ["--json"]}.get(known, [])
    command = [*SAMEDEAL, "--server", NOBODY, "again", "calm-otter-42", *options]
    with at_a_terminal(os.environ | {"TERM": "xterm"} | variables, command) as (process, terminal):
        assert "Your name" not in until(terminal, "no server is running")
        assert process.wait(50) == 3
    assert not (tmp_path / "config" / "samedeal" / "config.toml").exists()


def test_a_refused_account_name_is_named_with_the_option_for_another_one(
    newcomer: dict[str, str], live: Server
) -> None:
    done = ran("join", live.create("corners"), "--line", code=4, environment=newcomer | {"LOGNAME": "admin"})
    assert "admin" in done.stderr
    assert "--as" in done.stderr


def test_a_refused_account_name_is_asked_for_again(newcomer: dict[str, str], live: Server, tmp_path: Path) -> None:
    command = [*SAMEDEAL, "join", live.create("corners"), "--line"]
    with at_a_terminal(newcomer | {"LOGNAME": "admin"}, command) as (process, terminal):
        until(terminal, "Your name [admin]: ")
        os.write(terminal, b"\n")
        assert "the name admin was refused" in until(terminal, "Your name: ")
        os.write(terminal, b"Zo\n")
        until(terminal, "you are Zo, seat 1")
        os.write(terminal, b"quit\n")
        process.wait(60)
    assert tomllib.loads((tmp_path / ".config/samedeal/config.toml").read_text()) == {"name": "Zo"}


def test_watching_and_bots_give_a_newcomer_no_name(newcomer: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="1", max_racers=1, limit_ms=1000)
    with at_a_terminal(newcomer | {"LOGNAME": "admin"}, [*SAMEDEAL, "watch", race, "--line"]) as (watching, terminal):
        until(terminal, "Corners")
        ran("bot", race, "--as", "robbie", "--wait", "0s", environment=newcomer)
        until(terminal, "robbie")
        watching.wait(60)
    known = json.loads(ran("whoami", "--json", environment=newcomer).stdout)
    assert (known["default"], [guest["name"] for guest in known["guests"]]) == (guests.account_name(), ["robbie"])


async def test_a_spectator_who_opens_another_race_is_its_host(newcomer: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="spectator", max_racers=2, start_delay_ms=0)
    async with racers(live, "ada", "bo") as players:
        await begin_together(race, players)
        await resign_all(players)
    with at_a_terminal(newcomer, [*SAMEDEAL, "watch", race]) as (_, terminal):
        until(terminal, "resigned")
        before = newest_race(live)
        os.write(terminal, b"n")
        await waiting.until(lambda: newest_race(live) != before)
        view = json.loads(live.get(f"/api/v1/races/{newest_race(live)}")[1])
    assert view["host"]["name"] == guests.account_name()


def test_a_script_is_the_host_if_it_joins_or_has_a_name(newcomer: dict[str, str], live: Server) -> None:
    account = guests.account_name()
    for words, host in (((), None), (("--join", "--line"), account), ((), account), (("--as", "Zo"), "Zo")):
        link = ran("new", "corners", *words, environment=newcomer).stdout.split()[0]
        view = json.loads(live.get(f"/api/v1/races/{link.rpartition('/')[2]}")[1])
        assert view.get("host", {"name": None})["name"] == host


def test_who_opens_a_race_with_a_forgotten_name_is_its_host(newcomer: dict[str, str], live: Server) -> None:
    for _ in range(2):
        opened = ran("new", "corners", "--json", "--as", "Zo", environment=newcomer)
        race = json.loads(opened.stdout)["race"]
        assert json.loads(live.get(f"/api/v1/races/{race}")[1])["host"] == {"name": "Zo"}
        assert live.get("/api/v1/guests/logout", b"", Authorization=f"Bearer {token(newcomer)}")[0] == 204


async def test_a_player_who_comes_too_late_is_told_how_to_watch(newcomer: dict[str, str], live: Server) -> None:
    race = live.create("corners", max_racers=1)
    async with racers(live, "mia") as (mia,):
        await mia.join(race)
        done = ran("join", race, "--line", code=4, environment=newcomer)
        assert re.search(rf"All seats are taken\. To watch the race: .* watch {live.url}/r/{race}", done.stderr)
