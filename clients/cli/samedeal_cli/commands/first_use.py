"""What the program asks a new user, on a terminal and only once: a name, and whether to read a game's rules."""

import os
import shutil
from dataclasses import replace

import click

from samedeal.games.catalogue import GAMES
from samedeal_cli.commands.mode import at_terminal
from samedeal_cli.commands.parameters import NAME
from samedeal_cli.failure import warn
from samedeal_cli.settings import Settings, state_dir


def with_name(settings: Settings, name: str | None) -> Settings:
    """Return settings with a name. Without any name yet, ask for one and store it in the configuration."""
    if name or settings.name or "SAMEDEAL_TOKEN" in os.environ or settings.json or settings.quiet or not at_terminal():
        return settings
    from samedeal_cli.config import set_key
    from samedeal_cli.net import guests

    if guests.stored():
        return settings
    chosen: str = click.prompt("Your name", default=guests.account_name(), type=NAME, err=True)
    try:
        set_key("name", chosen)
    except OSError as error:
        warn("the name is not stored", error)
    return replace(settings, name=chosen)


def offer_rules(settings: Settings, slug: str) -> None:
    """Offer the rules of a game that this program knows before its first race."""
    if slug not in GAMES or settings.json or settings.quiet or not at_terminal():
        return
    offered = state_dir() / "rules-offered"
    if offered.exists() and slug in offered.read_text().split():
        return
    from samedeal_cli.commands.games import rules_lines

    click.echo(f"Never played {GAMES[slug].title}? Press r for its rules, Enter to begin", err=True)
    while (key := click.getchar()) not in "\r\n":
        if key in "rR":
            click.echo_via_pager(f"{line}\n" for line in rules_lines(slug, shutil.get_terminal_size().columns))
            click.echo("Press Enter to begin", err=True)
    with offered.open("a") as file:
        file.write(f"{slug}\n")
