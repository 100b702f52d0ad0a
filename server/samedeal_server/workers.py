"""Workers: several server processes on one port, and a supervisor that restarts and stops them."""

import asyncio
import logging
import os
import signal
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE

from samedeal.program_start import NOTICE
from samedeal_server.net.metrics import MULTIPROCESS_DIR
from samedeal_server.settings import Settings, SettingsError
from samedeal_server.store.embedded import StoreError

logger = logging.getLogger(__name__)

STOP_S = 15.0
"""How long to wait for workers after the drain before killing them; longer than they need to give up themselves."""
RESTART_WINDOW_S, MAX_PAUSE_S = 60.0, 5.0
"""Workers that end repeatedly within the window are restarted after increasing pauses, up to the maximum."""


def bind(host: str, port: int, *, shared: bool = False, listen: bool = True) -> socket.socket:
    """Return a socket bound to an address. With `listen` false, it only reserves the port.

    If it is shared, other processes may listen on the same port, and the kernel distributes connections among them.
    Raises SettingsError.
    """
    if shared and not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("This system does not support several workers on one port: SAMEDEAL_WORKERS must be 1.")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
        if listen:
            sock.listen()  # fails now if another server is about to listen on the same port
    except OSError as error:
        sock.close()
        raise SettingsError(f"Cannot listen on {host} port {port}: {error}") from error
    return sock


async def serve(settings: Settings, redis_url: str, announce: Callable[[str, int], None]) -> None:
    """Run workers until SIGTERM or until cancelled, then drain them.

    Calls `announce` with host and port when all workers serve. Raises StoreError if a worker fails to start before
    any worker serves, and SettingsError if the port is in use.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    with bind(settings.host, settings.port) as exclusive:  # fails if the port is in use; shared sockets would not
        port: int = exclusive.getsockname()[1]
    with (
        bind(settings.host, port, shared=True, listen=False),  # reserves the port while no worker runs
        tempfile.TemporaryDirectory(prefix="samedeal-workers-") as directory,
    ):
        environment = os.environ | {"SAMEDEAL_REDIS_URL": redis_url, NOTICE: ""}
        if settings.metrics == "on":
            environment[MULTIPROCESS_DIR] = directory
        numbers = range(1, settings.workers + 1)
        workers = [_Worker(number, settings, port, directory, environment, stop) for number in numbers]
        running = [
            asyncio.create_task(worker.run(lambda: any(each.ready.is_set() for each in workers))) for worker in workers
        ]
        stopping = asyncio.create_task(stop.wait())
        ready = asyncio.gather(*(worker.ready.wait() for worker in workers))
        endings: list[asyncio.Future[Any]] = [stopping, *running]
        try:
            await asyncio.wait([ready, *endings], return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                announce(settings.host, port)
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.set()
            ready.cancel()
            logger.info("stopping all workers")

            def terminate() -> None:
                for worker in workers:
                    worker.terminate()

            loop.add_signal_handler(signal.SIGTERM, terminate)  # a second signal ends the drain
            terminate()
            _, pending = await asyncio.wait(running, timeout=settings.drain_seconds + STOP_S)
            if pending:
                logger.error("killing %d workers that did not stop within %.0f s", len(pending), STOP_S)
            for worker in workers:
                worker.terminate(signal.SIGKILL)
            await asyncio.gather(ready, *endings, return_exceptions=True)
            loop.remove_signal_handler(signal.SIGTERM)
        for task in running:
            task.result()


class _Worker:
    """Runs one worker process at a time and restarts it."""

    def __init__(
        self,
        number: int,
        settings: Settings,
        port: int,
        directory: str,
        environment: dict[str, str],
        stop: asyncio.Event,
    ) -> None:
        """`directory` is for the sockets between workers."""
        self._number, self._environment, self._stop = number, environment, stop
        self._command: tuple[str, ...] = (
            *(sys.executable, "-m", "samedeal_server", "--worker", f"{number}"),
            *("--workers", f"{settings.workers}", "--sockets", directory),
            *("--host", settings.host, "--port", f"{port}"),
        )
        self._process: asyncio.subprocess.Process | None = None
        self.ready = asyncio.Event()
        """Set when a process of this worker has served."""

    def terminate(self, sig: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal to the process, if it runs."""
        if self._process:
            with suppress(ProcessLookupError):
                self._process.send_signal(sig)

    async def run(self, any_serves: Callable[[], bool]) -> None:
        """Run one process after another until stopped.

        Raises StoreError if one fails to start before any worker serves, unless the store failed after its checks.
        """
        ends: deque[float] = deque()
        while not self._stop.is_set():
            status = await self._run_once()
            if self._stop.is_set():
                logger.info("worker %d stopped", self._number)
                return
            if not any_serves() and status != STARTUP_FAILURE:
                raise StoreError(f"Worker {self._number} did not start; see the messages above.")
            ends.append(now := asyncio.get_running_loop().time())
            while ends[0] < now - RESTART_WINDOW_S:
                ends.popleft()
            outcome = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            logger.warning("worker %d %s; restarting it", self._number, outcome)
            pause_s = 0.0 if len(ends) == 1 else min(MAX_PAUSE_S, 0.1 * 2.0 ** len(ends))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause_s)

    async def _run_once(self) -> int:
        """Run a process until it ends, and return its status, or minus the number of the signal that killed it."""
        pipe = asyncio.subprocess.PIPE
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=pipe,  # closes when this process ends, which stops the worker
            stdout=pipe,
            env=self._environment,
            start_new_session=True,  # Ctrl-C in the terminal stops only this process, which stops the workers
        )
        if self._stop.is_set():
            self.terminate()
        logger.info("worker %d is process %d", self._number, process.pid)
        if await cast("asyncio.StreamReader", process.stdout).readline():  # the URL, when it serves
            self.ready.set()
        status = await process.wait()
        self._process = None
        if directory := self._environment.get(MULTIPROCESS_DIR):
            mark_process_dead(process.pid, directory)
        return status
