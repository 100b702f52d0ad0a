"""Moves: makes the moves of one connection, one at a time.

No task waits for a move: the connection starts it as it arrives, and the room calls back when the log has it. That
saves about 9 µs per move.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from samedeal.errors import Malformed, Refused
from samedeal.wire import decoding
from samedeal.wire.messages import Move
from samedeal_server.live.commands import Outcome
from samedeal_server.net.limits import MESSAGE_BYTES, Bucket


class Moves:
    """The move in progress, if there is one."""

    __slots__ = ("_finish", "_finished", "_propose", "_rate", "in_progress")

    def __init__(
        self,
        propose: Callable[[Move, Callable[[Outcome], None]], None],
        finish: Callable[[Move, Outcome], None],
        rate: Bucket,
    ) -> None:
        """`propose` submits a move and passes its outcome to a callback, or raises Refused. `finish` responds to it; it
        must not raise.
        """
        self._propose, self._finish, self._rate = propose, finish, rate
        self.in_progress = False
        self._finished: asyncio.Future[None] | None = None  # while the session's task waits for the move

    async def wait(self) -> None:
        """Wait until no move is in progress."""
        if self.in_progress:
            self._finished = asyncio.get_running_loop().create_future()
            await self._finished

    def start(self, move: Move) -> None:
        """Start a move while none is in progress."""
        self.in_progress = True
        on_done = partial(self._on_done, move)
        try:
            self._propose(move, on_done)
        except Refused as refused:
            on_done(refused)

    def take(self, data: bytes) -> bool:
        """Start a move in MessagePack and return True. Return False, without effects, for anything else, and for a move
        that must wait.
        """
        if self.in_progress or len(data) > MESSAGE_BYTES:
            return False
        try:
            request = decoding.decode_to_server(data, "msgpack")
        except (Malformed, Refused):
            return False
        if not isinstance(request, Move) or not self._rate.take():
            return False
        self.start(request)
        return True

    def _on_done(self, move: Move, outcome: Outcome) -> None:
        self.in_progress = False
        self._finish(move, outcome)
        if self._finished and not self._finished.done():
            self._finished.set_result(None)
