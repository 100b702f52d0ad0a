"""What ``samedeal`` without a command runs: the home screen, and the commands that the user chooses there."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

import click

from samedeal_cli.addresses import DEFAULT_SERVER, challenge_link, race_link
from samedeal_cli.commands.mode import run_full_screen
from samedeal_cli.failure import INTERRUPTED, READER_GONE, TERMINATED, Failure, Unreachable
from samedeal_cli.local_server import PORT, check_installed
from samedeal_cli.net import guests
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.settings import Settings
from samedeal_cli.state.home_state import HomeState

if TYPE_CHECKING:
    from samedeal_cli.commands.home import HomeScreen

TIMEOUT_S: Final = 2.0


def start(settings: Settings, run_command: Callable[[tuple[str, ...]], int]) -> int:
    """Show the home screen, and run what the user chooses there, until the user quits. Return the exit code.

    `run_command` runs a command with its arguments, and returns its exit code. If there is no server on this machine,
    the first race starts a temporary one.
    """
    with ExitStack() as servers:
        while True:
            screen, code = _show_home(settings)
            if not screen.chosen:
                return code
            try:
                if _needs_default_server(settings, screen.chosen):
                    _serve(servers)
                code = run_command(screen.chosen)
            except Failure as failure:
                failure.show()
                code = failure.exit_code
            if code in (TERMINATED, READER_GONE):
                return code
            if code not in (0, INTERRUPTED) or screen.chosen[0] == "challenge":
                click.pause(err=True)  # until the failure or the challenge is read


def _needs_default_server(settings: Settings, words: tuple[str, ...]) -> bool:
    """Return whether a command uses the server on this machine: not in practice, or for a race on another one."""
    link = race_link(words[-1]) or challenge_link(words[-1])
    is_elsewhere = words[0] in ("practice", "resume") or (link is not None and link[0] is not None)
    return not is_elsewhere and not settings.server and settings.address == DEFAULT_SERVER


def _show_home(settings: Settings) -> "tuple[HomeScreen, int]":
    size, server = shutil.get_terminal_size(), settings.address
    host, name = server.partition("://")[2], guests.chosen_name(settings, server)
    state = HomeState(host, name, width=size.columns, height=size.lines, ascii=settings.plain)

    def make_screen() -> "HomeScreen":
        from samedeal_cli.commands.home import HomeScreen

        return HomeScreen(settings, state)

    return run_full_screen(settings, draw_home(state), make_screen)


def _serve(servers: ExitStack) -> None:
    """Start a temporary server, unless one is running on this machine. It stops when `servers` is closed."""
    from samedeal_cli.net.http_api import Api
    from samedeal_cli.net.temporary_server import temporary_server

    with suppress(Unreachable):
        Api(DEFAULT_SERVER, timeout=TIMEOUT_S).live_races()
        return
    check_installed()
    click.echo("Starting a temporary server on this machine. It stops when you quit.", err=True)
    servers.enter_context(temporary_server(PORT))
