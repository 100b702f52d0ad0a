"""Guests: the user's names on each server, stored with their tokens."""

import os
from contextlib import suppress
from getpass import getuser
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.names import LONGEST, normalised
from samedeal_cli.addresses import canonical_address, same_server
from samedeal_cli.failure import Declined, Misused, NameRefused
from samedeal_cli.settings import Settings, replace_file, state_dir


class Guest(Struct, frozen=True):
    """A name on a server with its token. Each name is a separate player."""

    server: str
    name: str
    player: str
    token: str
    bot: bool = False
    """Whether programs play under this name."""


class Credentials(NamedTuple):
    """The credentials for a server: a token, the name of a new guest, or both."""

    name: str | None
    token: str | None


def environment_token(settings: Settings, server: str) -> str | None:
    """Return the token in SAMEDEAL_TOKEN if it is meant for this server, otherwise None.

    It is meant for the server in the settings. A server that only a link names does not get it.
    """
    token = os.environ.get("SAMEDEAL_TOKEN")
    return token if token and same_server(server, settings.address) else None


def warn_if_token_unused(settings: Settings, server: str, name: str | None) -> None:
    """Print a notice if SAMEDEAL_TOKEN is not used because it is meant for another server."""
    if name is None and os.environ.get("SAMEDEAL_TOKEN") and not environment_token(settings, server):
        settings.say(
            f"samedeal: SAMEDEAL_TOKEN is for {settings.address} and is not sent to {server};"
            f" to send it there, add --server {server}"
        )


def credentials_of(settings: Settings, server: str, name: str | None, unnamed: str = "") -> Credentials:
    """Choose the credentials for a server: a given name, else SAMEDEAL_TOKEN, else `unnamed` or the default name."""
    if name is None and (token := environment_token(settings, server)):
        return Credentials(None, token)
    name = name or unnamed or default_name(settings, server)
    guest = find(server, name)
    return Credentials(name, guest.token if guest else None)


def create(server: str, name: str) -> str:
    """Create and store a guest, and return its token. Raises NameRefused."""
    from samedeal_cli.net.http_api import Api, LoggedIn

    api = Api(server)
    try:
        new = api.read(api.fetch("/guests", body={"name": name}), LoggedIn)
    except Declined as declined:
        if declined.code == "name-refused":
            raise NameRefused(name, declined.text) from None
        raise
    save(Guest(server, name, new.player, new.token))
    return new.token


def default_name(settings: Settings, server: str) -> str:
    """Return the user's name on a server without ``--as``."""
    return chosen_name(settings, server) or account_name()


def chosen_name(settings: Settings, server: str) -> str:
    """Return the name that the user has chosen for a server, or an empty string.

    It is SAMEDEAL_NAME, else the only name that is stored for the server, else the configured one.
    """
    names = [guest.name for guest in stored() if not guest.bot and same_server(guest.server, server)]
    return names[0] if len(names) == 1 and not os.environ.get("SAMEDEAL_NAME") else settings.name


def account_name() -> str:
    """Return the account name, or ``guest`` if it is not a valid name."""
    with suppress(Refused, OSError, KeyError, ImportError):
        return normalised(getuser()[:LONGEST])
    return "guest"


def save(guest: Guest) -> None:
    """Store a guest, readable only by this account."""
    path = _file(guest.server, guest.name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, msgspec.json.format(msgspec.json.encode(guest)))


def owned(settings: Settings, name: str | None) -> Guest:
    """Return the user's guest on the current server. Raises Misused if it is not stored."""
    server = settings.address
    name = name or default_name(settings, server)
    if guest := find(server, name):
        return guest
    raise not_found(name, server)


def find(server: str, name: str) -> Guest | None:
    """Return the stored guest with a name on a server, if any."""
    return _read(_file(server, name))


def not_found(name: str | None, server: str) -> Misused:
    """Return the error for a name that is not stored for a server."""
    return Misused(f"{name} was not found for {server}; samedeal whoami lists your names")


def stored() -> list[Guest]:
    """Return all stored guests."""
    guests = (_read(path) for path in sorted((state_dir() / "guests").glob("*.json")))
    return [guest for guest in guests if guest]


def delete(guest: Guest) -> None:
    """Delete a stored guest and its token."""
    _file(guest.server, guest.name).unlink(missing_ok=True)


def _file(server: str, name: str) -> Path:
    return state_dir() / "guests" / f"{sha256(f'{canonical_address(server)} {name}'.encode()).hexdigest()[:24]}.json"


def _read(path: Path) -> Guest | None:
    with suppress(OSError, msgspec.DecodeError):
        return decoder("json", Guest).decode(path.read_bytes())
    return None
