"""Refusals: every reason that a request can be turned down for, in one registry shared by socket, HTTP and client."""

from typing import Final

CODES: Final[dict[str, tuple[int, str]]] = {
    # code: HTTP status, title
    "bad-message": (400, "The message is well-formed but is not one of the protocol's"),
    "bad-replay": (422, "The replay cannot be read"),
    "bad-request": (400, "The request is not understood"),
    "bad-token": (401, "The token is missing or unknown"),
    "deal-sealed": (403, "The deal is sealed while it may be raced"),
    "draining": (503, "This server is about to stop; it will be back, or another one is there"),
    "foreign-page": (403, "Pages of other sites may not play here"),
    "illegal-move": (409, "The rules of the game do not allow this move"),
    "internal": (500, "The server has failed"),
    "malformed": (400, "The bytes are no message"),
    "nonce-mismatch": (409, "The nonce is not the one committed to"),
    "not-acceptable": (406, "None of the accepted forms can be served"),
    "not-allowed": (409, "This race does not allow it"),
    "not-found": (404, "There is no such thing here"),
    "not-playing": (409, "This seat is not playing"),
    "not-seated": (403, "You have no seat in this race"),
    "race-full": (409, "All seats are taken"),
    "race-over": (409, "The race is over"),
    "replaced": (409, "A newer connection has taken the seat"),
    "replay-sealed": (403, "The replay is still sealed"),
    "stale-move": (409, "The move was made from an older position"),
    "store-unavailable": (503, "The store cannot be reached; the request may be sent again"),
    "too-large": (413, "The message is too large"),
    "too-many": (429, "Too many requests"),
    "unsupported-version": (426, "This version of the protocol or the rules is not supported"),
    "untimely": (409, "This is not possible at this stage of the race"),
    "wrong-method": (405, "This address does not take such a request"),
}
"""Every code there is, with the status it has over HTTP and its title. Codes are promised stable."""


class Refused(Exception):
    """What was asked is not possible now: `code` is for programs, one of CODES, and `text` for people.

    `retry_after_s` is set where it is known after how many seconds the same request can succeed.
    """

    def __init__(self, code: str, text: str = "", *, retry_after_s: int | None = None) -> None:
        self.code, self.retry_after_s = code, retry_after_s
        self.status, self.title = CODES[code]
        self.text = text or f"{self.title}."
        super().__init__(self.text)

    def problem(self) -> dict[str, str | int]:
        """The refusal as a problem object (RFC 9457), the same on the socket and over HTTP."""
        return {
            "type": f"/problems/{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.text,
        }


class IllegalMove(Refused):
    """The rules do not allow this move in this position; the text says which rule."""

    def __init__(self, text: str) -> None:
        super().__init__("illegal-move", text)


class Malformed(Exception):
    """Bytes that are no message of the protocol: the peer's program is wrong."""
