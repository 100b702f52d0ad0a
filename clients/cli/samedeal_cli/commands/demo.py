"""The command ``demo``."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click

from samedeal.version import VERSION
from samedeal_cli.commands.mode import Mode, choose_mode, mode_option
from samedeal_cli.commands.output import print_line
from samedeal_cli.commands.parameters import Number
from samedeal_cli.commands.start import start
from samedeal_cli.local_server import OPEN, PORT, check_installed
from samedeal_cli.net.temporary_server import Server, temporary_server
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.settings import Settings, command, program
from samedeal_cli.state.home_state import QUICK_GAME


@command("samedeal demo", "samedeal demo --lan")
@click.option("--port", type=Number(1, 65535), default=PORT, help="The first port to try.")
@click.option("--lan", is_flag=True, help="Allow connections from your network.")
@mode_option
def demo(settings: Settings, /, port: int, lan: bool, mode: Mode | None) -> None:
    """Try everything on a temporary server on this machine.

    On a terminal, this opens the home screen, where one key starts a race against a bot; elsewhere, it says how to
    race, and Ctrl-C stops it. When it stops, its data is deleted.
    """
    check_installed()
    has_screen = choose_mode(mode, settings) == "tui"
    with suppress(KeyboardInterrupt, SystemExit), temporary_server(port, lan=lan) as server:  # the usual end of a demo
        if server.port != port:
            settings.say(f"port {port} is in use; using {server.port}")
        if has_screen:
            root: Any = click.get_current_context().find_root().command
            flags = "--server", server.link, "--ascii" if settings.ascii else "--no-ascii", f"--color={settings.color}"
            start(replace(settings, server=server.link), lambda words: root.exit_code([*flags, *words]))
        else:
            for line in _page(settings, server, lan=lan):
                print_line(settings, line)
            threading.Event().wait()
    settings.say("Stopped. All data of the demo was deleted.")


def _page(settings: Settings, server: Server, *, lan: bool) -> Iterator[str]:
    """Return how to race on the server; in a network, also with its QR code."""
    call = f"{program()} --server {server.url}" if settings.server else program()
    yield f"samedeal {VERSION} · temporary server: its data is deleted when it stops"
    yield ""
    yield f"  in a browser    {server.link}"
    yield f"                  ({OPEN if lan else 'on this machine only; to allow your network, use --lan'})"
    if lan:
        yield from (f"  {row}" for row in qr_lines(server.link, ascii=settings.plain, color=settings.colored))
    yield f"  in a terminal   {call} play"
    yield f"  with a friend   {call} new {QUICK_GAME} --join"
    yield f"  for a program   {call} bot RACE --exec ./mybot"
