"""Renderings: replays in all forms, plays of the computer and pictures, computed in bounded processes and cached.

Slow ones run in a separate process, so that the others do not wait for them.
"""

import asyncio
from collections import OrderedDict
from hashlib import sha256
from typing import Final
from weakref import WeakValueDictionary

from samedeal_server.work.pool import Jobs
from samedeal_server.work.process import Task

MAX_RENDERINGS: Final = 256
"""Maximum number of quick renderings in the queue of this process. Most take a few milliseconds."""
MAX_RENDERINGS_PER_ADDRESS: Final = 32
"""Maximum of each kind per address. Requests for the same rendering count once: racers behind one router all request
their replay when the race is over."""
MAX_SLOW: Final = 64
"""Maximum number of slow renderings: those below, and those of long races."""
SLOW: Final = ("play", "card-png")
"""The tasks that take up to 0.4 s."""
LONG_BYTES: Final = 2_000
"""The size at which the renderings of a stored race become slow: a compressed entry may take as little as 1.2 bytes,
and 1,700 entries take about 0.1 s."""
CACHE_BYTES: Final = 32 * 2**20
FULL: Final = "Too many replays and pictures are in the queue. Try again in a moment."


class Renderings:
    """Computes renderings and caches the most recently used ones. They depend on their input alone."""

    def __init__(self) -> None:
        self.jobs = Jobs(MAX_RENDERINGS, MAX_RENDERINGS_PER_ADDRESS, FULL, queue="renderings")
        self.slow_jobs = Jobs(MAX_SLOW, MAX_RENDERINGS_PER_ADDRESS, FULL, queue="renderings")
        self._cache = OrderedDict[tuple[Task, bytes], bytes]()  # least recently used first
        self._cache_bytes = 0
        self._locks = WeakValueDictionary[tuple[str, Task, bytes], asyncio.Lock]()  # by address

    async def render(self, address: str, task: Task, question: bytes) -> bytes:
        """Return the answer of a task for a client address, which is empty if unknown.

        Raises Refused("too-many") if the queue is full, Refused as the task does, and JobFailed. Cancelling it ends its
        process.
        """
        key = task, sha256(question).digest()
        async with self._locks.setdefault((address, *key), asyncio.Lock()):  # moves go between the waiting
            if (answer := self._cached(key)) is not None:
                return answer
            jobs = self.slow_jobs if task in SLOW or len(question) >= LONG_BYTES else self.jobs
            with jobs.turns.place(address) as place:
                async with place.turn():
                    if (answer := self._cached(key)) is None:  # the previous job may have been the same
                        answer = await jobs.run_now(task, question)
                        self._add(key, answer)
            return answer

    async def stop(self) -> None:
        """End the processes. Call it when no rendering is pending."""
        await self.jobs.stop()
        await self.slow_jobs.stop()

    def clear(self) -> None:
        """Drop all cached renderings."""
        self._cache.clear()
        self._cache_bytes = 0

    def _cached(self, key: tuple[Task, bytes]) -> bytes | None:
        if key in self._cache:
            self._cache.move_to_end(key)
        return self._cache.get(key)

    def _add(self, key: tuple[Task, bytes], answer: bytes) -> None:
        self._cache[key] = answer
        self._cache_bytes += len(answer)
        while self._cache_bytes > CACHE_BYTES:
            _, dropped = self._cache.popitem(last=False)
            self._cache_bytes -= len(dropped)
