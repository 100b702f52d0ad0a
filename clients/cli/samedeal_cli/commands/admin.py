"""The command ``admin``: moderation of a server by the people who run it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from msgspec import Struct

from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.commands.parameters import Number
from samedeal_cli.failure import Misused
from samedeal_cli.net.admin_api import KEY_VARIABLE, AdminApi, default_socket
from samedeal_cli.render.phrases import utc_time
from samedeal_cli.settings import Settings, command, global_options

LOCAL: Final = "http://127.0.0.1"
"""Stands for the server in URLs that are sent on its socket."""


@click.group(epilog="\b\nExamples:\n  samedeal admin races\n  samedeal admin ban 203.0.113.0/24 --for 7d\n")
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    help="The server's admin socket.  [default: admin.sock in SAMEDEAL_DATA_DIR or the default data directory]",
)
@click.pass_context
def admin(context: click.Context, socket: Path | None) -> None:
    """Administer a server: races, players, bans and the log of all this.

    Commands use the server's admin socket. If SAMEDEAL_ADMIN_KEY is set, they use HTTP and the server of --server.
    """
    context.meta["socket"] = socket


def admin_command(*examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function of the settings, the API and the parameters a command of ``admin``."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        def call(settings: Settings, /, **parameters: Any) -> Any:
            return function(settings, _api(settings), **parameters)

        call.__doc__, call.__name__ = function.__doc__, function.__name__
        call.__dict__.update(function.__dict__)  # the parameters that click has collected
        made = command(*examples)(call)
        made.params += global_options()
        admin.add_command(made)
        return made

    return decorate


def _api(settings: Settings) -> AdminApi:
    context = click.get_current_context()
    key, path = os.environ.get(KEY_VARIABLE), context.meta.get("socket")
    if key and not path:
        return AdminApi(settings.address, key)
    contexts = [context, context.parent, context.find_root()]
    if not path and any(
        each and each.get_parameter_source("server") == ParameterSource.COMMANDLINE for each in contexts
    ):
        raise Misused(f"--server needs the server's admin key in {KEY_VARIABLE}")
    return AdminApi(LOCAL, path=path or default_socket())


class _Entry(Struct, frozen=True):
    at: int
    by: str
    command: str
    subject: str = ""
    reason: str = ""


class _Log(Struct, frozen=True):
    entries: tuple[_Entry, ...]


@admin_command("samedeal admin log", "samedeal admin log --limit 200 --json")
@click.option("--limit", type=Number(1, 1000), default=50, help="Maximum number of entries.")
@click.option("--before", metavar="ID", help="Only entries before the one with this id.")
def log(settings: Settings, api: AdminApi, limit: int, before: str | None) -> None:
    """Show what administrators did, newest first."""
    data = api.get("log", {"limit": limit, "before": before})
    rows = [
        (utc_time(entry.at), entry.by, entry.command, entry.subject, entry.reason)
        for entry in api.read(data, _Log).entries
    ]
    show(settings, data, table_lines(rows))
