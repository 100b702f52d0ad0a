"""Guests: who one is on each server, and the token that proves it, kept for the next time."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from getpass import getuser
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec
from msgspec import Struct

from samedeal.errors import Refused
from samedeal.names import LONGEST, normalised
from samedeal.wire.messages import Welcome
from samedeal_cli.net.addresses import same_server, settled
from samedeal_cli.settings import Settings, state_dir


class Guest(Struct, frozen=True):
    """A name on a server, with what proves it. Two names on one machine are two players."""

    server: str
    name: str
    player: str
    token: str


@dataclass(frozen=True)
class Who:
    """How to greet a server: as a new guest by name, with the token of one known there, or both ways."""

    name: str | None
    token: str | None


def environment_token(settings: Settings, server: str) -> str | None:
    """The token in SAMEDEAL_TOKEN, if it is for this server; None otherwise.

    It is for the server that --server, the environment or the configuration names, or the one used without any. A link
    alone does not make a server trusted with it.
    """
    token = os.environ.get("SAMEDEAL_TOKEN")
    return token if token and same_server(server, settings.address) else None


def say_if_token_unused(settings: Settings, server: str, name: str | None) -> None:
    """Say so if SAMEDEAL_TOKEN is set and no name is given, and yet the token is not for this server."""
    if name is None and os.environ.get("SAMEDEAL_TOKEN") and not environment_token(settings, server):
        settings.say(
            f"samedeal: SAMEDEAL_TOKEN is for {settings.address} and is not sent to {server};"
            f" to send it there, add --server {server}"
        )


def who(server: str, name: str | None, *, unnamed: str = "", token: str | None = None) -> Who:
    """Who to be on a server: with a name, whoever has it there; without one, whoever has `token`.

    With neither it is `unnamed`, or else one's own name.
    """
    if name is None and token:
        return Who(None, token)
    name = name or unnamed or own_name()
    known = _read(_file(server, name))
    return Who(name, known.token if known else None)


def own_name() -> str:
    """What one is called without being asked: the name of the account."""
    with suppress(Refused, OSError, KeyError, ImportError):
        return normalised(getuser()[:LONGEST])
    return "guest"


def keep(guest: Guest) -> None:
    """Remember a guest, for this account's eyes only."""
    path = _file(guest.server, guest.name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:  # with mode 0600
        file.write(msgspec.json.format(msgspec.json.encode(guest)))
    os.replace(file.name, path)


def keeper(server: str, who: Who) -> Callable[[Welcome], None]:
    """What remembers a new guest when it is given the server's welcome."""

    def remember(welcome: Welcome) -> None:
        if welcome.token and who.name:
            keep(Guest(server, who.name, welcome.player, welcome.token))

    return remember


def kept() -> list[Guest]:
    """All guests that are remembered."""
    guests = (_read(path) for path in sorted((state_dir() / "guests").glob("*.json")))
    return [guest for guest in guests if guest]


def forget(guest: Guest) -> None:
    """Forget a guest: nobody can come back as it."""
    _file(guest.server, guest.name).unlink(missing_ok=True)


def _file(server: str, name: str) -> Path:
    return state_dir() / "guests" / f"{sha256(f'{settled(server)} {name}'.encode()).hexdigest()[:24]}.json"


def _read(path: Path) -> Guest | None:
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=Guest)
    return None
