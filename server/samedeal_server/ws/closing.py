"""Closing: why the server ends a connection."""

from typing import Final

from samedeal.wire.close_codes import CloseCode

REVOKED: Final = (CloseCode.LOGGED_OUT, "the device has logged out")
REPLACED: Final = (CloseCode.REPLACED, "a newer connection has taken the seat")


class Closing(Exception):
    """Ends the connection with a close code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason
