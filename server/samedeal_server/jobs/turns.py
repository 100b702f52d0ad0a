"""Fair turns: a bounded queue in which one job runs at a time and client addresses are served in rotation."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import inf
from types import TracebackType
from typing import Self

from samedeal_server.ops import metrics
from samedeal_server.ops.refusals import Queue, too_many


class Turns:
    """A lock with a bounded waiting list: round robin between addresses, first come first served within one."""

    def __init__(
        self, limit: float = inf, limit_per_address: float = inf, full: str = "", *, queue: Queue = "other"
    ) -> None:
        """`full` is the text of the refusal when no place is left. `queue` is its name in the metrics."""
        self._queue: Queue = queue
        self._queued = metrics.QUEUED.labels(queue)
        self._limit, self._limit_per_address, self._full = limit, limit_per_address, full
        self._places = Counter[str]()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the next address to serve comes first
        self._busy = False

    @property
    def places(self) -> int:
        """The number of places in use."""
        return self._places.total()

    def check(self, address: str) -> None:
        """Raise Refused("too-many") if an address cannot get a place.

        The overall limit is doubled for addresses without a place, so that a few clients cannot lock out all others. An
        empty address is unknown: only the overall limit applies to it.
        """
        held = self._places[address] if address else 0
        limit = self._limit if held or not address else 2 * self._limit
        if held >= self._limit_per_address or self.places >= limit:
            raise too_many(self._queue, self._full, address)

    def place(self, address: str, *, always: bool = False) -> "Place":
        """Return a place in the queue, held until it is released. Raises as ``check`` unless `always` is true."""
        if not always:
            self.check(address)
        return Place(self, address)

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncIterator[None]:
        await self._wait(address)
        try:
            yield
        finally:
            self._start_next()

    async def _wait(self, address: str) -> None:
        if not self._busy:
            self._busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the turn came at the same moment
                self._start_next()
            raise

    def _start_next(self) -> None:
        while self._waiting:
            address = next(iter(self._waiting))
            queue = self._waiting.pop(address)
            turn = queue.popleft()
            if queue:
                self._waiting[address] = queue  # after all other addresses
            if not turn.done():  # the caller may have been cancelled
                turn.set_result(None)
                return
        self._busy = False


class Place:
    """A place in the queue of one address. As a context manager, it is released at the end."""

    def __init__(self, turns: Turns, address: str) -> None:
        self._turns, self._address = turns, address
        self._held = True
        turns._places[address] += 1
        turns._queued.inc()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait for this address's next turn and hold it: ``async with place.turn(): …``. Reusable."""
        return self._turns._turn(self._address)

    def release(self) -> None:
        """Give up the place. Further calls have no effect."""
        if self._held:
            self._held = False
            self._turns._places[self._address] -= 1
            self._turns._queued.dec()
            if not self._turns._places[self._address]:
                del self._turns._places[self._address]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
