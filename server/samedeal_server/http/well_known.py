"""The well-known document: the server's version, limits and public keys."""

from collections.abc import Sequence
from importlib.metadata import version

import msgspec
from msgspec import Struct

from samedeal.replays.replay import MAX_BYTES
from samedeal.wire.codec import SUBPROTOCOLS
from samedeal_server.settings import Settings
from samedeal_server.store.signing_keys import PublicKey

PATH = "/.well-known/samedeal"
PROGRAM = f"samedeal/{version('samedeal')}"
"""The name and version of the program."""


class Limits(Struct, frozen=True):
    """Limits for clients; see the settings of the same names."""

    message_bytes: int
    rate: float
    burst: int
    connections_per_address: int
    hello_timeout_ms: int
    away_seconds: float
    """How long a seat is reserved before the countdown after its racer disconnects."""
    replay_bytes: int
    """The largest replay that can be verified."""


class WellKnown(Struct, frozen=True):
    """Public information about a server."""

    server: str
    subprotocols: tuple[str, ...]
    limits: Limits
    keys: Sequence[PublicKey]
    """All public keys that replays of this service were ever signed with, newest first."""
    time: int
    """The current time, in milliseconds since 1970-01-01 UTC."""


def well_known(settings: Settings, keys: Sequence[PublicKey], now: int) -> WellKnown:
    """Return the document at a time, in milliseconds since 1970-01-01 UTC."""
    limits = msgspec.convert(msgspec.structs.asdict(settings) | {"replay_bytes": MAX_BYTES}, Limits)
    return WellKnown(PROGRAM, tuple(SUBPROTOCOLS), limits, keys, now)
