"""Jobs: computations in a bounded process beside the server, one at a time, for client addresses in rotation.

The process starts with the first job, is reused for the next ones and ends when there is nothing to do. A job that is
cancelled, uses too much time or memory, or crashes ends it; the next job gets a new one.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, cast

from msgspec import msgpack

from samedeal.errors import Refused
from samedeal_server.job_frames import FAILED, HEADER, JOB, PROGRESS, REFUSED, frame
from samedeal_server.limits import lower_priority
from samedeal_server.turns import Place, Turns

logger = logging.getLogger(__name__)

Task = Literal["deal", "par", "play", "strip", "replay", "steps"]
"""What the process can compute; ``job_worker`` says what each takes and returns."""
CPU_S: Final = 60
"""How many seconds of processor time a job may use: far more than any needs on a slow machine."""
IDLE_S: Final = 60
"""How long the process is kept without a job."""
MAX_JOBS: Final = 1_000
"""After how many jobs the process is replaced, so that no leak lasts."""
WORKER = "samedeal_server.job_worker"
"""The module that runs as the process."""


class JobFailed(Exception):
    """A job did not come to its end; the text says why."""


def ignore_progress(done: int) -> None:
    """Does nothing."""


class Jobs:
    """A bounded queue of jobs, and the process that runs them."""

    def __init__(
        self, limit: int, limit_per_address: int, full: str, *, cpu_s: int = CPU_S, when_idle: bool = False
    ) -> None:
        """`limit` and `limit_per_address` bound how many jobs are in the queue, the running one included; `full` is the
        text of the refusal beyond that. Each job may use `cpu_s` seconds of processor time; ``lower_priority``
        says what `when_idle` means.
        """
        self.turns = Turns(limit, limit_per_address, full)
        self._cpu_s, self._when_idle = cpu_s, when_idle
        self._process: asyncio.subprocess.Process | None = None  # the one that waits for a job
        self._processes = set[asyncio.subprocess.Process]()  # that may not have ended
        self._jobs_left = 0
        self._idle: asyncio.TimerHandle | None = None

    async def run(
        self, place: Place, task: Task, question: bytes, progress: Callable[[int], object] = ignore_progress
    ) -> bytes:
        """The answer to a job, when the place's turn has come. Cancelling it ends the process.

        Raises Refused as the task does, and JobFailed.
        """
        async with place.turn():
            return await self.run_now(task, question, progress)

    async def run_now(self, task: Task, question: bytes, progress: Callable[[int], object] = ignore_progress) -> bytes:
        """The same for a caller that holds the turn."""
        if self._idle:
            self._idle.cancel()
        process, self._process = self._process, None  # it is kept again only if it is fit for the next job
        if process is None or process.returncode is not None:
            process = await self._start()
        try:
            kind, answer = await self._exchange(process, task, question, progress)
            self._jobs_left -= 1
            if self._jobs_left > 0:
                self._process = process
                self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end)
        finally:
            if self._process is not process:
                _kill(process)
                await process.wait()
        if kind == REFUSED:
            raise Refused(*msgpack.decode(answer, type=tuple[str, str]))
        if kind == FAILED:
            raise JobFailed(f"the job {task!r} failed: {answer.decode()}")
        return answer

    async def stop(self) -> None:
        """Ends the process. To be called when nobody waits for a job any more."""
        if self._idle:
            self._idle.cancel()
        for process in self._processes:
            _kill(process)
        await asyncio.gather(*(process.wait() for process in self._processes))

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        self._jobs_left = MAX_JOBS
        try:
            process = await asyncio.create_subprocess_exec(sys.executable, "-m", WORKER, stdin=pipe, stdout=pipe)
        except OSError as error:
            raise JobFailed(f"no process can be started: {error}") from error
        lower_priority(process.pid, when_idle=self._when_idle)
        self._processes = {known for known in self._processes if known.returncode is None} | {process}
        logger.debug("process %d computes", process.pid)
        return process

    async def _exchange(
        self, process: asyncio.subprocess.Process, task: Task, question: bytes, progress: Callable[[int], object]
    ) -> tuple[bytes, bytes]:
        """Hands over a job and reads until it is over: the kind of the last frame, and its content."""
        writer, reader = cast("asyncio.StreamWriter", process.stdin), cast("asyncio.StreamReader", process.stdout)
        try:
            writer.write(frame(JOB, msgpack.encode((task, self._cpu_s, question))))
            await writer.drain()
            while True:
                kind, length = HEADER.unpack(await reader.readexactly(HEADER.size))
                data = await reader.readexactly(length)
                if kind != PROGRESS:
                    return kind, data
                progress(int(data))
        except (asyncio.IncompleteReadError, OSError) as error:
            raise JobFailed(f"the job {task!r} was ended: its process {_how(await process.wait())}") from error

    def _end(self) -> None:
        if process := self._process:
            self._process = None
            _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def _how(status: int) -> str:
    if status == -signal.SIGXCPU:
        return "used more processor time than it may"
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
