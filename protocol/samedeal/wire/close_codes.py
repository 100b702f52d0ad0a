"""WebSocket close codes: the codes with which the server closes a connection, and whether clients should reconnect."""

from enum import IntEnum
from typing import Literal

Retry = Literal["yes", "no", "with a name"]
"""Whether to reconnect; ``with a name`` means as a new guest."""


class CloseCode(IntEnum):
    """A code with its meaning. Codes below 4000 are those of RFC 6455 and the IANA registry."""

    meaning: str
    retry: Retry

    def __new__(cls, code: int, meaning: str, retry: Retry) -> "CloseCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning, member.retry = meaning, retry
        return member

    GOING_AWAY = 1001, "the server shuts down", "yes"
    PROTOCOL_ERROR = 1002, "the frames are not valid WebSocket frames", "no"
    INVALID_DATA = 1007, "a text message is not valid UTF-8", "no"
    POLICY_VIOLATION = 1008, "too many pings and pongs", "no"
    TOO_BIG = 1009, "a message over 64 KiB, or in too many fragments", "no"
    INTERNAL_ERROR = 1011, "internal server error", "yes"
    RESTART = 1012, "the server restarts", "yes"
    TRY_AGAIN_LATER = 1013, "the store cannot be reached, or the seat was released and can be taken again", "yes"
    MALFORMED = 4001, "the bytes were not a message, or no `hello` arrived", "no"
    UNKNOWN_TOKEN = 4003, "the token is unknown", "with a name"
    LOGGED_OUT = 4004, "the device has logged out", "no"
    TOO_SLOW = 4008, "the client reads too slowly", "yes"
    REPLACED = 4009, "a newer connection has taken the seat", "no"
    REMOVED = 4010, "an administrator has kicked or banned the player; the reason says why", "no"
