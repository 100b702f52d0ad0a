"""What every way to a seat starts with: who the user is, and whether a new one wants to read a game's rules."""

import os
import shutil
from dataclasses import replace

import click

from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import Opened
from samedeal_cli.commands.mode import at_terminal
from samedeal_cli.commands.parameters import NAME
from samedeal_cli.failure import Declined, NameRefused, warn
from samedeal_cli.settings import Settings, state_dir


def with_name(settings: Settings, server: str, name: str | None) -> Settings:
    """Return settings with a name for a server.

    Without any name yet, ask for one on a terminal until the server accepts it, and store it in the configuration.
    """
    if name or "SAMEDEAL_TOKEN" in os.environ or settings.json or settings.quiet or not at_terminal():
        return settings
    from samedeal_cli.config import set_key
    from samedeal_cli.net import guests

    if guests.chosen_name(settings, server):
        return settings
    default: str | None = guests.account_name()
    while True:
        chosen: str = click.prompt("Your name", default=default, type=NAME, err=True)
        try:
            set_key("name", chosen)
        except OSError as error:
            warn("the name is not stored", error)
        try:
            guests.create(server, chosen)
        except NameRefused as refused:
            refused.show()
            default = None
        else:
            return replace(settings, name=chosen)


def open_race(
    settings: Settings, server: str, name: str | None, body: dict[str, object], *, joins: bool = True
) -> tuple[Settings, Opened, bytes]:
    """Open a race with the user as the host. Return settings with a name, and the race, also as the server sent it.

    Scripts that do not join do not give away the account name: without another name, such a race has no host.
    """
    from samedeal_cli.net import guests
    from samedeal_cli.net.http_api import Api

    settings, api = with_name(settings, server, name), Api(server)
    user, token = guests.credentials_of(settings, server, name)
    if user and not token and (joins or name or guests.chosen_name(settings, server)):
        token = guests.create(server, user)
    try:
        data = api.fetch("/races", body=body, token=token)
    except Declined as declined:
        if declined.code != "bad-token" or not (user and token):
            raise
        data = api.fetch("/races", body=body, token=guests.create(server, user))  # the server has forgotten the user
    return settings, api.read(data, Opened), data


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
