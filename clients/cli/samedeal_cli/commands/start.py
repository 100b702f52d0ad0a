"""What ``samedeal`` without a command starts: the home screen, once its first frame is shown."""

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from samedeal_cli.commands.mode import run_full_screen
from samedeal_cli.failure import Failure
from samedeal_cli.net import guests
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.settings import Settings, program
from samedeal_cli.state.home_state import HomeState

if TYPE_CHECKING:
    from samedeal_cli.commands.home import HomeScreen


def start(settings: Settings) -> int:
    """Show the home screen until the user quits. Return the exit code."""
    state = first_state(settings)

    def make_screen() -> "HomeScreen":
        from samedeal_cli.commands.home import HomeScreen

        return HomeScreen(settings, state)

    screen, code = run_full_screen(settings, draw_home(state), make_screen)
    if screen.race:
        from samedeal_cli.net.connect import running_race

        with suppress(Failure):
            if running_race():
                settings.say(f"To return to your race: {program()} resume")
    return code


def first_state(settings: Settings) -> HomeState:
    """Return the state of the home screen before the server has been asked."""
    size, server = shutil.get_terminal_size(), settings.address
    host, name = server.partition("://")[2], guests.chosen_name(settings, server)
    return HomeState(host, name, width=size.columns, height=size.lines, ascii=settings.plain)
