"""Outbox: the messages to one client. Responses are sent in order; of a race's updates at most one is pending."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

from samedeal.errors import Refused
from samedeal.wire.close_codes import CloseCode
from samedeal_server.live.broadcast import PROGRESS_EVERY_S, Update
from samedeal_server.net.connections import UNSENT_BYTES

REVOKED: Final = (CloseCode.LOGGED_OUT, "the device has logged out")
REPLACED: Final = (CloseCode.REPLACED, "a newer connection has taken the seat")
QUEUE_MESSAGES: Final = 256
QUEUE_BYTES: Final = 262_144
"""The answers that wait for a slow client, after UNSENT_BYTES, before it is disconnected."""
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


class Socket(Protocol):
    """An open WebSocket."""

    on_writable: Callable[[], None]
    """Called when ``is_writable`` becomes true again."""

    def receive(self) -> Awaitable[MutableMapping[str, Any]]:
        """Return the next ASGI message."""

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        """Offer short binary messages to `take` as they arrive; those for which it returns False are received."""

    @property
    def is_writable(self) -> bool:
        """Whether the client reads what it is sent; if not, more would only be buffered."""
        ...

    @property
    def unsent(self) -> int:
        """How many bytes wait until the client reads."""
        ...

    def write(self, data: bytes, *, text: bool) -> None:
        """Send or buffer a message, unless the client has gone."""

    async def close(self, code: int, reason: str) -> None:
        """Close the connection after everything that was written. May raise OSError if the client has gone."""


class OutboxFull(Exception):
    """The client reads too slowly."""


class Outbox:
    """Sends messages, as far as the client reads them.

    Updates wait while the client does not read: at most one is pending, and it is encoded from the newest state. A
    response with a view supersedes it.
    """

    __slots__ = (
        "_closed", "_closing", "_encode_update", "_fail", "_loop", "_progress_from", "_progress_timer", "_socket",
        "_text", "_update", "_waiting", "_waiting_bytes", "holds_updates",
    )  # fmt: skip

    def __init__(
        self,
        socket: Socket,
        *,
        text: bool,
        encode_update: Callable[[Update], bytes],
        fail: Callable[[str], None],
    ) -> None:
        """`fail` is called in exception handlers to log what failed and close the connection."""
        self._socket, self._text = socket, text
        self._encode_update, self._fail = encode_update, fail
        self.holds_updates = False
        """Whether updates wait for a response that is being prepared."""
        self._waiting = list[int]()  # the sizes of the last responses that the client has not read
        self._waiting_bytes = 0
        self._update: Update | None = None
        self._progress_from = 0.0
        self._progress_timer: asyncio.TimerHandle | None = None
        self._closing: tuple[int, str] | None = None
        self._closed: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        socket.on_writable = self._on_writable

    @property
    def close_code(self) -> int | None:
        """The code that the connection is closed with, or None while it stays open."""
        return self._closing[0] if self._closing else None

    def respond(self, data: bytes) -> None:
        """Send a response. Raises OutboxFull if too many wait."""
        if not self._socket.is_writable:
            while self._waiting and self._waiting_bytes - self._waiting[0] >= self._socket.unsent - UNSENT_BYTES:
                self._waiting_bytes -= self._waiting.pop(0)
            self._waiting.append(len(data))
            self._waiting_bytes += len(data)
            if len(self._waiting) > QUEUE_MESSAGES or self._waiting_bytes > QUEUE_BYTES:
                raise OutboxFull
        self._socket.write(data, text=self._text)

    def offer(self, data: bytes) -> None:
        """Send a message that can be lost: it is dropped if the client has not read the earlier ones."""
        if self._socket.is_writable and not self._closing:
            self._socket.write(data, text=self._text)

    def update(self, update: Update) -> None:
        """Send an update of the race once the client reads. A view supersedes progress."""
        if update == "view" or self._update is None:
            self._update = update
            self.flush_update()

    def discard_update(self, *, keeps_progress: bool = False) -> None:
        """Drop the pending update, or only reduce it to progress, because a response has the rest of it."""
        self._update = "progress" if self._update and keeps_progress else None

    def flush_update(self) -> None:
        """Send the pending update if the client reads; progress at most every PROGRESS_EVERY_S."""
        if self._update is None or self.holds_updates or self._closing or not self._socket.is_writable:
            return
        try:
            if self._update == "progress":
                now = self._loop.time()
                if now < self._progress_from:
                    if self._progress_timer is None:
                        self._progress_timer = self._loop.call_at(self._progress_from, self._on_progress_timer)
                    return
                self._progress_from = now + PROGRESS_EVERY_S
            update, self._update = self._update, None
            self._socket.write(self._encode_update(update), text=self._text)
        except Exception:
            self._fail("sending an update failed")

    def close(self, code: int, reason: str) -> None:
        """Close the connection after what was sent. The first code counts."""
        if self._closing is None:
            self._closing = (code, reason)
            self._closed = self._loop.create_task(self._close(code, reason))

    async def finish(self) -> None:
        """Send no more progress, and wait until the connection is closed, after ``close``."""
        if self._progress_timer:
            self._progress_timer.cancel()
        if self._closed:
            await asyncio.gather(self._closed, return_exceptions=True)

    async def _close(self, code: int, reason: str) -> None:
        try:
            await self._socket.close(code, reason)
        except (OSError, RuntimeError):
            pass  # the client has gone: the session receives the disconnect too
        except Exception:
            self._fail("closing a connection failed")

    def _on_writable(self) -> None:
        self._waiting, self._waiting_bytes = [], 0
        self.flush_update()

    def _on_progress_timer(self) -> None:
        self._progress_timer = None
        self.flush_update()
