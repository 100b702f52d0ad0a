"""The replay app: keys, clicks, time and verification."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from samedeal.proof.outcomes import Outcome
from samedeal_cli.render.themes import look
from samedeal_cli.screen.app import FullScreen
from samedeal_cli.screen.replay_screen import ReplayScreen
from samedeal_cli.screen.replay_view import draw_screen
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import Player
from support.finished_races import finished
from support.full_screen import shown
from support.offline_cli import written
from support.tmux import SAMEDEAL, Terminal, tmux_only

pytestmark = pytest.mark.tier(2)

TIMEOUT_S = 50


class ReplayApp(FullScreen):
    """The app with a replay."""

    def __init__(self, replay: ReplayScreen) -> None:
        super().__init__(replay)
        self.replay = replay

    @property
    def player(self) -> Player:
        return self.replay.player


def replay_app(*, outcome: Outcome = "verified", playing: bool = False) -> ReplayApp:
    player = Player.of(Recording.of(finished("corners", 60)))
    return ReplayApp(ReplayScreen(replace(player, playing=playing), look("terminal"), lambda: outcome))


def lines(app: ReplayApp) -> list[str]:
    return draw_screen(app.player, app.size.width, app.size.height).text()


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < end
        await pilot.pause(0.02)


async def test_keys_reach_the_player() -> None:
    app = replay_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right", "right")
        assert app.player.track.index(app.player.n) == 2
        await pilot.press("end", "tab")
        assert (app.player.ended, app.player.watched) == (True, 1)
        await pilot.press("slash", "m", "3", "enter")
        assert app.player.track.index(app.player.n) == 3
        await pilot.press("question_mark")
        await until(pilot, lambda: "play, pause" in shown(app) and "Esc back" in shown(app))
        await pilot.press("q")
        await until(pilot, lambda: "Space play" in shown(app))
        await pilot.press("q")
    assert not app.interrupted


async def test_a_narrow_window_does_not_show_racers_side_by_side() -> None:
    app = replay_app()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "racers side by side need 76 columns" in shown(app))


async def test_ctrl_c_interrupts_while_typing() -> None:
    app = replay_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", "ctrl+c")
    assert app.interrupted


async def test_time_advances_only_while_playing() -> None:
    app = replay_app(playing=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.player.at > 1_000)
        await pilot.press("space")
        at = app.player.at
        await pilot.pause(0.3)
        assert app.player.at == at


async def test_clicks_seek_watch_and_press_keys() -> None:
    app = replay_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        spots = draw_screen(app.player, 80, 24).spots
        line = spots["timeline"]
        await pilot.mouse_down(offset=(line.column + line.width - 1, line.row))
        assert app.player.at == app.player.recording.length
        await pilot.mouse_down(offset=(line.column, line.row))
        assert app.player.at == 0
        for track in app.player.recording.tracks:
            spot = draw_screen(app.player, 80, 24).spots[f"seat:{track.standing.seat}"]
            await pilot.mouse_down(offset=(spot.column + 1, spot.row))
            assert app.player.track is track
        footer = shown(app).splitlines()[-1]
        await pilot.mouse_down(offset=(footer.index("→ move"), 23))
        await until(pilot, lambda: app.player.n > app.player.recording.dealt_n)
        assert app.player.track.index(app.player.n) == 1
        await pilot.mouse_down(offset=(1, 3))
        assert app.player.track.index(app.player.n) == 1


@pytest.mark.parametrize(
    ("outcome", "says"),
    [("verified", " VERIFIED ✔"), ("key-unknown", "VERIFIED, KEY UNKNOWN"), ("refused", " REFUSED ✘")],
)
async def test_the_outcome_of_the_verification_is_shown(outcome: Outcome, says: str) -> None:
    app = replay_app(outcome=outcome)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.player.outcome is not None)
        assert says in lines(app)[0]


async def test_resizing_redraws_the_screen() -> None:
    app = replay_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: "MOVES" not in "\n".join(lines(app)))
        await pilot.resize_terminal(50, 10)
        await until(pilot, lambda: "needs 60x20" in lines(app)[0])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal in a folder with the file of a race."""
    written(tmp_path / "race.json", finished("corners"))
    with Terminal({**os.environ, "TERM": "xterm-256color"}, height=40) as terminal:
        terminal.type(f"cd {tmp_path}")
        yield terminal


@tmux_only
def test_the_command_opens_the_player_and_restores_the_terminal(terminal: Terminal) -> None:
    terminal.type(f"{SAMEDEAL} replay race.json --at m2; echo ended $?")
    shown = terminal.until(" VERIFIED, KEY UNKNOWN")
    assert " 2/30 " in shown
    assert "‖ paused, 4×" in shown
    terminal.keys("Right")
    terminal.until(" 3/30 ")
    terminal.keys("q")
    terminal.until("ended 0")
    assert terminal.has_cursor()


@tmux_only
def test_line_mode_prints_the_race_on_a_terminal(terminal: Terminal) -> None:
    terminal.type(f"{SAMEDEAL} replay race.json --line --at 2; echo ended $?")
    terminal.until("ada · move 2, 0:03.6 · r2")
    terminal.until("ended 0")
