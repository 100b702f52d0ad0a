"""The command ``completion``: scripts that let shells complete commands, options and values."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from samedeal_cli.failure import Misused
from samedeal_cli.settings import Settings, command

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
