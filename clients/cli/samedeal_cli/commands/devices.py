"""The commands ``whoami``, ``pass``, ``login`` and ``logout``: names, also on several devices."""

import shlex
import sys
from contextlib import suppress

import click

from samedeal_cli.addresses import same_server
from samedeal_cli.commands.output import explain_link, qr_option, show, table_lines
from samedeal_cli.commands.parameters import LOGIN, NAME, Login, as_option
from samedeal_cli.failure import Failure, Misused, Unreachable
from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api, LoggedIn, LoginCode
from samedeal_cli.settings import Settings, command


@command("samedeal whoami", "samedeal whoami --json")
def whoami(settings: Settings) -> None:
    """Show the names you play under, with their servers and public ids."""
    stored, default = guests.stored(), guests.default_name(settings, settings.address)
    shown = [{"server": guest.server, "name": guest.name, "player": guest.player} for guest in stored]
    rows = ((guest.name, guest.player, guest.server) for guest in stored)
    show(settings, {"default": default, "guests": shown}, table_lines(rows))
    if not settings.json:
        settings.say(f"Without --as, your name is {default}")


@command("samedeal pass", "samedeal pass --as bo --qr")
@as_option
@qr_option
def pass_code(settings: Settings, name: str | None, qr: bool) -> None:
    """Print a code to play under the same name on another device.

    The code works once, for ten minutes. Anyone who sees it can use it.
    """
    api = Api(settings.address)
    credentials = guests.credentials_of(settings, api.server, name)
    if not credentials.token:
        raise guests.not_found(credentials.name, api.server)
    data = api.create_login_code(credentials.token)
    created = api.read(data, LoginCode)
    show(settings, data, [created.code])
    settings.say(f"On the other device, run samedeal login and enter the code, or open {created.link}")
    explain_link(settings, created.link, "for other devices", qr=qr)


@command("samedeal login", "samedeal login --server https://cards.example", "samedeal login K7MP-X3QR-TW9D")
@click.argument("login", type=LOGIN, required=False, metavar="[CODE]")
@click.option("--force", is_flag=True, help="Log in even if you already have a name on the server.")
def log_in(settings: Settings, login: Login | None, force: bool) -> None:
    """Log in with a code from another device.

    To get a code, run samedeal pass there, or choose Settings, Play on another device on the web page. CODE can also be
    the link. Without CODE, this asks for it or reads a line from standard input: other users of this machine can see
    command lines.
    """
    login = login or _read_login()
    server = login.server or settings.address
    if (known := [guest.name for guest in guests.stored() if same_server(guest.server, server)]) and not force:
        raise Misused(
            f"you already play as {', '.join(known)} at {server}; the code was not used. With --force, you log in as"
            " another player, who replaces the one with the same name, if any"
        )
    api = Api(server)
    try:
        player = api.read(api.fetch("/guests/login", body={"code": login.code}), LoggedIn)
    except Unreachable:
        settings.say("If the code is refused the next time, it was used up: create another one")
        raise
    replaced = guests.find(server, player.name)
    guests.save(guests.Guest(server, player.name, player.player, player.token))
    if replaced:
        with suppress(Failure):  # the token expires anyway
            api.log_out(replaced.token)
    show(settings, {"server": server, "name": player.name, "player": player.player}, ())
    settings.say(f"You are {player.name} at {server}")
    if replaced and replaced.player != player.player:
        settings.say(f"The player {replaced.player}, who had the same name, is logged out on this device")
    if player.name != guests.default_name(settings, server):
        name = shlex.quote(player.name)
        settings.say(f"Play with --as {name}, or make it your default: samedeal config set name {name}")


@command("samedeal logout", "samedeal logout bo")
@click.argument("name", type=NAME, required=False)
@click.option("--force", is_flag=True, help="Forget the name even if the server cannot revoke its token.")
def log_out(settings: Settings, name: str | None, force: bool) -> None:
    """Log out on the current server: revoke this device's token and forget the name.

    Your other devices stay logged in. If this was the last one, nobody can return as that player, not even you.
    """
    guest = guests.owned(settings, name)
    name, server = guest.name, settings.address
    try:
        Api(server).log_out(guest.token)
    except Failure as failure:
        if not force:
            settings.say(f"You are still logged in as {name}; to forget the name anyway, use --force")
            raise
        settings.say(f"The token was not revoked: {failure.format_message()}")
    guests.delete(guest)
    show(settings, {"server": server, "name": name}, ())
    settings.say(f"Logged out {name} at {server}")


def _read_login() -> Login:
    """Ask for a code on a terminal, or read it from standard input."""
    if sys.stdin.isatty():
        login: Login = click.prompt("Code", type=LOGIN, err=True)
        return login
    line = sys.stdin.readline().strip()
    if not line:
        raise Misused("expected a code on standard input")
    return LOGIN.convert(line, None, None)
