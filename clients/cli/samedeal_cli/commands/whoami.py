"""The commands ``whoami`` and ``logout``."""

import click
import msgspec

from samedeal_cli.commands.parameters import NAME
from samedeal_cli.failure import Misused
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


@command("samedeal logout", "samedeal logout bo")
@click.argument("name", type=NAME, required=False)
@click.pass_obj
def logout(settings: Settings, name: str | None) -> None:
    """Forget a name on the current server. Nobody can return as that player, not even you."""
    name, server = name or settings.name or guests.account_name(), settings.address
    matching = [guest for guest in guests.stored() if (guest.server, guest.name) == (server, name)]
    if not matching:
        raise Misused(f"{name} was not found for {server}; samedeal whoami lists your names")
    guests.delete(matching[0])
    settings.say(f"Forgot {name} at {server}")
