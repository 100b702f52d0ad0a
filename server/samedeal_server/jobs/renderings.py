"""Renderings: replays in their forms, plays of the computer and pictures, made in a bounded process and cached."""

from collections import OrderedDict
from hashlib import sha256
from typing import Final

from samedeal_server.jobs.pool import Jobs, Task

MAX_RENDERINGS: Final = 256
"""How many renderings may be in the queue of this process. Most take a few milliseconds."""
MAX_RENDERINGS_PER_ADDRESS: Final = 32
"""How many of them from one address: the racers behind one router all look at their replay when the race is over."""
CACHE_BYTES: Final = 32 * 2**20
FULL: Final = "Too many replays and pictures are waiting to be made; try again in a moment."


class Renderings:
    """What follows from a question alone, made once and kept while there is room for it."""

    def __init__(self) -> None:
        self.jobs = Jobs(MAX_RENDERINGS, MAX_RENDERINGS_PER_ADDRESS, FULL)
        self._kept = OrderedDict[tuple[Task, bytes], bytes]()  # the one that was used last stands last
        self._kept_bytes = 0

    async def stop(self) -> None:
        """Ends the process."""
        await self.jobs.stop()

    async def render(self, address: str, task: Task, question: bytes) -> bytes:
        """The answer to a question for a client address, empty if it is unknown.

        Raises Refused("too-many") if the queue is full and what the task raises, JobFailed. If the caller is cancelled,
        the process ends.
        """
        key = task, sha256(question).digest()
        if (kept := self._looked_up(key)) is not None:
            return kept
        with self.jobs.turns.place(address) as place:
            async with place.turn():
                if (kept := self._looked_up(key)) is None:  # the one before may have asked for the same
                    kept = await self.jobs.run_now(task, question)
                    self._keep(key, kept)
        return kept

    def _looked_up(self, key: tuple[Task, bytes]) -> bytes | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def _keep(self, key: tuple[Task, bytes], answer: bytes) -> None:
        self._kept[key] = answer
        self._kept_bytes += len(answer)
        while self._kept_bytes > CACHE_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= len(dropped)
