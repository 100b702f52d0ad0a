"""Races against ghosts from the command line: on the full screen and line by line."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.test_cli_race_app import application, until
from samedeal.race.ghosts import Ghost
from samedeal.values import replace
from samedeal_cli.net.http_api import Api, ghost_request
from samedeal_cli.render.phrases import ghost_sentence
from samedeal_cli.state.race_news import ghost_news
from support.full_screen import shown
from support.program import SAMEDEAL
from support.servers import Server, begin_together, racers, resign_all

pytestmark = pytest.mark.tier(2)

GHOST = Ghost(
    ghost=1, name="bo", bot=True, outcome="playing", done=False, home=11, goal=48, progress=11 / 48, ms=62_000
)


async def raced(server: Server) -> str:
    race_id = server.create("corners", seed="225", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        await begin_together(race_id, players)
        await players[0].move("r2")
        await resign_all(players)
    await server.replay(race_id)
    return race_id


def test_ghosts_are_described_in_words() -> None:
    assert ghost_sentence(GHOST) == "ghost bo (bot), 11 of 48, playing, after 1:02.0"
    assert ghost_sentence(replace(GHOST, outcome="ready", home=0)) == "ghost bo (bot)"
    past = replace(GHOST, home=12, progress=0.25)
    won = replace(past, outcome="won", done=True, home=48, progress=1.0)
    assert list(ghost_news([GHOST], [past])) == ["bo's ghost is past a quarter, 12 of 48"]
    assert list(ghost_news([past], [won])) == ["bo's ghost solved the deal in 1:02.0"]
    assert list(ghost_news([past], [replace(past, outcome="lost", done=True)])) == ["bo's ghost stopped with 12 of 48"]
    assert list(ghost_news([], [won])) == list(ghost_news([won], [won])) == []


async def test_full_screen_shows_ghosts_below_the_racers(live: Server) -> None:
    source = await raced(live)
    race_id = Api(live.url).open_race(ghost_request(source)).race
    app = application(live, race_id, "cy", ready=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board and len(app.state.ghosts) == 2)
        await until(lambda: all(ghost.outcome == "resigned" for ghost in app.state.ghosts))
        assert [(ghost.name, ghost.home) for ghost in app.state.ghosts] == [("ada", 1), ("bo", 0)]
        assert [standing.name for standing in app.state.standings] == ["cy"]
        await until(lambda: "~ ada ■ 1/48" in " ".join(shown(app).split()))
        await pilot.resize_terminal(60, 20)
        await until(lambda: "~ ada ■ 1/48" in " ".join(shown(app).split()))
        await pilot.press("exclamation_mark", "y")
        await until(lambda: app.state.stage == "over")
        await until(lambda: "~ ada's ghost" in shown(app))
        await until(lambda: app.state.has_ghosts and app.state.scores)
        assert app.state.scores
        assert app.state.scores.name == "cy"
        await pilot.press("h")
        await until(lambda: app.state.race_id != race_id and app.state.ghosts)
        assert [ghost.name for ghost in app.state.ghosts] == ["cy"]
        await until(lambda: app.state.stage == "running")


async def test_race_command_plays_against_a_replay(live: Server, tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    file.write_bytes(live.get(f"/api/v1/replays/{await raced(live)}.json")[1])
    environment = os.environ | {"SAMEDEAL_SERVER": live.url}
    command = [*SAMEDEAL, "race", f"{file}", "--as", "cy", "--line"]
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True, bufsize=1) as process:
        assert process.stdin
        assert process.stdout
        for line in process.stdout:
            if "ghost ada, 1 of 48, resigned" in line:
                break
            if not line.startswith("ghost"):
                process.stdin.write("standings\n")
        process.stdin.write("resign\n")
        process.stdin.close()
        out = process.stdout.read()
    assert process.returncode == 0
    assert "corners:225" in out.splitlines()
    assert out.rindex("1 of 1: cy") < out.rindex("ghost ada, 1 of 48, resigned")
