"""Outbox: the messages to one client. Responses are queued in order; of a race's updates at most one is pending."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

from starlette.websockets import WebSocketDisconnect

from samedeal.errors import Refused
from samedeal.wire.close_codes import CloseCode
from samedeal_server.live.broadcast import PROGRESS_EVERY_S, Update

REVOKED: Final = (CloseCode.LOGGED_OUT, "the device has logged out")
REPLACED: Final = (CloseCode.REPLACED, "a newer connection has taken the seat")
QUEUE_MESSAGES: Final = 256
QUEUE_BYTES: Final = 262_144
"""What waits for a slow client before it is disconnected."""
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
    """An open WebSocket. Sending or closing may raise WebSocketDisconnect if the client has gone."""

    def receive(self) -> Awaitable[MutableMapping[str, Any]]:
        """Return the next ASGI message."""

    def send_now(self, data: bytes, *, text: bool) -> bool:
        """Send a message if that is possible without waiting. Return whether it was sent."""

    def offer_to(self, take: Callable[[bytes], bool]) -> None:
        """Offer short binary messages to `take` as they arrive; those for which it returns False are received."""

    async def send(self, data: bytes, *, text: bool) -> None: ...
    async def close(self, code: int, reason: str) -> None: ...


class OutboxFull(Exception):
    """The client reads too slowly: the queue of responses is full."""


class Outbox:
    """Sends messages immediately while the socket accepts them without waiting; otherwise a task sends them later.

    Updates are not queued: at most one is pending, and it is encoded from the newest state when the queue is empty. A
    response with a view supersedes it.
    """

    __slots__ = (
        "_closing", "_encode_update", "_fail", "_loop", "_progress_from", "_progress_timer", "_queue", "_queued_bytes",
        "_sender", "_socket", "_text", "_update", "holds_updates",
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
        self._queue = list[bytes]()
        self._queued_bytes = 0
        self._update: Update | None = None
        self._progress_from = 0.0
        self._progress_timer: asyncio.TimerHandle | None = None
        self._closing: tuple[int, str] | None = None
        self._sender: asyncio.Task[None] | None = None  # only while there is something to send
        self._loop = asyncio.get_running_loop()

    @property
    def close_code(self) -> int | None:
        """The code that the connection is closed with, or None while it stays open."""
        return self._closing[0] if self._closing else None

    def respond(self, data: bytes) -> None:
        """Send a response after the earlier ones. Raises OutboxFull."""
        is_full = self._queued_bytes + len(data) > QUEUE_BYTES
        if self._queue and (is_full or len(self._queue) >= QUEUE_MESSAGES):
            raise OutboxFull
        self._send(data)

    def offer(self, data: bytes) -> None:
        """Send a message that can be lost: it is dropped if the client has not read the earlier ones."""
        if not self._queue and not self._closing:
            self._send(data)

    def update(self, update: Update) -> None:
        """Send an update of the race once no responses are queued. A view supersedes progress."""
        if update == "view" or self._update is None:
            self._update = update
            self.flush_update()

    def discard_update(self, *, keeps_progress: bool = False) -> None:
        """Drop the pending update, or only reduce it to progress, because a response has the rest of it."""
        self._update = "progress" if self._update and keeps_progress else None

    def flush_update(self) -> None:
        """Send the pending update unless responses are queued; progress at most every PROGRESS_EVERY_S."""
        if self._update is None or self.holds_updates or self._queue or self._closing:
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
            self._send(self._encode_update(update))
        except Exception:
            self._fail("sending an update failed")

    def close(self, code: int, reason: str) -> None:
        """Close the connection after sending the queue. The first code counts."""
        if self._closing is None:
            self._closing = (code, reason)
            self._start_sender()

    async def finish(self) -> None:
        """Wait until the queue is sent and, after ``close``, the connection is closed. Sends no more progress."""
        if self._progress_timer:
            self._progress_timer.cancel()
        if self._sender:
            await asyncio.gather(self._sender, return_exceptions=True)

    def cancel(self) -> None:
        """Stop sending."""
        if self._sender:
            self._sender.cancel()

    def _start_sender(self) -> None:
        if self._sender is None or self._sender.done():
            self._sender = self._loop.create_task(self._send_queue())

    async def _send_queue(self) -> None:
        """Send queued messages, and finally close the connection if it is to be closed."""
        try:
            while self._queue:
                await self._socket.send(self._queue[0], text=self._text)
                self._queued_bytes -= len(self._queue.pop(0))
                self.flush_update()
            if self._closing:
                await self._socket.close(*self._closing)
        except (WebSocketDisconnect, RuntimeError):
            return  # the client has gone: the session receives the disconnect too
        except Exception:
            self._fail("sending failed")
            if self._closing:
                await self._socket.close(*self._closing)

    def _send(self, data: bytes) -> None:
        if self._queue or not self._socket.send_now(data, text=self._text):
            self._queue.append(data)
            self._queued_bytes += len(data)
            self._start_sender()

    def _on_progress_timer(self) -> None:
        self._progress_timer = None
        self.flush_update()
