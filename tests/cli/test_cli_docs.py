"""The page of all commands is generated from their help. ``make generate`` rewrites it."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

from samedeal_cli.main import COMMANDS, main
from samedeal_cli.settings import global_options

PAGE = Path(__file__).parents[2] / "docs" / "play" / "commands.md"
WIDTH = 100
HINT = "`make generate` rewrites it"


def page() -> str:
    """Generate the page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# All commands"
    yield ""
    yield "The output of `--help` for every command. Global options are listed once, under `samedeal`."
    yield "[Command line](cli.md) explains how to use them. `tests/cli/test_cli_docs.py` generates this page."
    yield ""
    yield from ("## samedeal", "", *_help(main, "samedeal"))
    for name, (where, _) in COMMANDS.items():
        module, _, attribute = where.partition(":")
        command = getattr(import_module(module), attribute)
        yield from ("", f"## samedeal {name}", "", *_help(command, f"samedeal {name}"))
        for inner_name, inner in getattr(command, "commands", {}).items():
            full_name = f"samedeal {name} {inner_name}"
            yield from ("", f"### {full_name}", "", *_help(inner, full_name))
    yield ""


def _help(command: click.Command, name: str) -> Iterator[str]:
    """The help of a command. Common options are shown for the main command only."""
    shown = command
    if command is not main:
        shared = {option.name for option in global_options()}
        own = [option for option in command.params if option.name not in shared]
        shown = click.Command(name, params=own, help=command.help, epilog=command.epilog, add_help_option=False)
    settings = {**main.context_settings, "terminal_width": WIDTH}
    context = click.Context(shown, info_name=name, **settings)
    yield from ("```text", *(line.rstrip() for line in shown.get_help(context).splitlines()), "```")


def test_commands_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), HINT


def test_cli_page_lists_every_command() -> None:
    text = (PAGE.parent / "cli.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if f"| `{name}" not in text and f", `{name}" not in text]
    assert not missing, "docs/play/cli.md needs a row for each command"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
