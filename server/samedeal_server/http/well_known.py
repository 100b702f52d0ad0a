"""The well-known document: what everybody may know of a server, its limits and the keys of its signatures above all."""

from collections.abc import Sequence
from importlib.metadata import version

from msgspec import Struct

from samedeal.replays.replay import MAX_BYTES
from samedeal.wire.codec import SUBPROTOCOLS
from samedeal_server.settings import Settings
from samedeal_server.store.signing_keys import PublicKey

PATH = "/.well-known/samedeal"
PROGRAM = f"samedeal/{version('samedeal')}"
"""The program and its version."""


class Limits(Struct, frozen=True):
    """What a client should keep to; the settings of these names say more."""

    message_bytes: int
    rate: float
    burst: int
    connections_per_address: int
    hello_timeout_ms: int
    away_seconds: float
    """How long a seat is held before the countdown when its connection has ended."""
    replay_bytes: int
    """The longest replay that can be sent for verification."""


class WellKnown(Struct, frozen=True):
    """The document."""

    server: str
    subprotocols: tuple[str, ...]
    limits: Limits
    keys: Sequence[PublicKey]
    """All that replays of this service were ever signed with, the newest first."""
    time: int
    """Now, by the clock of all races."""


def well_known(settings: Settings, keys: Sequence[PublicKey], now: int) -> WellKnown:
    """The document at a time, in milliseconds since 1970-01-01 UTC."""
    limits = Limits(
        message_bytes=settings.message_bytes,
        rate=settings.rate,
        burst=settings.burst,
        connections_per_address=settings.connections_per_address,
        hello_timeout_ms=settings.hello_timeout_ms,
        away_seconds=settings.away_seconds,
        replay_bytes=MAX_BYTES,
    )
    return WellKnown(PROGRAM, tuple(SUBPROTOCOLS), limits, keys, now)
