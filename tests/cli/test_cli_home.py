"""The home screen: what it shows, and evenings that start there with keys that the previous frame shows."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from textual.pilot import Pilot

from cli.test_cli_race_app import until
from samedeal.games.catalogue import GAMES
from samedeal.scores.tallies import GameScores, Personal
from samedeal.wire.documents import Daily, Listed, PlayerPage, Result
from samedeal.wire.messages import Leave, Rematch
from samedeal_cli import settings
from samedeal_cli.commands import start
from samedeal_cli.commands.home import HomeScreen, Words, look_around
from samedeal_cli.failure import INTERRUPTED, TERMINATED, Unreachable
from samedeal_cli.net import guests
from samedeal_cli.net.connect import LAST_RACE, LastRace, connect, running_race
from samedeal_cli.net.http_api import Api
from samedeal_cli.screen.app import FullScreen
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.settings import Settings, demo_file, state_dir
from samedeal_cli.state.home_state import HomeState, level_of, race_to_join
from support.full_screen import shown
from support.servers import Server
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"
SIZES = [(60, 20), (80, 24), (100, 32), (200, 50)]


def listed(race: str, racers: int, *, most: int = 8, game: str = "the-edge", **fields: object) -> Listed:
    fixed = {"opened_at": 0, "sealed": True, "daily": False, "max_racers": most, "stage": "open"}
    return msgspec.convert({"race": race, "game": game, "racers": racers} | fixed | fields, Listed)


def scores(races: int, solved: int) -> Personal:
    rest = {"goal": 52, "counted": "home", "best": 52, "best_ms": None, "wins": 0}
    game = msgspec.convert({"game": "golf", "races": races, "solved": solved, **rest}, GameScores)
    counts = {"races": races, "wins": 0, "solved": solved, "streak": 3, "longest_streak": 3}
    return Personal(player="0" * 16, name="zo", bot=False, games=(game,), **counts)


def page(races: int, solved: int) -> PlayerPage:
    return PlayerPage(scores(races, solved), ())


class HomeApp(FullScreen):
    """The app with the home screen."""

    def __init__(self, home: HomeScreen) -> None:
        super().__init__(home)
        self.home = home


def app_with(url: str, name: str = "", **fields: Any) -> HomeApp:
    """Return the app with the home screen of a user, perhaps with a name."""
    return HomeApp(HomeScreen(Settings(server=url, name=name), HomeState(url, name, **fields)))


async def press(app: FullScreen, pilot: Pilot[None], key: str, text: str) -> None:
    """Press a key once the screen shows it in a text, of which neither case nor gaps matter."""
    await until(lambda: text.lower() in re.sub(" +", " ", shown(app).lower()))
    await pilot.press(key)


# What it shows.


@pytest.mark.parametrize("running", ["", "The Edge · calm-otter-42"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_offer_is_shown_with_its_key_and_without_a_cut(width: int, height: int, running: str) -> None:
    state = HomeState("127.0.0.1:8640", "zo", running=running, page=page(5, 1), width=width, height=height)
    lines = draw_home(state).text()
    for offer in state.offers:
        assert any(line.strip().startswith(f"{offer.key}  {offer.title}") for line in lines)
        assert any(line.strip() == offer.text for line in lines)


def test_a_small_terminal_is_told_the_least_size() -> None:
    assert "needs 60×20, has 59×20" in "\n".join(draw_home(HomeState("", width=59, height=20)).text())
    assert "\n".join(draw_home(HomeState("", "zo", ascii=True)).text()).isascii()


def test_play_now_joins_the_fullest_open_race_that_is_not_a_daily_one() -> None:
    races = [listed("empty", 0), listed("full", 2, most=2), listed("daily", 5, daily=True), listed("one", 1)]
    assert race_to_join(races) == races[3]
    assert race_to_join([*races, structs.replace(listed("again", 3), follows="over")]) == races[3]
    assert race_to_join([*races, listed("two", 2, game="corners")]) == listed("two", 2, game="corners")
    assert race_to_join([*races, listed("two", 2, game="corners")], "the-edge") == races[3]
    assert race_to_join(races[:3]) is None
    assert "Join 1 player at The Edge." in "\n".join(draw_home(HomeState("", races=races)).text())


def test_the_bot_plays_about_as_well_as_the_user() -> None:
    assert [level_of(None, "golf"), level_of(scores(9, 0), "golf")] == ["beginner", "beginner"]
    assert [level_of(scores(9, 1), "golf"), level_of(scores(9, 5), "golf")] == ["regular", "expert"]
    assert level_of(scores(9, 5), "corners") == "beginner"
    assert "Race an expert bot" in "\n".join(draw_home(HomeState("", page=page(9, 5))).text())


# What it runs.


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        ("p", "play"),
        ("enter", "play"),
        ("d 6", "solo gallery --daily"),
        ("f 1", "new golf --unlisted --join"),
        ("f 0", "new freecell --unlisted --join"),
        ("f 3", "join -- quick-fox-1"),
        ("f 4", "watch -- slow-fox-2"),
        ("t 3", "practice corners"),
        ("escape", ""),
    ],
)
async def test_what_is_chosen_becomes_a_command(keys: str, command: str) -> None:
    races = (listed("quick-fox-1", 1, host="Hana"), structs.replace(listed("slow-fox-2", 1), stage="running"))
    app = app_with(NOBODY, "zo", races=races)
    async with app.run_test(size=(80, 24)) as pilot:
        for key in keys.split():
            await pilot.press(key)
    assert " ".join(app.home.chosen) == command


async def test_a_typed_link_is_joined_and_never_read_as_an_option() -> None:
    app = app_with(NOBODY, "zo")
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "f", "f Friends")
        await press(app, pilot, "2", "2 Join a race by its link or id")
        await until(lambda: "Enter accept" in shown(app))
        await pilot.press(*"--as", "enter")
    assert app.home.chosen == ("join", "--", "--as")


async def test_friends_see_who_has_opened_a_race_and_the_daily_what_is_raced() -> None:
    best = Result(1, "zo", False, "won", 52, 52, 62_000, None)
    raced = Daily("the-edge", "2026-11-21", "9f" * 32, "today", 0, None, None, (), 14, None, best)
    app = app_with(NOBODY, "zo", daily=(raced,), races=(listed("quick-fox-1", 1, host="Hana"),))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "d", "You have raced 1 of 1 today.")
        await press(app, pilot, "escape", "The Edge (raced)")
        await press(app, pilot, "f", "f Friends")
        await until(lambda: "Join quick-fox-1: The Edge, opened by Hana" in shown(app))


async def test_results_of_a_newcomer_are_empty_and_offers_can_be_clicked() -> None:
    app = app_with(NOBODY)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "127.0.0.1:1 cannot be reached" in shown(app))
        await press(app, pilot, "r", "r Results")
        await until(lambda: shown(app).count("No races yet") == 2)
        await press(app, pilot, "escape", "Esc")
        await pilot.click(offset=(8, 4))
    assert app.home.chosen == ("play",)


def test_what_the_server_says_is_part_of_the_state(live: Server) -> None:
    assert look_around(Settings(server=live.url))["running"] == ""
    guests.save(guests.Guest(live.url, "stale", "0" * 16, "sd_x"))
    (state_dir() / LAST_RACE).write_bytes(msgspec.json.encode(LastRace(NOBODY, "gone", None)))
    state = look_around(Settings(server=live.url))
    assert (state["page"], state["running"], state["server"]) == (None, "", live.url.removeprefix("http://"))


def test_the_last_race_is_forgotten_when_it_is_over(live: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert running_race() is None
    race = live.create("corners")
    for name, found in ((race, True), ("no-such-race", False)):
        (state_dir() / LAST_RACE).write_bytes(msgspec.json.encode(LastRace(live.url, name, None)))
        assert (running_race() is not None) is found
    (state_dir() / LAST_RACE).write_bytes(msgspec.json.encode(LastRace(live.url, race, None)))
    waiting = Rematch(race="other", game="corners", by="Ada", stage="open")
    for stage, successor, found in (
        ("cancelled", None, False),
        ("cancelled", waiting, True),
        ("cancelled", structs.replace(waiting, stage="over"), False),
        ("over", waiting, False),
    ):
        view = SimpleNamespace(stage=stage, next=successor)
        monkeypatch.setattr(Api, "read", lambda *_, view=view: view)
        assert (running_race() is not None) is found
    (state_dir() / LAST_RACE).write_text("{")
    assert running_race() is None


async def test_the_last_race_is_forgotten_by_those_who_give_up_their_seat(live: Server) -> None:
    race = live.create("corners")
    async with connect(Settings(), live.url, race, "zo") as connection:
        assert (state_dir() / LAST_RACE).exists()
        await connection.request(Leave(id=0))
        assert not (state_dir() / LAST_RACE).exists()


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (("play",), True),
        (("join", "--", "calm-otter-42"), True),
        (("join", "--", "https://example.org/r/calm-otter-42"), False),
        (("resume",), False),
        (("practice", "corners"), False),
    ],
)
def test_a_server_is_started_only_for_races_on_this_machine(words: Words, needed: bool) -> None:
    assert start._needs_default_server(Settings(), words) is needed
    assert not start._needs_default_server(Settings(server=NOBODY), words)


# Evenings that start at the home screen.


def evening(terminal: Terminal, *steps: str) -> None:
    """Press each key once a frame shows it in a text: ``p  Play now``, or ``Enter=Your name``."""
    for step in steps:
        key, _, text = step.partition("=") if "=" in step else (step.split()[0], "", step)
        terminal.until(re.escape(text))
        terminal.keys(key)


@tmux_only
def test_an_evening_from_the_home_screen_needs_only_keys_that_are_shown(live: Server, tmp_path: Path) -> None:
    with Terminal({**environment_at(live, tmp_path), "SAMEDEAL_NAME": ""}) as terminal:
        terminal.type(SAMEDEAL)
        evening(terminal, "p  Play now", "Enter=Your name [", "! resign", "y yes")
        evening(terminal, "n  Rematch", "! resign", "y yes")
        terminal.until("the race is over")
        evening(terminal, "q quit", "d  Daily", "1  Golf", "Enter=Play it now? [Y/n]", "! resign", "y yes")
        terminal.until("Nobody else has played yet")  # the race counts
        evening(terminal, "q quit", f"d=You have raced 1 of {len(GAMES)} today.", "Escape=Golf (raced)", "r  Results")
        terminal.until("3 races, 0 wins, 0 deals solved")
        evening(terminal, "Escape=Esc", "q quit")


@tmux_only
@pytest.mark.tier(3)
def test_a_host_returns_to_the_race_and_a_late_friend_watches_it(live: Server, tmp_path: Path) -> None:
    with (
        Terminal(environment_at(live, tmp_path), 60, 20) as terminal,
        Terminal(environment_at(live, tmp_path / "bo")) as friend,
    ):
        terminal.type(SAMEDEAL)
        evening(terminal, "f  Friends", "1  Open a race at Golf, two minutes", "b=add bot", "1  any", "r  Ready")
        terminal.until("! resign")
        terminal.keys("C-q")  # in the footer of wider terminals
        evening(terminal, "Enter=Enter back to your race")
        terminal.until("! resign")
        race = json.loads((tmp_path / "state" / "samedeal" / LAST_RACE).read_text())["race"]
        friend.type(SAMEDEAL)
        evening(friend, "f  Friends", "2  Join a race by its link or id")
        friend.until("Enter accept")
        friend.type(f"{live.url}/r/{race}")
        evening(friend, "Enter=Watch it now? [Y/n]")
        friend.until("watching")
        evening(terminal, "! resign", "y yes", "q quit", "q quit")
        friend.until("the race is over")


@tmux_only
def test_a_failure_can_be_read_before_the_home_screen_returns(live: Server, tmp_path: Path) -> None:
    with Terminal(environment_at(live, tmp_path)) as terminal:
        terminal.type(SAMEDEAL)
        evening(terminal, "f  Friends", "2  Join a race by its link or id")
        terminal.until("Enter accept")
        terminal.type("no-such-race")
        terminal.until("This race was not found on")
        evening(terminal, "Enter=Press any key", "t  Practice", "3  Corners", "! leave", "q quit")


def test_without_a_server_the_first_race_starts_a_temporary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (start, settings):
        monkeypatch.setattr(module, "DEFAULT_SERVER", NOBODY)
    monkeypatch.setattr(start, "PORT", 18_700)
    screens = iter([("practice", "corners"), ("play",), ("play",), ()])
    monkeypatch.setattr(start, "_show_home", lambda _: (SimpleNamespace(chosen=next(screens)), 7))
    addresses = []

    def run_command(words: Words) -> int:
        addresses.append(Settings().address)
        return 0

    assert start.start(Settings(), run_command) == 7
    assert addresses[0] == NOBODY
    assert addresses[1] == addresses[2] != NOBODY
    with pytest.raises(Unreachable):
        Api(addresses[1]).games()
    assert not demo_file().exists()


@pytest.mark.parametrize(("code", "shown"), [(0, 2), (INTERRUPTED, 2), (1, 2), (TERMINATED, 1)])
def test_a_command_returns_to_the_home_screen_unless_it_was_terminated(
    code: int, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    screens, pauses = iter([("practice", "corners"), ()]), list[int]()
    monkeypatch.setattr(start, "_show_home", lambda _: (SimpleNamespace(chosen=next(screens)), 0))
    monkeypatch.setattr("click.pause", lambda **_: pauses.append(code))
    assert start.start(Settings(server=NOBODY), lambda _: code) == (code if code == TERMINATED else 0)
    assert len([*screens]) == 2 - shown
    assert pauses == [code] * (code == 1)
