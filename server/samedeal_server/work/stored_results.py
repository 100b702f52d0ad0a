"""Stored results: slow jobs that are computed on request, one at a time in a separate process, and stored."""

import asyncio
import logging
from functools import partial
from typing import Final

from msgspec import Struct

from samedeal.errors import Refused
from samedeal_server.net import metrics
from samedeal_server.net.limits import Place, Queue
from samedeal_server.net.supervised import cancelled
from samedeal_server.store.connection import Store
from samedeal_server.store.job_results import JobResults
from samedeal_server.work.pool import CPU_S, JobFailed, Jobs, LimitExceeded
from samedeal_server.work.process import LATER, Task

logger = logging.getLogger(__name__)

MAX_PENDING: Final = 16
"""Maximum number of results that this process computes or queues."""
MAX_PENDING_PER_ADDRESS: Final = 8
FULL: Final = "Too many deals are waiting for the computer. Try again in a moment."

TOO_LARGE: Final = "This takes more computing than the server allows."
MAX_TOO_LARGE: Final = 1_000


class Question(Struct, frozen=True):
    """A job, and how to store its result."""

    key: str
    """The key of the result in the store."""
    task: Task
    content: bytes
    expire_s: int | None
    """How long the result is kept; None keeps it forever."""
    of: int | None = None
    """Up to what number the job reports its progress, if that is known."""


class JobProgress(Struct, frozen=True, omit_defaults=True):
    """How much of a computation is done."""

    done: int
    """The number of plays of the computer, or of racers whose turning points are known."""
    of: int | None = None
    """The number of plays in total."""


class InProgress(Exception):
    """The result is being computed. Ask again later."""

    def __init__(self, progress: JobProgress) -> None:
        super().__init__(progress)
        self.progress = progress


class StoredResults:
    """Computes results and stores them.

    Unfinished computations are not stored: after an interruption the next request starts again. If two servers compute
    the same result at the same time, they get the same one.
    """

    def __init__(self, store: Store, cpu_s: int = CPU_S, *, queue: Queue = "par") -> None:
        """Each job may use `cpu_s` CPU seconds. `queue` is the name in the metrics."""
        self._results = JobResults(store)
        self.jobs = Jobs(MAX_PENDING, MAX_PENDING_PER_ADDRESS, FULL, niceness=LATER, cpu_s=cpu_s, queue=queue)
        self._too_large: dict[str, None] = {}  # the keys of jobs that exceeded their limits, oldest first
        self._done: dict[str, int] = {}  # the progress that each pending job has reported, by key
        self._tasks: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Cancel all computations, and stop the process."""
        await cancelled(tuple(self._tasks))
        await self.jobs.stop()

    async def result(self, question: Question, address: str = "") -> bytes:
        """Return the result. Raises InProgress while it is computed, which the first request starts.

        `address` is the client's; empty if unknown. Raises Refused("too-many") if the queue is full, and
        Refused("too-large") if the computation has exceeded its limits here.
        """
        key = question.key
        if key in self._too_large:
            raise Refused("too-large", TOO_LARGE)
        if key not in self._done:
            result = await self._results.get(key)
            if result is not None:
                return result
            if key not in self._done:  # no other request was faster
                self._start(question, self.jobs.turns.place(address))
        raise InProgress(JobProgress(self._done[key], question.of))

    async def stored(self, key: str) -> bytes | None:
        """Return a result that has been computed, or None."""
        return await self._results.get(key)

    def _start(self, question: Question, place: Place) -> None:
        self._done[question.key] = 0
        task = asyncio.get_running_loop().create_task(self._compute(question, place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _compute(self, question: Question, place: Place) -> None:
        key, task = question.key, question.task
        try:
            async with place.turn():
                if await self._results.has(key):  # another process was faster
                    return
                try:
                    result = await self.jobs.run_now(task, question.content, partial(self._done.__setitem__, key))
                except JobFailed as error:
                    if isinstance(error, LimitExceeded):
                        self._too_large[key] = None
                        if len(self._too_large) > MAX_TOO_LARGE:
                            del self._too_large[next(iter(self._too_large))]
                    metrics.RESULTS.labels(task, "failed").inc()
                    raise
            metrics.RESULTS.labels(task, "found").inc()
            await self._results.put(key, result, question.expire_s)
        except Refused as refused:
            logger.warning("%s: %s", key, refused.text)
        except Exception:
            logger.exception("computing %s failed", key)
        finally:
            place.release()
            del self._done[key]
