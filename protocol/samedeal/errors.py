"""Refusals: the registry of all problem codes, shared by the WebSocket, HTTP and the clients."""

from typing import Final

CODES: Final[dict[str, tuple[int, str]]] = {
    # code: HTTP status, title
    "bad-code": (401, "The code is wrong, was already used, or has expired"),
    "bad-message": (400, "The message is well-formed but not part of the protocol"),
    "bad-replay": (422, "The replay cannot be read"),
    "bad-request": (400, "The request is not valid"),
    "bad-token": (401, "The token is missing or unknown"),
    "banned": (403, "You are banned from this server"),
    "deal-sealed": (403, "The deal is secret while it can still be raced"),
    "draining": (503, "This server is shutting down; reconnect in a moment"),
    "foreign-page": (403, "Pages from other sites cannot play here"),
    "illegal-move": (409, "The rules of the game do not allow this move"),
    "internal": (500, "Internal server error"),
    "malformed": (400, "The message cannot be decoded"),
    "name-refused": (403, "The server does not accept this name"),
    "nonce-mismatch": (409, "The nonce does not match the commitment"),
    "not-acceptable": (406, "None of the accepted media types is available"),
    "not-allowed": (409, "The race does not allow this"),
    "not-found": (404, "Not found"),
    "not-playing": (409, "This seat is not playing"),
    "not-seated": (403, "You do not have a seat in this race"),
    "race-full": (409, "All seats are taken"),
    "race-over": (409, "The race is over"),
    "replaced": (409, "A newer connection has taken the seat"),
    "replay-sealed": (403, "The replay is not available yet"),
    "stale-move": (409, "The move was made from an older position"),
    "store-unavailable": (503, "The store cannot be reached; try again"),
    "too-large": (413, "The message is too large"),
    "too-many": (429, "Too many requests"),
    "unsupported-encoding": (415, "The content encoding is not supported"),
    "unsupported-version": (426, "This version of the protocol or the rules is not supported"),
    "untimely": (409, "This is not possible at this stage of the race"),
    "withdrawn": (410, "The replay was withdrawn"),
    "wrong-method": (405, "This URL does not support the method"),
}
"""All codes with their HTTP status and title. Codes are stable."""


MAX_TEXT: Final = 500
"""The maximum length of a refusal's text in characters. The text may quote what was refused."""


class Refused(Exception):
    """The request was refused. ``code``, one of CODES, is for programs, and ``text`` for people, truncated if long.

    ``retry_after_s`` is the number of seconds after which the same request can succeed, if known.
    """

    def __init__(self, code: str, text: str = "", *, retry_after_s: int | None = None) -> None:
        self.code, self.retry_after_s = code, retry_after_s
        self.status, self.title = CODES[code]
        text = text or f"{self.title}."
        self.text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
        super().__init__(self.text)

    def problem(self) -> dict[str, str | int]:
        """Return the refusal as a problem object (RFC 9457), for both the WebSocket and HTTP."""
        return {
            "type": f"/problems/{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.text,
        }


class IllegalMove(Refused):
    """The rules forbid this move in this position. The text names the rule."""

    def __init__(self, text: str) -> None:
        super().__init__("illegal-move", text)


class Malformed(Exception):
    """The bytes cannot be decoded as a message: a bug in the peer's program."""
