"""Closing: why the server ends a connection."""

from typing import Final

from samedeal.errors import Refused
from samedeal.wire.close_codes import CloseCode

REVOKED: Final = (CloseCode.LOGGED_OUT, "the device has logged out")
REPLACED: Final = (CloseCode.REPLACED, "a newer connection has taken the seat")


MAX_REASON_BYTES: Final = 123
"""The longest reason of a close frame (RFC 6455)."""


class Closing(Exception):
    """Ends the connection with a close code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def removed(why: Refused) -> tuple[int, str]:
    """Return the close code and the reason for a player whom an administrator has removed."""
    return CloseCode.REMOVED, why.text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
