"""Lines of JSON about a race: the server's messages, and events that have no message."""

import sys

import msgspec

from samedeal import codec
from samedeal.wire.messages import FromServer, Welcome


def print_message(message: FromServer) -> None:
    """Print a message as a line of JSON, without the secret token."""
    if isinstance(message, Welcome) and message.token:
        message = Welcome(re=message.re, player=message.player, name=message.name, server=message.server)
    _print(codec.encode(message, "json"))


def print_event(kind: str, **fields: object) -> None:
    """Print an event of this program; `kind` is its ``t``."""
    _print(msgspec.json.encode({"t": kind, **fields}))


def _print(line: bytes) -> None:
    sys.stdout.write(f"{line.decode()}\n")
    sys.stdout.flush()
