"""The command ``whoami``."""

import click
import msgspec

from samedeal_cli.net import guests
from samedeal_cli.settings import Settings, command


@command("samedeal whoami", "samedeal whoami --json")
@click.pass_obj
def whoami(settings: Settings) -> None:
    """Show the names you play under, with their servers and public ids."""
    stored, default = guests.stored(), settings.name or guests.account_name()
    if settings.json:
        shown = [{"server": guest.server, "name": guest.name, "player": guest.player} for guest in stored]
        click.echo(msgspec.json.encode({"default": default, "guests": shown}))
        return
    for guest in stored:
        click.echo(f"{guest.name:<24} {guest.player:<18} {guest.server}")
    settings.say(f"Without --as, your name is {default}")
