"""A racer who recovers from any fault, plays until the test ends, and keeps receipts."""

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Any

from websockets.exceptions import ConnectionClosed

from samedeal.proof import commitments, receipts
from samedeal.race.run import MAX_MOVES, RESTART, UNDO
from samedeal.wire import messages as m
from support.campaign import Persistent
from support.faulty_proxy import Proxy

LEARNING = 0.1
"""The share of later attempts with legal moves, instead of a repetition of the longest attempt."""


class Survivor(Persistent):
    """A racer who recovers from any fault, plays until `enough` is set, and keeps receipts."""

    ping_s, close_s = 1.5, 0.5

    def __init__(self, name: str, race: str, doors: list[Proxy], chance: Random, pause_s: float = 0.03) -> None:
        """Create a racer who pauses up to `pause_s` before each move."""
        super().__init__(name, race, doors, chance)
        self.pause_s = pause_s
        self.answered_at: list[float] = []
        """The times of all acknowledgements, in order."""
        self._made: list[str] = []
        """The moves of the current attempt, without undone ones."""
        self._line: list[str] = []
        """The longest attempt so far. Repeating it needs no legal moves, which is much cheaper for server and racer."""
        self.receipts: list[receipts.Receipt] = []
        self.overtaken = 0
        """How often an older, delayed connection of this racer took over the seat."""
        self.refusals: list[str] = []
        """Legal moves that were refused."""
        self.done = False
        """Whether there is nothing left to play."""

    async def ask(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        if kind is m.Nonce and self.view and self.view.seat:
            self.receipts.append(receipts.NonceReceipt(self.view.seat, fields["nonce"]))
        while True:
            answer = await super().ask(kind, **fields)
            if not (isinstance(answer, m.Problem) and answer.code == "replaced"):
                return answer
            self.overtaken += 1
            await self.resume()

    async def hear(self) -> m.FromServer:
        message = await super().hear()
        self.heard.clear()  # there are too many messages to store
        if isinstance(message, m.View) and message.header:
            self.receipts.append(receipts.HeaderReceipt(message.header))
        if isinstance(message, m.View | m.Changes):
            self.receipts.append(receipts.DigestReceipt(message.n, message.h))
        return message

    async def resume(self, closed: ConnectionClosed | None = None) -> m.View:
        """Reconnect, even if the server reports that a newer connection has the seat: there is none."""
        if closed and closed.rcvd and closed.rcvd.code == 4009:
            self.overtaken += 1
            closed = None
        return await super().resume(closed)

    async def race_until(self, enough: asyncio.Event) -> None:
        """Play a whole race, until `enough` is set."""
        await self.begin(self.race)
        while not enough.is_set() and not self.done:
            move = self.choice()
            if move is None or len(self.history.tries) == MAX_MOVES:
                self.done = True
            elif refused := (await self.attempt(move)).refused:
                self.refusals.append(f"{move}: {refused}")
                self.done = True
            else:
                await self._has_made(move)
            await asyncio.sleep(self.chance.random() * self.pause_s)
        await enough.wait()
        await self.stop()

    def choice(self) -> str | None:
        if self.legal:
            return super().choice()
        board, at = self.board, len(self._made)
        if at < len(self._line):
            return UNDO if board.undo and self.chance.random() < 0.1 else self._line[at]
        return RESTART if board.restart else None

    async def _has_made(self, move: str) -> None:
        self.answered_at.append(time.monotonic())
        if move == RESTART:
            self._line = max(self._line, self._made, key=len)
            self._made = []
            await self._ask_for(legal=self.chance.random() < LEARNING)
        elif move == UNDO:
            self._made.pop()
        else:
            self._made.append(move)

    async def _ask_for(self, *, legal: bool) -> None:
        """Join again on this connection, to switch legal moves in views on or off."""
        if legal != self.legal:
            self.legal = legal
            promise = commitments.nonce_commitment(self.race, self.nonce)
            await self.ask(m.Join, race=self.race, commitment=promise, legal=legal, views=self.views)
