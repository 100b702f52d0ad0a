"""The home screen: what it shows, and evenings that start there with keys that the previous frame shows."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from cli.test_cli_race_app import until
from samedeal.scores.tallies import GameScores, Personal
from samedeal.wire.documents import Listed
from samedeal_cli.commands.home import HomeScreen, look_around
from samedeal_cli.commands.start import first_state
from samedeal_cli.failure import Unreachable
from samedeal_cli.net import guests
from samedeal_cli.net.connect import LAST_RACE, LastRace, running_race
from samedeal_cli.net.http_api import Api
from samedeal_cli.screen.app import FullScreen
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.settings import Settings, demo_file, state_dir
from samedeal_cli.state.home_state import HomeState, daily_question, level_of, race_to_join
from support.full_screen import shown
from support.servers import Server, begin_together, racers, resign_all
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"
SIZES = [(60, 20), (80, 24), (100, 32), (200, 50)]


def listed(race: str, racers: int, *, most: int = 8, game: str = "the-edge", daily: bool = False) -> Listed:
    fields = {"opened_at": 0, "sealed": True, "daily": daily, "max_racers": most}
    return msgspec.convert({"race": race, "game": game, "stage": "open", "racers": racers, **fields}, Listed)


def scores(races: int, solved: int) -> Personal:
    rest = {"goal": 52, "counted": "home", "best": 52, "best_ms": None, "wins": 0}
    game = msgspec.convert({"game": "the-edge", "races": races, "solved": solved, **rest}, GameScores)
    counts = {"races": races, "wins": 0, "solved": solved, "streak": 3, "longest_streak": 3}
    return Personal(player="0" * 16, name="zo", bot=False, games=(game,), **counts)


def home(url: str, name: str = "") -> FullScreen:
    """Return the app with the home screen of a user, perhaps with a name."""
    settings = Settings(server=url, name=name)
    return FullScreen(HomeScreen(settings, first_state(settings)))


async def press(app: FullScreen, pilot: Pilot[None], key: str, text: str) -> None:
    """Press a key once the screen shows it in a text, of which neither case nor gaps matter."""
    await until(lambda: text.lower() in re.sub(" +", " ", shown(app).lower()))
    await pilot.press(key)


# What it shows.


@pytest.mark.parametrize("running", ["", "The Edge · calm-otter-42"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_offer_is_shown_with_its_key_and_without_a_cut(width: int, height: int, running: str) -> None:
    state = HomeState("127.0.0.1:8640", "zo", running=running, scores=scores(5, 1), width=width, height=height)
    lines = draw_home(state).text()
    for offer in state.offers:
        assert any(line.strip().startswith(f"{offer.key}  {offer.title}") for line in lines)
        assert any(line.strip() == offer.text for line in lines)
    assert f"{state.offers[0].title}  or Enter" in "\n".join(lines)


def test_a_small_terminal_is_told_the_least_size() -> None:
    assert "needs 60×20, has 59×20" in "\n".join(draw_home(HomeState("", width=59, height=20)).text())
    assert "\n".join(draw_home(HomeState("", "zo", ascii=True)).text()).isascii()


def test_play_now_joins_the_fullest_open_race_that_is_not_a_daily_one() -> None:
    races = [listed("empty", 0), listed("full", 2, most=2), listed("daily", 5, daily=True), listed("one", 1)]
    assert race_to_join(races) == races[3]
    assert race_to_join([*races, listed("two", 2, game="corners")]) == listed("two", 2, game="corners")
    assert race_to_join([*races, listed("two", 2, game="corners")], "the-edge") == races[3]
    assert race_to_join(races[:3]) is None
    assert "Join 1 player at The Edge." in "\n".join(draw_home(HomeState("", races=races)).text())


def test_the_bot_plays_about_as_well_as_the_user() -> None:
    assert [level_of(None, "the-edge"), level_of(scores(9, 0), "the-edge")] == ["beginner", "beginner"]
    assert [level_of(scores(9, 1), "the-edge"), level_of(scores(9, 5), "the-edge")] == ["regular", "expert"]
    assert level_of(scores(9, 5), "corners") == "beginner"
    assert "Race an expert bot" in "\n".join(draw_home(HomeState("", scores=scores(9, 5))).text())


def test_the_daily_warns_of_the_race_that_counts() -> None:
    assert daily_question("corners", raced=False).startswith("Only your first race on today's deal of Corners counts.")
    assert daily_question("corners", raced=True).startswith("You have raced today's deal of Corners")


# What it does.


async def test_an_evening_from_the_home_screen_needs_only_keys_that_are_shown(live: Server) -> None:
    app = home(live.url)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "p", "p Play now")
        await press(app, pilot, "enter", "Enter accept")
        for _ in range(2):  # a race and its rematch
            await press(app, pilot, "!", "! resign")
            await press(app, pilot, "y", "y yes")
            await until(lambda: "the race is over" in shown(app))
            await press(app, pilot, "n", "n rematch")
        await press(app, pilot, "!", "! resign")
        await press(app, pilot, "y", "y yes")
        await until(lambda: "the race is over" in shown(app))
        await press(app, pilot, "q", "q back")
        await press(app, pilot, "d", "d Daily")
        await press(app, pilot, "1", "1 The Edge")
        await press(app, pilot, "y", "y yes")
        await press(app, pilot, "!", "! resign")
        await press(app, pilot, "y", "y yes")
        await until(lambda: "the race is over" in shown(app))
        await press(app, pilot, "q", "q back")
        await until(lambda: "You have raced 1 of 5 today." in shown(app))
        await press(app, pilot, "d", "d Daily")
        await until(lambda: "The Edge (raced)" in shown(app))
        await press(app, pilot, "escape", "Esc back")
        await press(app, pilot, "r", "r Results")
        await until(lambda: "Your results" in shown(app))
        await press(app, pilot, "escape", "Esc back")
        await press(app, pilot, "q", "q quit")
    assert app.return_code == 0


async def test_a_friend_is_the_host_and_returns_to_the_race(live: Server) -> None:
    app = home(live.url, "Zo")
    async with app.run_test(size=(60, 20)) as pilot:
        await press(app, pilot, "f", "f Friends")
        await press(app, pilot, "1", "1 Open a race of The Edge, three minutes")
        await until(lambda: "Zo (you)" in shown(app))
        await press(app, pilot, "r", "r ready")
        async with racers(live, "bo") as (bo,):
            (race,) = [each.race for each in Api(live.url).live_races("open") if each.racers]
            assert json.loads(live.get(f"/api/v1/races/{race}")[1])["host"] == {"name": "Zo", "seat": 1}
            await bo.begin(race)
            await until(lambda: "stock" in shown(app))
            await pilot.press("ctrl+q")  # in the footer of wider terminals
            await press(app, pilot, "enter", "Back to your race or Enter")
            await until(lambda: "stock" in shown(app))
            await resign_all([bo])
            await pilot.press("ctrl+q")
            await press(app, pilot, "q", "q quit")


async def test_too_late_for_a_seat_the_user_can_watch(live: Server) -> None:
    race = live.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    app = home(live.url, "Zo")
    async with racers(live, "ada", "bo") as players, app.run_test(size=(80, 24)) as pilot:
        await begin_together(race, players)
        await press(app, pilot, "f", "f Friends")
        await press(app, pilot, "2", "2 Join a race by its link or name")
        await until(lambda: "Enter accept" in shown(app))
        await pilot.press(*f"{live.url}/r/{race}")
        await pilot.press("enter")
        await press(app, pilot, "y", "Watch the race instead?")
        await until(lambda: "1 watching" in shown(app))
        await resign_all(players)
        await until(lambda: "the race is over" in shown(app))
        await press(app, pilot, "q", "q back")
        await press(app, pilot, "q", "q quit")


async def test_practice_and_an_unknown_race_return_to_the_home_screen(live: Server) -> None:
    app = home(live.url, "Zo")
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "t", "t Practice")
        await press(app, pilot, "3", "3 Corners")
        await until(lambda: "hint" in shown(app))
        await press(app, pilot, "!", "! leave")
        await press(app, pilot, "f", "f Friends")
        await press(app, pilot, "2", "2 Join a race")
        await until(lambda: "Enter accept" in shown(app))
        await pilot.press(*"no-such-race", "enter")
        await until(lambda: "not found" in shown(app))
        assert "(not-found)" not in shown(app)
        await press(app, pilot, "q", "q quit")


async def test_a_refused_name_is_asked_for_again(live: Server) -> None:
    app = home(live.url)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "d", "d Daily")
        await press(app, pilot, "1", "1 The Edge")
        await press(app, pilot, "y", "y yes")
        await until(lambda: "Enter accept" in shown(app))
        await pilot.press("ctrl+u", *"admin", "enter")
        await until(lambda: "the name admin was refused" in shown(app))
        await until(lambda: "Enter accept" in shown(app))
        await pilot.press(*"Zo", "enter")
        await until(lambda: "! resign" in shown(app))


async def test_without_a_server_the_first_race_starts_a_temporary_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", f"{tmp_path}")
    monkeypatch.setattr("samedeal_cli.commands.home.DEFAULT_SERVER", NOBODY)
    monkeypatch.setattr("samedeal_cli.commands.home.PORT", 18_700)
    app = home(NOBODY)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "on this machine" in shown(app))
        await press(app, pilot, "d", "d Daily")
        await press(app, pilot, "5", "5 Gallery")
        await press(app, pilot, "y", "y yes")
        await press(app, pilot, "enter", "Enter accept")
        await until(lambda: "deal" in shown(app) and "Gallery" in shown(app))
        url = str(json.loads(demo_file().read_text())["url"])
        assert Api(url).games()
    with pytest.raises(Unreachable):
        Api(url).games()
    assert not demo_file().exists()


async def test_a_server_elsewhere_is_never_replaced() -> None:
    app = home(NOBODY, "zo")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "127.0.0.1:1 cannot be reached" in shown(app))
        await press(app, pilot, "p", "p Play now")
        await until(lambda: "cannot be reached: Connection refused" in shown(app))


async def test_results_of_a_newcomer_are_empty(live: Server) -> None:
    app = home(live.url)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "r", "r Results")
        await until(lambda: shown(app).count("No races yet") == 2)
        await pilot.click(offset=(8, 4))  # what can be done can be clicked
        await until(lambda: "What is your name?" in shown(app))


def test_what_the_server_says_is_part_of_the_state(live: Server) -> None:
    assert look_around(Settings(server=live.url, name="zo"))["name"] == "zo"
    guests.save(guests.Guest(live.url, "stale", "0" * 16, "sd_x"))
    state = look_around(Settings(server=live.url))
    assert (state["name"], state["scores"], state["running"]) == ("stale", None, "")


def test_the_last_race_is_forgotten_when_it_is_over(live: Server) -> None:
    assert running_race() is None
    race = live.create("corners")
    for name, found in ((race, True), ("no-such-race", False)):
        (state_dir() / LAST_RACE).write_bytes(msgspec.json.encode(LastRace(live.url, name, None)))
        assert (running_race() is not None) is found
    (state_dir() / LAST_RACE).write_text("{")
    assert running_race() is None


@tmux_only
def test_samedeal_at_a_terminal_is_the_home_screen(live: Server, tmp_path: Path) -> None:
    terminal = Terminal(environment_at(live, tmp_path))
    try:
        terminal.type(SAMEDEAL)
        terminal.until("p  Play now")
        terminal.until("q quit")
        terminal.keys("p")
        terminal.until("! resign")
        terminal.keys("C-q")
        terminal.until("Back to your race")
        terminal.keys("q")
        terminal.until("To return to your race: .*resume")
        terminal.type(f"{SAMEDEAL} resume")
        terminal.until("! resign")
        terminal.keys("C-q")
        terminal.until("To rejoin")
    finally:
        terminal.close()
