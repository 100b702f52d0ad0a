"""Workers: several server processes on one port, and the one that starts them, starts again who dies, and stops all."""

import asyncio
import logging
import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from prometheus_client.multiprocess import mark_process_dead

from samedeal_server.access.network import listening
from samedeal_server.ops.metrics import FOLDER
from samedeal_server.settings import Settings
from samedeal_server.store.embedded import StoreError

logger = logging.getLogger(__name__)

STOP_S = 15.0
"""How long a worker may take to end after the drain before it is killed: longer than it takes to give up by itself."""
WITHIN_S, LONGEST_PAUSE_S = 60.0, 5.0
"""A worker that ends again and again within this time is started after longer and longer pauses, up to the longest."""


async def serve(settings: Settings, redis_url: str, announce: Callable[[str, int], None]) -> None:
    """Keeps workers over the store at a URL until SIGTERM or until it is cancelled; then all of them are drained.

    `announce` is told host and port when all serve. Raises StoreError if one cannot begin, SettingsError for a port
    that is taken.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    with listening(settings.host, settings.port) as alone:  # nobody else serves there, as sharing would not tell
        port: int = alone.getsockname()[1]
    with (
        listening(settings.host, port, shared=True, listen=False),  # keeps the port while workers die
        tempfile.TemporaryDirectory(prefix="samedeal-metrics-") as folder,
    ):
        environment = os.environ | {"SAMEDEAL_REDIS_URL": redis_url}
        if settings.metrics == "on":
            environment[FOLDER] = folder
        workers = [_Worker(number, settings, port, environment, stop) for number in range(1, settings.workers + 1)]
        keeping = [asyncio.create_task(worker.keep()) for worker in workers]
        stopping = asyncio.create_task(stop.wait())
        ready = asyncio.gather(*(worker.ready.wait() for worker in workers))
        endings: list[asyncio.Future[Any]] = [stopping, *keeping]
        try:
            await asyncio.wait([ready, *endings], return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                announce(settings.host, port)
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.set()
            ready.cancel()
            logger.info("stopping: every worker is told to let its racers go")
            for worker in workers:
                worker.terminate()
            _, pending = await asyncio.wait(keeping, timeout=settings.drain_seconds + STOP_S)
            if pending:
                logger.error("%d workers did not stop in %.0f s and are killed", len(pending), STOP_S)
            for worker in workers:
                worker.terminate(signal.SIGKILL)
            await asyncio.gather(ready, *endings, return_exceptions=True)
            loop.remove_signal_handler(signal.SIGTERM)
        for task in keeping:
            task.result()


class _Worker:
    """One place among the workers, and the process that has it at the moment."""

    def __init__(
        self, number: int, settings: Settings, port: int, environment: dict[str, str], stop: asyncio.Event
    ) -> None:
        self._number, self._environment, self._stop = number, environment, stop
        self._command = (
            *(sys.executable, "-m", "samedeal_server", "--worker", f"{number}"),
            *("--host", settings.host, "--port", f"{port}"),
        )
        self._process: asyncio.subprocess.Process | None = None
        self.ready = asyncio.Event()
        """Whether it has ever served."""

    def terminate(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Tells the process to end, if there is one."""
        if self._process:
            with suppress(ProcessLookupError):
                self._process.send_signal(how)

    async def keep(self) -> None:
        """Runs one process after another until all are to stop. Raises StoreError if the first does not begin."""
        ends: deque[float] = deque()
        while not self._stop.is_set():
            how = await self._run()
            if self._stop.is_set():
                logger.info("worker %d has ended", self._number)
                return
            if not self.ready.is_set():
                raise StoreError(f"Worker {self._number} did not start; the lines above say why.")
            ends.append(now := asyncio.get_running_loop().time())
            while ends[0] < now - WITHIN_S:
                ends.popleft()
            logger.warning("worker %d %s; it is started again", self._number, how)
            pause_s = 0.0 if len(ends) == 1 else min(LONGEST_PAUSE_S, 0.1 * 2.0 ** len(ends))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause_s)

    async def _run(self) -> str:
        """A process from its start to its end, and how that came."""
        pipe = asyncio.subprocess.PIPE
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=pipe,  # ends with us, however we end, and then the worker ends too
            stdout=pipe,
            env=self._environment,
            start_new_session=True,  # Ctrl-C at the terminal is for us, and we tell the workers
        )
        if self._stop.is_set():
            self.terminate()
        logger.info("worker %d is process %d", self._number, process.pid)
        if await cast("asyncio.StreamReader", process.stdout).readline():  # it says where it serves, and nothing else
            self.ready.set()
        status = await process.wait()
        self._process = None
        if folder := self._environment.get(FOLDER):
            mark_process_dead(process.pid, folder)
        return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
