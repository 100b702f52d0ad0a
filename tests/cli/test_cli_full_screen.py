"""The full screen: footer, themes, command palette, the line to type, the replay after a race, and Ctrl-Z."""

import os
import re
import termios
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.events import Key
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, OptionList

from cli.test_cli_race_app import application, until
from cli.test_cli_race_view import SIZES, screens
from cli.test_cli_replay_app import replay_app
from samedeal.games.catalogue import GAMES
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.themes import THEMES, look
from samedeal_cli.screen.canvas_widget import MORE, KeyLine
from samedeal_cli.screen.replay_screen import ReplayScreen
from samedeal_cli.settings import Theme
from samedeal_cli.state.actions import Entry, footer
from samedeal_cli.state.race_actions import working_actions
from support import program
from support.full_screen import RaceApp, shown
from support.servers import Server
from support.terminals import at_a_terminal
from support.terminals import until as until_shown
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only

pytestmark = pytest.mark.tier(2)


def solo(live: Server) -> RaceApp:
    """Return the app with a race for one."""
    return application(live, live.create("corners", seed="42", max_racers=1, start_delay_ms=0), ready=True)


def ply(app: RaceApp) -> int:
    """Return the number of moves made, or -1 before the deal."""
    return app.state.board.ply if app.state.board else -1


# The footer.


@pytest.mark.parametrize("slug", GAMES)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_footer_has_whole_labels_and_always_help_and_the_palette(slug: str, width: int, height: int) -> None:
    for name, state in screens(slug, width, height):
        entries = footer([*(action.entry(state) for action in working_actions(state)), MORE], width)
        assert sum(cells(entry.text) + 1 for entry in entries) <= width, name
        assert {"help", "more"} <= {entry.label for entry in entries}


def test_entries_of_minor_importance_are_left_out_if_they_do_not_fit() -> None:
    one, two = Entry("1", "eins", ""), Entry("2", "zwei", "", minor=True)
    assert footer([two, one], 14) == [two, one]
    assert footer([two, one], 13) == [one]


async def test_the_footer_shows_its_last_label_at_80_columns() -> None:
    app = replay_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: shown(app).endswith("^P more"))
        await pilot.resize_terminal(60, 20)
        await until(lambda: shown(app).endswith("q quit ^P more"))


async def test_the_footer_follows_the_state_while_the_terminal_has_no_focus() -> None:
    app = replay_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "Space play" in shown(app))
        app.app_focus = False
        app.replay.press("space")  # a key from the terminal would give it the focus
        await pilot.pause()
        assert "Space pause" in shown(app)


# Themes.


def colors(widget: Widget) -> tuple[str, str]:
    """Return the colours of a widget's text and background."""
    style = widget.rich_style
    return str(style.color and style.color.name), str(style.bgcolor and style.bgcolor.name)


async def check_colors_of_dialog(app: RaceApp, kind: type[Widget], wanted: tuple[str, str]) -> None:
    await until(lambda: app.screen.query(kind))
    await until(lambda: colors(app.screen.query_one(kind)) == wanted)
    assert colors(app.screen.query_one(KeyLine)) == wanted


def is_closed(app: RaceApp, kind: type[Widget]) -> bool:
    return not app.screen.query(kind)


@pytest.mark.parametrize("theme", [*THEMES][:2])
async def test_footer_dialogs_and_palette_have_the_colours_of_the_theme(theme: Theme, live: Server) -> None:
    palette, app = look(theme), solo(live)
    wanted = (palette.text or "default", palette.ground or "default")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board)
        await pilot.press("ctrl+t")
        app.choose(theme)
        await until(lambda: app.state.theme == theme and not app.dialog)
        await until(lambda: colors(app.widget) == colors(app.screen.query_one(KeyLine)) == wanted)
        key = app.race.keys.render_line(0)._segments[0].style
        assert key
        assert key.color
        assert key.color.name == (palette.color["letter"] if palette.ground else "color(11)")
        for opened, kind in (("question_mark", VerticalScroll), ("ctrl+k", OptionList)):
            await pilot.press(opened)
            await check_colors_of_dialog(app, kind, wanted)
            await pilot.press("escape")
            await until(partial(is_closed, app, kind))
        await pilot.press("ctrl+p")
        await until(lambda: "Search for commands" in shown(app))
        assert colors(app.screen.query_one(Input)) == wanted


# The command palette and the line to type.


async def open_palette(app: RaceApp, pilot: Pilot[None], text: str) -> None:
    await pilot.press("ctrl+p")
    await until(lambda: "Search for commands" in shown(app))
    await pilot.press(*text)


async def test_the_palette_runs_a_command(live: Server) -> None:
    app = solo(live)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board)
        await open_palette(app, pilot, "use the stock")
        await until(lambda: "Use the stock: draw, deal or redeal" in shown(app) and "key: Esc" not in shown(app))
        await pilot.press("down", "enter")
        await until(lambda: ply(app) == 1)
        await open_palette(app, pilot, "rematch")
        await until(lambda: "No matches found" in shown(app))  # only what works now


async def test_a_typed_move_is_completed_and_recalled(live: Server) -> None:
    app = solo(live)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board)
        await pilot.press("slash")
        line = app.screen.query_one(Input)
        await pilot.press("d")
        await until(lambda: "Enter accept" in shown(app) and line._suggestion == "draw")
        await pilot.press("tab")
        assert line.value == "draw"
        await pilot.press("enter")
        await until(lambda: ply(app) == 1)
        await pilot.press("slash", *"undo", "enter")
        await until(lambda: "There is nothing to undo" in shown(app))
        await pilot.press("slash", "up", "up", "enter")
        await until(lambda: ply(app) == 2)
        await pilot.press("slash", "up", "down", "escape", "space")
        await until(lambda: ply(app) == 3)
        await pilot.press("slash", *"restart", "enter")
        await until(lambda: app.dialog == "Question")


async def test_a_move_typed_in_one_burst_is_played_whole(live: Server) -> None:
    app = solo(live)
    async with app.run_test(size=(80, 24)):
        await until(lambda: app.state.board)
        for key in ("slash", *"draw", "enter"):  # without waiting for the line to open
            app.post_message(Key(key, {"slash": "/", "enter": "\r"}.get(key, key)))
        await until(lambda: ply(app) == 1)


# After the race.


async def test_v_opens_the_replay_and_q_returns_to_the_results(live: Server) -> None:
    app = solo(live)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board)
        await pilot.press("space")
        await until(lambda: ply(app) == 1)
        await pilot.press("exclamation_mark", "y")
        await until(lambda: "v replay" in shown(app))
        await pilot.press("v")
        await until(
            lambda: isinstance(app.screen, ReplayScreen) and "VERIFIED" in shown(app) and "q back" in shown(app)
        )
        await pilot.press("end")
        await until(lambda: " 1/1 " in shown(app))
        await pilot.press("q")
        await until(lambda: app.screen is app.race and "the race is over" in shown(app))
    assert app.failure is None


# The terminal.


@pytest.fixture
def terminal(live: Server, tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(environment_at(live, tmp_path)) as terminal:
        yield terminal


@tmux_only
def test_ctrl_z_suspends_and_fg_redraws_the_screen(terminal: Terminal, live: Server) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    terminal.type(f"{SAMEDEAL} join {race} --as ada --ready")
    terminal.until("stock 43")
    terminal.keys("C-z")
    terminal.until(r"Stopped")
    terminal.type("echo shell $((6 * 7))")
    assert "stock 43" not in terminal.until("shell 42")
    terminal.type("fg")
    terminal.until(r"(?s)stock 43.*Space draw")
    terminal.keys("Space")
    terminal.until("stock 42")


# Colours.


@pytest.mark.parametrize(
    ("variables", "options", "colored"),
    [
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({}, ["--color", "never"], False),
    ],
)
def test_the_whole_screen_follows_the_colour_settings(
    variables: dict[str, str], options: list[str], colored: bool
) -> None:
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"} | variables
    command = [*program.SAMEDEAL, "practice", "corners:42", *options]
    with at_a_terminal(environment, command) as (process, terminal):
        termios.tcsetwinsize(terminal, (24, 80))
        text = until_shown(terminal, "Help", "help")
        os.write(terminal, b"\x11")
        text += until_shown(terminal, "\x1b[?1049l")
        assert process.wait(50) == 0
    assert bool(re.search(r"\x1b\[([\d;]*;)?([349][0-7]|38;[\d;]+)[;m]", text)) == colored
