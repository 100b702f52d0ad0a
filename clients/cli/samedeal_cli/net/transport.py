"""The transport: one WebSocket to a server, its messages and its close codes."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Self
from urllib.parse import quote

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from samedeal.codec import decoder, encode
from samedeal.errors import Malformed, Refused
from samedeal.version import VERSION
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.decoding import SUBPROTOCOLS, UnknownMessage, decode_from_server, header_sent
from samedeal.wire.messages import FromServer, Problem, Request, View
from samedeal_cli.addresses import may_redirect
from samedeal_cli.failure import Declined, Failure, Unreachable
from samedeal_cli.net.http_api import ProblemDocument, plain
from samedeal_cli.net.proxies import proxy_for, through
from samedeal_cli.sanitise import safe_text

PROGRAM: Final = f"samedeal-cli/{VERSION}"
SUBPROTOCOL: Final = next(Subprotocol(name) for name, form in SUBPROTOCOLS.items() if form == "msgpack")
READER: Final = f"this client (samedeal {VERSION})"
CLOSE_S: Final = 1.0
"""Maximum wait for the server's closing handshake."""
TRANSIENT_CODES: Final = ("store-unavailable", "too-many")
"""Codes of temporary refusals: the same request may succeed later."""

FATAL_CLOSE_CODES: Final[Mapping[int | None, Failure]] = {
    CloseCode.POLICY_VIOLATION: Failure("the server closed the connection: this program sends too many pings"),
    CloseCode.TOO_BIG: Failure("the server closed the connection: a message was too large"),
    CloseCode.MALFORMED: Failure("the server closed the connection: it could not read a message"),
    CloseCode.LOGGED_OUT: Declined("bad-token", "you have logged out on this device"),
    CloseCode.REPLACED: Declined(
        "replaced", "your seat was released or taken over by a newer connection; to be another player, use --as NAME"
    ),
}
"""Close codes after which there is no point in reconnecting."""
_CLOSE_REASONS: Final[Mapping[int, str]] = {
    CloseCode.GOING_AWAY: "the server is shutting down",
    CloseCode.INTERNAL_ERROR: "the server had an internal error",
    CloseCode.RESTART: "the server is restarting",
    CloseCode.TRY_AGAIN_LATER: "the server is busy",
    CloseCode.TOO_SLOW: "this program read too slowly",
}


class UnknownToken(Declined):
    """The server does not know the token (any more)."""


class TemporarilyRefused(Declined):
    """The server could not accept the client at the moment."""


class Transport:
    """An open WebSocket."""

    def __init__(self, server: str, race_id: str, socket: ClientConnection) -> None:
        self._server, self._race_id, self._socket = server, race_id, socket

    @classmethod
    async def open(cls, server: str, race_id: str) -> Self:
        """Open a WebSocket for a race. Raises Unreachable, and Declined if the client's address is banned."""
        url = f"ws{server.removeprefix('http')}/ws/{quote(race_id, safe='')}"
        try:
            socket = await _Connect(
                url,
                subprotocols=[SUBPROTOCOL],
                compression=None,
                close_timeout=CLOSE_S,
                proxy=proxy_for(server),
                user_agent_header=PROGRAM,
            )
        except OSError as error:
            raise Unreachable(server, plain(error), through(server)) from error
        except WebSocketException as error:
            if isinstance(error, InvalidStatus):
                _check_ban(error.response.body)
            why = f"cannot open a WebSocket connection: {plain(error)}"
            raise Unreachable(server, why, through(server)) from error
        return cls(server, race_id, socket)

    async def send(self, request: Request) -> None:
        """Send a request. Raises ConnectionClosed."""
        await self._socket.send(encode(request, "msgpack"))

    async def receive(self) -> tuple[FromServer, dict[str, Any]]:
        """Return the next message of a known type, not sanitised, and the race header as sent, with all its fields.

        Only a View can have a header. Raises ConnectionClosed, or Failure for an invalid message.
        """
        while True:
            packet = await self._socket.recv()
            data = packet.encode() if isinstance(packet, str) else packet
            try:
                message = decode_from_server(data, "msgpack")
                has_header = isinstance(message, View) and message.header
                return message, header_sent(data, "msgpack") if has_header else {}
            except UnknownMessage:
                continue  # from a newer server
            except (Malformed, Refused) as error:
                self._check_version(data)
                raise Unreachable(self._server, f"not a valid Same Deal message: {plain(error)}") from error

    async def close(self) -> None:
        await self._socket.close()

    @property
    def close_reason(self) -> str:
        """Why the WebSocket closed, as text for the user."""
        code = self._socket.close_code or 0
        return safe_text(self._socket.close_reason or "") or _CLOSE_REASONS.get(code, "the connection was lost")

    @property
    def failure(self) -> Failure:
        """The failure for a closed WebSocket."""
        if self._socket.close_code == CloseCode.UNKNOWN_TOKEN:
            return UnknownToken("bad-token", "the server does not know this token")
        return self.fatal_failure or Unreachable(self._server, self.close_reason)

    @property
    def fatal_failure(self) -> Failure | None:
        """The failure for a closed WebSocket, if there is no point in reconnecting."""
        code = self._socket.close_code
        return Declined("", self.close_reason) if code == CloseCode.REMOVED else FATAL_CLOSE_CODES.get(code)

    def _check_version(self, data: bytes) -> None:
        """Raises Declined if a message has a header of this race, which must be from a newer version."""
        with suppress(Malformed, Refused):
            header = header_sent(data, "msgpack")
            if header.get("race") == self._race_id:
                rules = safe_text(str(header.get("rules")))
                text = f"{self._race_id} uses {rules}, which {READER} cannot read; update samedeal"
                raise Declined("unsupported-version", text)


def _check_ban(body: bytes | bytearray | None) -> None:
    """Raise Declined if the body of a refused handshake says that the client's address is banned."""
    with suppress(msgspec.DecodeError, UnicodeError):
        problem = decoder("json", ProblemDocument).decode(body or b"")
        if problem.code == "banned":
            raise Declined(problem.code, safe_text(problem.detail))


class _Connect(connect):
    """Follows only redirects to the same server, because the token must not go elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        uri, target = self.uri, super().process_redirect(exc)
        return target if isinstance(target, Exception) or may_redirect(uri, target) else exc


def refusal(problem: Problem) -> Declined:
    """The failure for a problem that answers ``hello``, ``join`` or ``watch``."""
    transient = TemporarilyRefused if problem.code in TRANSIENT_CODES else Declined
    return (UnknownToken if problem.code == "bad-token" else transient)(problem.code, problem.detail)
