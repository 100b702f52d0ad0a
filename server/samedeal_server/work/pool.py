"""Jobs: computations in a bounded process beside the server, one at a time, for client addresses in rotation.

The process starts with the first job, is reused for later ones, and ends when it is idle. A job that is cancelled,
exceeds its time or memory, or crashes ends the process; the next job gets a new one.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

from msgspec import msgpack

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal_server.net.limits import Place, Queue, Turns
from samedeal_server.work.process import (
    FAILED,
    HEADER,
    JOB,
    MAX_MEMORY,
    OUT_OF_MEMORY,
    PROGRESS,
    REFUSED,
    SOON,
    Task,
    frame,
    lower_priority,
)

logger = logging.getLogger(__name__)

OnProgress = Callable[[int], object]
CPU_S: Final = 60
"""The CPU seconds that a job may use: far more than any needs, even on a slow machine."""
IDLE_S: Final = 60
"""How long an idle process is kept."""
MAX_JOBS: Final = 1_000
"""The number of jobs after which the process is replaced, to limit leaks."""
WORKER = "samedeal_server.work.worker"
"""The module that runs as the process."""


class JobFailed(Exception):
    """A job failed or was ended; the text says why."""


class LimitExceeded(JobFailed):
    """A job exceeded its CPU time or memory."""


class Jobs:
    """A bounded queue of jobs, and the process that runs them."""

    def __init__(
        self,
        limit: int,
        limit_per_address: int,
        full: str,
        *,
        cpu_s: int = CPU_S,
        memory: int = MAX_MEMORY,
        niceness: int = SOON,
        only_when_idle: bool = False,
        queue: Queue = "other",
    ) -> None:
        """`limit` and `limit_per_address` bound the jobs in the queue, including the running one; `full` is the text of
        the refusal beyond that. Each job may use `cpu_s` CPU seconds, and the process `memory` bytes. For
        `niceness` and `only_when_idle`, see ``lower_priority``. `queue` is the name in the metrics.
        """
        self.turns = Turns(limit, limit_per_address, full, queue=queue)
        self.cpu_s, self.memory, self._niceness, self._only_when_idle = cpu_s, memory, niceness, only_when_idle
        self._process: asyncio.subprocess.Process | None = None  # idle
        self._ending = set[asyncio.Task[None]]()  # killed processes
        self._jobs_left = 0
        self._idle_timer: asyncio.TimerHandle | None = None

    async def run(self, place: Place, task: Task, question: bytes) -> bytes:
        """Run a job in the place's next turn and return its answer. Cancelling it ends the process.

        Raises Refused as the task does, and JobFailed or LimitExceeded.
        """
        async with place.turn():
            return await self.run_now(task, question)

    async def run_now(self, task: Task, question: bytes, on_progress: OnProgress | None = None) -> bytes:
        """Run a job for a caller that holds the turn."""
        if self._idle_timer:
            self._idle_timer.cancel()
        process, self._process = self._process, None  # put back only if it can take another job
        if process is None or process.returncode is not None:
            process = await self._start()
        try:
            kind, answer = await self._exchange(process, task, question, on_progress)
            self._jobs_left -= 1
            if self._jobs_left > 0:
                self._process = process
                self._idle_timer = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle)
        finally:
            if self._process is not process:
                await asyncio.shield(self._end(process))
        if kind == REFUSED:
            code, text = decoder("msgpack", tuple[str, str]).decode(answer)
            raise Refused(code, text)
        if kind == FAILED:
            raise JobFailed(f"the job {task!r} failed: {answer.decode()}")
        return answer

    async def stop(self) -> None:
        """End the process. Call it when no job is pending."""
        if self._idle_timer:
            self._idle_timer.cancel()
        self._end_idle()
        await asyncio.gather(*self._ending)

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        self._jobs_left = MAX_JOBS
        command = sys.executable, "-m", WORKER, f"{self.memory}"
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        except OSError as error:
            raise JobFailed(f"cannot start a process: {error}") from error
        lower_priority(process.pid, self._niceness, only_when_idle=self._only_when_idle)
        logger.debug("started worker process %d", process.pid)
        return process

    async def _exchange(
        self, process: asyncio.subprocess.Process, task: Task, question: bytes, on_progress: OnProgress | None
    ) -> tuple[bytes, bytes]:
        """Send a job and read frames until it ends. Return the kind and content of the last frame."""
        writer, reader = cast("asyncio.StreamWriter", process.stdin), cast("asyncio.StreamReader", process.stdout)
        try:
            writer.write(frame(JOB, msgpack.encode((task, self.cpu_s, question))))
            await writer.drain()
            while True:
                kind, length = HEADER.unpack(await reader.readexactly(HEADER.size))
                data = await reader.readexactly(length)
                if kind != PROGRESS:
                    return kind, data
                if on_progress:
                    on_progress(int(data))
        except (asyncio.IncompleteReadError, OSError) as error:
            status = await process.wait()
            failure = LimitExceeded if status in (-signal.SIGXCPU, OUT_OF_MEMORY) else JobFailed
            raise failure(f"the job {task!r} was ended: its process {_description(status)}") from error

    def _end_idle(self) -> None:
        process, self._process = self._process, None
        if process:
            self._end(process)

    def _end(self, process: asyncio.subprocess.Process) -> asyncio.Task[None]:
        """Kill a process. The task is done once the process and its pipes are closed."""
        task = asyncio.create_task(_ended(process))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


def _description(status: int) -> str:
    if status == -signal.SIGXCPU:
        return "exceeded its CPU time"
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
