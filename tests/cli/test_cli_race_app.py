"""The full screen: the app with a real server, and the program in a real terminal."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.strip import Strip

from samedeal.wire import messages as m
from samedeal_cli.failure import Declined
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Api
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_state import RaceState
from support.full_screen import RaceApp, shown
from support.servers import Reachable, Server, racers
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

# The application.


def application(
    live: Reachable,
    race: str,
    name: str = "ada",
    *,
    watching: bool = False,
    ready: bool = False,
    first_token: str | None = None,
) -> RaceApp:
    state = RaceState(race, live.url.partition("://")[2], f"{live.url}/r/{race}", watching=watching)
    known = [first_token] if first_token else []

    def connect(race_id: str, watching: bool) -> Connection:
        """Connect as the same guest each time."""
        token = known[0] if known else None
        who: dict[str, Any] = {"name": name, "token": token, "watch": watching}
        return Connection(live.url, race_id, features=(m.REACTIONS,), on_welcome=remember, **who)

    def remember(welcome: m.Welcome) -> None:
        known.extend(filter(None, [welcome.token]))

    return RaceApp(RaceScreen(state, connect, Api(live.url), Settings(color="always"), ready=ready))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def another_second(app: RaceApp) -> None:
    before = app.state.left_ms
    await until(lambda: app.state.left_ms != before)


@pytest.mark.tier(1)
async def test_two_racers_play_from_the_lobby_to_the_verified_result(live: Server) -> None:
    race = live.create("corners", seed="42", start_delay_ms=200, limit_ms=120_000)
    app = application(live, race)
    async with racers(live, "bo") as (bo,), app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.stage == "open")
        await until(lambda: "r  Ready" in shown(app))
        await bo.join(race)
        await bo.ask(m.Ready)
        await until(lambda: "✓ bo" in shown(app))
        await pilot.press("r")
        dealt = asyncio.create_task(bo.dealt())
        await until(lambda: app.state.stage == "running" and app.state.board)
        await dealt
        await pilot.press("space")
        await until(lambda: app.state.board and app.state.board.ply == 1)
        await until(lambda: " to waste, stock " in shown(app))
        await bo.move("draw")
        await pilot.press("backspace")
        await until(lambda: "✗ There is nothing to undo" in shown(app))
        await pilot.press("slash")
        await until(lambda: app.state.notice and "draw" in app.state.notice.text)
        await pilot.press("escape")
        assert app.state.notice is None
        await pilot.press("slash", "r", "9", "enter")
        await until(lambda: "'r9' is not a move in Corners" in shown(app))
        await pilot.press("exclamation_mark", "enter")
        assert app.state.me
        assert app.state.me.outcome == "playing"
        await pilot.press("exclamation_mark", "y")
        await until(lambda: app.state.finished)
        await bo.ask(m.Resign)
        await until(lambda: app.state.checks)
        assert all(fact.holds for fact in app.state.checks)
        await until(lambda: "checks passed" in shown(app))
        await pilot.press("s")
        await until(lambda: app.clipboard.startswith("Same Deal · Corners · "))
        assert app.clipboard.endswith(f"\n{live.url}/r/{race}")
        await until(lambda: "Copied: Same Deal" in shown(app))
        await pilot.press("q")
    assert app.failure is None


async def test_the_mouse_plays_moves_and_presses_footer_keys(live: Server) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    app = application(live, race, ready=True)
    async with app.run_test(size=(100, 32)) as pilot:
        await until(lambda: app.state.board)
        stock = app.widget.canvas.spots["stock"]
        await pilot.click(offset=(stock.column + 3, stock.row + 1))
        await until(lambda: app.state.board and app.state.board.ply == 1)
        footer = shown(app).splitlines()[-1]
        await pilot.click(offset=(footer.index("? help"), 31))
        await until(lambda: app.dialog == "TextDialog")
        await pilot.press("escape")
        source, target = (app.widget.canvas.spots[place] for place in ("stock", "waste"))
        await pilot.mouse_down(offset=(source.column + 3, source.row + 1))
        await pilot.mouse_up(offset=(target.column + 3, target.row + 1))
        await until(lambda: app.state.board and app.state.board.ply == 2)
        await pilot.press("q")


async def test_only_changed_lines_are_redrawn(live: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    app = application(live, race, ready=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.board)
        drawn: list[int] = []
        paint = app.widget.render_line

        def watched(y: int) -> Strip:
            drawn.append(y)
            return paint(y)

        monkeypatch.setattr(app.widget, "render_line", watched)
        await another_second(app)  # draw everything that is still pending
        drawn.clear()
        await another_second(app)
        await until(lambda: drawn)
        await pilot.pause()
        assert set(drawn) == {0}
        await pilot.press("q")


async def test_an_unknown_race_ends_the_app_with_the_reason(live: Server) -> None:
    app = application(live, "no-such-race-1")
    async with app.run_test(size=(80, 24)):
        await until(lambda: app.failure)
    assert isinstance(app.failure, Declined)
    assert app.failure.code == "not-found"


def test_the_first_frame_needs_no_slow_imports() -> None:
    script = (
        "import sys, samedeal_cli.main, samedeal_cli.commands.play, samedeal_cli.commands.start\n"
        "import samedeal_cli.screen.splash, samedeal_cli.screen.race_view\n"
        "print({'textual', 'rich', 'websockets', 'asyncio', 'samedeal.proof.verification'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# The program in a terminal.


@pytest.fixture
def environment(live: Server, tmp_path: Path) -> dict[str, str]:
    return environment_at(live, tmp_path)


@pytest.fixture
def terminal(environment: dict[str, str]) -> Iterator[Terminal]:
    with Terminal(environment) as terminal:
        yield terminal


@tmux_only
async def test_a_race_is_played_by_keys_in_a_terminal_that_is_resized(terminal: Terminal, live: Server) -> None:
    race = live.create("kings-in-the-corners", seed="7", start_delay_ms=200, limit_ms=240_000)
    terminal.type(f"COLUMNS=70 LINES=22 {SAMEDEAL} join {race} --as ada")  # the window itself knows better
    terminal.until("r  Ready")
    async with racers(live, "bo") as (bo,):
        await bo.join(race)
        await bo.ask(m.Ready)
        terminal.keys("r")
        await bo.dealt()
        terminal.until("Place the ")
        await bo.ask(m.Resign)
        terminal.keys("2")
        terminal.until("1/52")
        terminal.resize(60, 20)
        terminal.until("▸1 you|▸2 you")
        terminal.resize(59, 19)
        terminal.until("needs 60×20, has 59×19")
        terminal.resize(100, 32)
        terminal.until("STAND|│  1")
        terminal.keys("!")
        terminal.until("Resign")
        terminal.keys("y")
        terminal.until("checks passed")
        terminal.keys("q")
    screen = terminal.until("To watch the replay: ")
    assert "ada" in screen


@tmux_only
def test_a_killed_client_rejoins_the_same_table(terminal: Terminal, live: Server, environment: dict[str, str]) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    terminal.type(f"{SAMEDEAL} join {race} --as ada --ready")
    terminal.until("stock 43")
    terminal.keys("Space", "Space")
    terminal.until("stock 41")
    for process in _programs(race):
        os.kill(process, signal.SIGKILL)
    terminal.until("Killed")
    terminal.keys("C-j", *"reset", "C-j")  # the killed program did not restore the terminal
    terminal.until(r"^\$ *\n\s*$")
    terminal.type(f"{SAMEDEAL} join {race} --as ada")
    terminal.until("stock 41")
    terminal.keys("C-c")
    terminal.until("your seat is reserved. To rejoin: ")
    terminal.type("echo ended with $?")
    terminal.until("ended with 130")


@tmux_only
@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("TERM=dumb {}", "TERM=dumb cannot move the cursor"),
        ("{} --line", "Corners, race"),
        ("{} --screen-reader", "Corners, race"),
        ("{} --tui < /dev/null", "cannot use the full screen: standard input"),
        ("{} | cat", "Corners, race"),
    ],
)
def test_line_mode_replaces_an_impossible_full_screen(terminal: Terminal, live: Server, how: str, wanted: str) -> None:
    race = live.create("corners", seed="42")
    terminal.type(how.format(f"{SAMEDEAL} join {race}"))
    screen = terminal.until(wanted)
    assert "q quit" not in screen


@tmux_only
def test_a_terminal_that_is_too_small_gets_line_mode_and_the_reason(live: Server, environment: dict[str, str]) -> None:
    race = live.create("corners", seed="42")
    with Terminal(environment, 59, 19) as small:
        small.type(f"{SAMEDEAL} join {race}")
        # Where the line wraps depends on the prompt.
        small.until(r"(?s)no full screen: it needs 60x\s*20.*Corners, race")


@tmux_only
async def test_removed_player_does_not_read_how_to_rejoin(terminal: Terminal, live: Server) -> None:
    async with racers(live, "Ada") as (ada,):
        race = live.create("corners", token=ada.token)
        await ada.join(race)
        terminal.type(f"{SAMEDEAL} join {race} --as bo")
        await asyncio.to_thread(terminal.until, "r  Ready")
        await ada.ask(m.Remove, seat=2)
        screen = await asyncio.to_thread(terminal.until, "The host has removed you from this race")
        assert "To rejoin" not in screen


@tmux_only
def test_no_color_and_ascii_are_respected(terminal: Terminal, live: Server) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    terminal.type(f"NO_COLOR=1 {SAMEDEAL} join {race} --as ada --ready --ascii")
    screen = terminal.until("stock 43")
    assert screen.isascii()
    assert "7S" in screen
    assert not re.search(r"\x1b\[(\d+;)*(3[0-8]|9[0-7])[;m]", terminal.colors())
    terminal.keys("C-q")
    terminal.until("your seat is reserved. To rejoin: ")
    terminal.type(f"NO_COLOR= {SAMEDEAL} join {race} --as ada")
    terminal.until("stock 43")
    assert re.search(r"\x1b\[(\d+;)*(3[0-8]|9[0-7])[;m]", terminal.colors())


def _programs(race: str) -> list[int]:
    """Return the processes of the program in this race."""
    programs = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if race.encode() in words and b"samedeal_cli.main" in words:
                programs.append(int(folder.name))
    return programs
