"""The host in the full screen and in line mode, the ready clock, and races for one."""

import json
import re

import pytest

from cli import test_cli_line_live as line_mode
from cli.test_cli_race_app import application, until
from samedeal.wire import messages as m
from support.full_screen import shown
from support.program import ran
from support.servers import Server, racers

pytestmark = pytest.mark.tier(2)

environment = line_mode.environment


async def test_the_host_removes_a_player_and_starts_without_the_idle_one(live: Server) -> None:
    async with racers(live, "Ada", "Bo", "Cy", "Di") as (ada, bo, cy, di):
        race = live.create("corners", token=ada.token, start_delay_ms=0)
        app = application(live, race, "Ada", first_token=ada.token)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(lambda: app.state.me)
            await pilot.press("s", "d")  # there is nobody else
            assert (app.dialog, app.state.stage) == ("", "open")
            for racer in (bo, cy, di):
                await racer.join(race)
            await bo.ask(m.Ready)
            await until(lambda: len(app.state.standings) == 4 and "Bo is ready" in str(app.state.news))
            await until(lambda: "s start now" in shown(app))
            await until(lambda: "Ada (you, host)" in shown(app))
            await pilot.press("d")
            await until(lambda: "Which player?" in shown(app))
            assert shown(app).index("1  Cy") < shown(app).index("2  Di") < shown(app).index("3  Bo")
            await pilot.press("escape")
            assert app.dialog == ""
            await pilot.press("d", "1")
            await until(lambda: len(app.state.standings) == 3)
            await cy.connect(live)
            assert isinstance(await cy.join(race), m.Problem)
            await pilot.press("s")
            await bo.dealt()
            await until(lambda: app.state.board)
            assert {each.name for each in app.state.standings} == {"Ada", "Bo"}
            await pilot.press("q")


async def test_guests_see_who_invites_them_and_the_clock(live: Server) -> None:
    async with racers(live, "Ada", "Bo") as (ada, bo):
        race = live.create("corners", token=ada.token, start_delay_ms=0)
        app = application(live, race, "Cy")
        async with app.run_test(size=(80, 24)) as pilot:
            await until(lambda: app.state.me)
            await until(lambda: "Ada challenges you to Corners" in shown(app))
            assert "start now" not in shown(app)
            for racer in (ada, bo):
                await racer.join(race)
                await racer.ask(m.Ready)
            await until(lambda: re.search(r"Starts in \d+ s. Waiting for you.", shown(app)))
            await pilot.press("s", "d")  # only for the host
            assert app.dialog == ""
            await pilot.press("q")


async def test_the_host_changes_the_game_and_everybody_follows_also_by_the_old_link(live: Server) -> None:
    async with racers(live, "Ada") as (ada,):
        race = live.create("corners", token=ada.token, start_delay_ms=0, max_racers=3)
    bo, eve = (application(live, race, name, watching=name == "eve") for name in ("bo", "eve"))
    host = application(live, race, "Ada", first_token=ada.token)
    async with host.run_test(size=(80, 24)) as hers, bo.run_test(size=(60, 20)) as his, eve.run_test() as watching:
        await until(lambda: [len(app.state.standings) for app in (host, bo, eve)] == [2, 2, 2])
        await his.press("r", "c")
        await until(lambda: "✓ bo" in shown(host) and "c change" in shown(host))
        assert bo.dialog == ""
        await hers.press("c", "1")
        await until(lambda: "Which game?" in shown(host))
        await hers.press("2")
        await until(lambda: {app.state.header and app.state.header.game for app in (host, bo, eve)} == {"the-edge"})
        await until(lambda: [len(app.state.standings) for app in (host, bo, eve)] == [2, 2, 2])
        assert len({app.state.race_id for app in (host, bo, eve)} | {race}) == 2
        assert eve.state.me is None
        assert "The host has changed the game or its options." in shown(bo)
        assert {standing.outcome for standing in bo.state.standings} == {"waiting"}
        await hers.press("c", "2")
        await until(lambda: "─ Time limit ─" in shown(host))
        await hers.press("1")
        await until(lambda: bo.state.header and bo.state.header.options.limit_ms == 60_000)
        late = application(live, race, "cy")
        async with late.run_test() as last:
            await until(lambda: late.state.me and late.state.race_id == bo.state.race_id)
            assert late.state.link == bo.state.link
            await last.press("q")
        for pilot in (hers, his, watching):
            await pilot.press("q")
    assert (host.failure, bo.failure, eve.failure, late.failure) == (None,) * 4


async def test_a_race_for_one_starts_without_a_key(live: Server) -> None:
    app = application(live, live.create("corners", seed="42", max_racers=1, start_delay_ms=0))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board)
        await pilot.press("q")


async def test_a_racer_adds_bots_with_keys(live: Server) -> None:
    app = application(live, live.create("corners", start_delay_ms=60_000), "Ada")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.me)
        await pilot.press("b", "4")
        await until(lambda: "Joker (expert bot)" in shown(app))
        await pilot.press("b", "4")
        await until(lambda: "Joker, the expert bot, is already in this race." in shown(app))
        await pilot.press("b", "1")
        await until(lambda: "Trey (regular bot)" in shown(app))
        assert "Trey (regular bot) joined" in str(app.state.news)
        await pilot.press("b", "1")
        await until(lambda: "Deuce (beginner bot)" in shown(app))
        assert app.state.levels == {2: "expert", 3: "regular", 4: "beginner"}
        await pilot.press("q")


def test_a_racer_adds_bots_in_line_mode(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners")
    typed = "bot expert\nbot expert\nbot novice\nbot\nstandings\nquit\n"
    said = run(environment, "join", race, "--as", "Ada", "--no-ready", typed=typed)
    assert ": Joker (expert bot) joined" in said
    assert "no: Joker, the expert bot, is already in this race." in said
    assert "no: there is no novice bot; type bot and one of: beginner, regular, expert" in said
    (standing,) = (line for line in said.splitlines() if "Trey (regular bot)" in line and "joined" not in line)
    assert "ready" in standing


def test_the_host_uses_line_mode(environment: dict[str, str], live: Server) -> None:
    race = json.loads(run(environment, "new", "corners", "--seed", "42", "--as", "Ada", "--json"))["race"]
    said = run(environment, "join", race, "--as", "Bo", "--no-ready", typed="start\nquit\n")
    assert "Ada challenges you to Corners" in said
    assert "no: Only the host of the race can do this." in said
    said = run(environment, "join", race, "--as", "Ada", typed="start\nremove eve\nremove bo\nquit\n")
    assert "challenges you" not in said
    assert "no: A race starts with at least two players who are ready." in said
    assert "no: there is no player eve" in said
    assert "you have removed Bo" in said
    said = run(environment, "join", race, "--as", "Bo", code=4)
    assert "The host has removed you from this race" in said


def run(environment: dict[str, str], *words: str, typed: str = "", code: int = 0) -> str:
    """Run a command and return what it prints."""
    done = ran(*words, typed=typed, code=code, environment=environment)
    return done.stdout if "--json" in words else done.stdout + done.stderr
