"""The commands ``config`` and ``completion``."""

import os
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from samedeal_cli import config_file as file
from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.config_file import KEYS
from samedeal_cli.failure import Misused
from samedeal_cli.matching import named
from samedeal_cli.net import guests
from samedeal_cli.render.phrases import on_or_off
from samedeal_cli.settings import Settings, command

ACTIONS: Final = {"list": 0, "path": 0, "get": 1, "set": 2, "unset": 1}
"""The actions and their numbers of arguments."""


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    what, key = context.params.get("what") or "", context.params.get("key")
    words = [*KEYS] if ACTIONS.get(what) else []
    if parameter.name == "value":
        words = [*file.allowed(key)] if what == "set" and key in KEYS else []
    return [word for word in words if word.startswith(incomplete)]


@command("samedeal config", "samedeal config set suits two", "samedeal config unset suits")
@click.argument("what", type=click.Choice(list(ACTIONS)), default="list")
@click.argument("key", required=False, shell_complete=_complete)
@click.argument("value", required=False, shell_complete=_complete)
def config(settings: Settings, what: str, key: str | None, value: str | None) -> None:
    """Show or change the configuration.

    list shows every key with its value and the source of the value; get shows the value in use; path shows the path of
    the file; set and unset change the file. Precedence: flag, environment, config file, default.
    """
    words = [word for word in (key, value) if word is not None]
    if len(words) != ACTIONS[what]:
        takes = ("takes no arguments", "takes a KEY", "takes a KEY and a VALUE")[ACTIONS[what]]
        raise Misused(f"config {what} {takes}")
    key = key and named(key, KEYS, "key")
    match what:
        case "path":
            show(settings, {"path": str(file.config_file())}, [str(file.config_file())])
        case "get" if key:
            used = asdict(settings)[key]
            show(settings, {key: used}, [on_or_off(used)])
        case "set" if key and value is not None:
            file.set_key(key, file.parse_value(key, value, key))
            if key in file.environment_values()[0]:
                settings.say(f"{file.variable(key)} is set and overrides this")
            elif key == "name":
                _warn_of_other_name(replace(settings, name=value))
        case "unset" if key:
            file.set_key(key, None)
        case _:
            _list(settings)


def _warn_of_other_name(settings: Settings) -> None:
    """Say so if the configured name is not the one that the user has on the server."""
    used = guests.chosen_name(settings, settings.address)
    if used != settings.name:
        settings.say(f"At {settings.address} you still play as {used} without --as {shlex.quote(settings.name)}")


def _list(settings: Settings) -> None:
    used, from_file, environment = asdict(settings), file.read()[0], file.environment_values()[0]
    layers = {"environment": environment, "file": from_file, "default": asdict(Settings())}
    source = {
        key: next((name for name, layer in layers.items() if key in layer and layer[key] == used[key]), "flag")
        for key in KEYS
    }
    keys = {key: {"value": used[key], "from": source[key]} for key in KEYS}
    texts = {
        key: f"{text} ({', '.join(file.allowed(key))})" if file.allowed(key) else text for key, text in KEYS.items()
    }
    rows = ((key, on_or_off(used[key]) or "-", source[key], text) for key, text in texts.items())
    show(settings, {"path": str(file.config_file()), "keys": keys}, table_lines(rows))


SHELLS = ("bash", "zsh", "fish")


@command(
    'eval "$(samedeal completion bash)"                       in ~/.bashrc',
    'eval "$(samedeal completion zsh)"                        in ~/.zshrc, after compinit',
    "samedeal completion fish > ~/.config/fish/completions/samedeal.fish",
    instead_of_json="it writes a script",
    checks=False,
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(_settings: Settings, /, shell: str | None) -> None:
    """Print the completion script for a shell, by default for the current one."""
    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell)
    if shell not in SHELLS or kind is None:
        raise Misused(f"name a shell: {', '.join(SHELLS)}")
    root = click.get_current_context().find_root()
    click.echo(kind(root.command, {}, root.info_name or "", "_SAMEDEAL_COMPLETE").source())
