"""Configuring: the command ``config``, which shows what is configured and changes it."""

from dataclasses import asdict
from typing import Any, Final

import click
import msgspec

from samedeal_cli import config as file
from samedeal_cli.config import KEYS, Value
from samedeal_cli.failure import Misused
from samedeal_cli.settings import Settings, examples

WHAT: Final = {"list": 0, "path": 0, "get": 1, "set": 2, "unset": 1}
"""What can be done, and how many words it takes."""


def _known_keys(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    takes_one = WHAT.get(context.params.get("what") or "", 0)
    return [key for key in KEYS if takes_one and key.startswith(begun)]


def _known_values(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    key = context.params.get("key")
    known = file.allowed(key) if context.params.get("what") == "set" and key in KEYS else ()
    return [value for value in known if value.startswith(begun)]


@click.command(epilog=examples("samedeal config", "samedeal config set suits two", "samedeal config unset suits"))
@click.argument("what", type=click.Choice(list(WHAT)), default="list")
@click.argument("key", required=False, shell_complete=_known_keys)
@click.argument("value", required=False, shell_complete=_known_values)
@click.pass_obj
def config(settings: Settings, what: str, key: str | None, value: str | None) -> None:
    """Show or change the configuration.

    list shows every key with its value and the source of the value; get shows the value in use; path shows the path of
    the file; set and unset change the file. Precedence: flag, environment, config file, default.
    """
    words = [word for word in (key, value) if word is not None]
    if len(words) != WHAT[what]:
        takes = ("takes no arguments", "takes a KEY", "takes a KEY and a VALUE")[WHAT[what]]
        raise Misused(f"config {what} {takes}")
    if key is not None and key not in KEYS:
        raise Misused(f"unknown key {key!r}; the keys are {', '.join(KEYS)}")
    match what:
        case "path":
            _show(settings, str(file.config_file()), {"path": str(file.config_file())})
        case "get" if key:
            used = asdict(settings)[key]
            _show(settings, shown(used), {key: used})
        case "set" if key and value is not None:
            file.set_key(key, file.parse_value(key, value, key))
            _warn(settings, key)
        case "unset" if key:
            file.set_key(key, None)
        case _:
            _list(settings)


def shown(value: Value) -> str:
    """A value as it may be typed."""
    return ("on" if value else "off") if isinstance(value, bool) else value


def _show(settings: Settings, text: str, document: dict[str, Any]) -> None:
    click.echo(msgspec.json.encode(document) if settings.json else text)


def _warn(settings: Settings, key: str) -> None:
    if key in file.environment_values():
        settings.say(f"{file.variable(key)} is set and overrides this")


def _list(settings: Settings) -> None:
    used, kept, environment = asdict(settings), file.read()[0], file.environment_values()
    layers = {"environment": environment, "file": kept, "default": asdict(Settings())}
    source = {
        key: next((name for name, layer in layers.items() if key in layer and layer[key] == used[key]), "flag")
        for key in KEYS
    }
    if settings.json:
        keys = {key: {"value": used[key], "from": source[key]} for key in KEYS}
        click.echo(msgspec.json.encode({"path": str(file.config_file()), "keys": keys}))
        return
    for key, says in KEYS.items():
        choices = f" ({', '.join(file.allowed(key))})" if file.allowed(key) else ""
        click.echo(f"{key:<14} {shown(used[key]) or '-':<10} {source[key]:<12} {says}{choices}")
