"""A simulated world: server processes over a model of the store, with simulated connections and time.

Everything between the session and the store's client is the real code. Only the sockets on both sides are simulated.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from random import Random
from typing import Any

import pytest

from samedeal.errors import Refused
from samedeal.wire.messages import Hello, Join
from samedeal_server.live import opening
from samedeal_server.live.opening import Quotas
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematches import Rematches
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.socket import session
from samedeal_server.socket.outbox import Socket
from samedeal_server.socket.session import Session, SessionServices
from samedeal_server.store import clock
from samedeal_server.store import guest_tokens as guests
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.clock import Clock
from samedeal_server.store.group_commits import GroupCommits
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.race_store import RaceStore
from samedeal_server.work import worker
from samedeal_server.work.process import Task
from samedeal_server.work.renderings import Renderings
from support import campaign
from support.simulated_connection import Connection, ServerSocket
from support.simulated_store import EPOCH_MS, Client, ClientStore, SimulatedStore
from support.store_model import Script
from support.virtual_loop import Loop, Owner

KEY = bytes(range(32))
SETTINGS = Settings(rate=1e6, guests_per_minute=0, wrong_tokens_per_minute=0, guest_days=0)
RESTARTING = 1012


class World:
    """The store, the simulated time, and the random generators that determine everything."""

    def __init__(self, seed: str, scripts: Mapping[str, Script] | None = None) -> None:
        self.chance = Random(f"{seed} world")
        self.loop = Loop(Random(f"{seed} order"), shuffled=self.chance.random() < 0.75)
        self.outside: Context = copy_context()
        """A context outside all processes."""
        self.trace: list[str] = []
        self.failures: list[str] = []
        """Errors that the server logged."""
        self.store = SimulatedStore(self, scripts)
        self.held_up = set[Process]()
        """Processes that were frozen."""
        self.away_s = 30.0
        self.dice = Random(f"{seed} names")
        """The server's own random generator."""

    def note(self, text: str) -> None:
        """Add an event to the trace."""
        self.trace.append(f"{self.loop.time():.6f} {text}")

    def later(self, delay_s: float, do: Callable[..., object], *args: Any) -> None:
        """Schedule a call outside all processes."""
        self.loop.call_later(delay_s, do, *args, context=self.outside)

    def latency(self) -> float:
        """Return a random latency (s), usually short."""
        return self.chance.expovariate(1 / 0.0005) if self.chance.random() < 0.9 else self.chance.uniform(0, 0.05)

    def stop(self, processes: Sequence["Process"]) -> None:
        """Cancel all tasks of processes, so that nothing continues in the next world."""

        async def cancel_tasks() -> None:
            while tasks := [task for process in processes for task in process.tasks if not task.done()]:
                for process in processes:  # A process that is shut down twice is frozen again.
                    self.loop.thaw(process)
                for task in tasks:
                    task.cancel()
                await asyncio.sleep(0.01)

        for process in processes:
            process.gone = True
        self.loop.run_until_complete(cancel_tasks())


class Process(Owner):
    """A server process without sockets: its rooms, their memory, and the sessions of connected clients."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.serving = self.gone = self.cut_off = False
        self.connections: list[Connection] = []
        self.sessions: list[asyncio.Task[None]] = []
        store = ClientStore(Client(world, self))
        self.archive, self.clock, guests = Archive(store, KEY), Clock(store), Guests(store, SETTINGS.guest_days)
        self.log = RaceLog(GroupCommits(store))
        races = RaceStore(self.log, self.archive, LiveRaces(store), self.clock, Announcements(store))
        self.registry = Registry(races, KEY, away_s=world.away_s)
        slots: dict[type, asyncio.Semaphore] = {Hello: asyncio.Semaphore(24), Join: asyncio.Semaphore(24)}
        rate_limits = RateLimits(SETTINGS)
        rematches = Rematches(self.registry, Quotas(self.registry.opener, rate_limits, SETTINGS))
        self._services = SessionServices(self.registry, rematches, guests, rate_limits, SETTINGS, slots)

    async def start(self) -> None:
        try:
            await self.registry.start()
            self.serving = True
        except Refused:
            self.gone = True

    def admit(self, connection: "Connection") -> None:
        """Serve a connection."""
        self.connections.append(connection)
        self.sessions.append(self.world.loop.create_task(self._serve(connection)))

    async def _serve(self, connection: "Connection") -> None:
        session = _Session(len(self.sessions), ServerSocket(self.world, connection), "msgpack", self._services)
        try:
            await session.run()
        finally:
            connection.end()

    def kill(self) -> None:
        """Kill the process: nothing continues, and its connections end."""
        self.gone = True
        self.serving = False
        self.world.loop.freeze(self)
        for connection in self.connections:
            connection.end()

    async def end(self) -> None:
        """Shut down as for an upgrade."""
        self.serving = False
        for connection in self.connections:
            connection.end(RESTARTING)
        await self.registry.stop()
        self.kill()


class _Session(Session):
    """A session with a stable hash, so that sets have the same order in each run."""

    def __init__(self, number: int, socket: Socket, *parts: Any) -> None:
        self._number = number
        super().__init__(socket, *parts)

    def __hash__(self) -> int:
        return self._number


class Slot:
    """An address that successive processes serve."""

    url = ""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.count = 0
        self.ended: list[Process] = []
        self.process = self._opened()

    def _opened(self) -> Process:
        self.count += 1
        process = Process(self.world, f"{self.name}{self.count}")
        process.call(self.world.loop.create_task, process.start())
        return process

    def reopen(self) -> None:
        """Start a new process if the previous one has ended."""
        if self.process.gone:
            self.ended.append(self.process)
            self.process = self._opened()

    async def ready(self) -> None:
        """Wait until a process serves."""
        while not self.process.serving:
            self.reopen()
            await asyncio.sleep(0.05)

    async def dial(self) -> "Connection":
        """Open a connection. Raises OSError."""
        await asyncio.sleep(self.world.latency())
        process = self.process
        if process.frozen and not process.gone:
            await asyncio.sleep(1)
            raise TimeoutError
        if not process.serving:
            raise ConnectionRefusedError
        connection = Connection(self.world, process)
        process.call(process.admit, connection)
        return connection


class _SimulatedTime:
    """Replaces the module `time`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.loop.time()

    def monotonic_ns(self) -> int:
        return int(self._world.loop.time() * 1e9)

    def time_ns(self) -> int:
        return EPOCH_MS * 1_000_000 + self.monotonic_ns()


class _LogRecorder(logging.Handler):
    """Records warnings and errors that the server logs."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.WARNING)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.exc_info:
            message += f": {record.exc_info[1]!r}"
        self._world.note(f"{record.name}: {message}")
        if record.levelno >= logging.ERROR:
            self._world.failures.append(message)


async def rendered_here(renderings: Renderings, address: str, task: Task, question: bytes) -> bytes:
    """Render without a worker process."""
    return worker.TASKS[task](question)


@contextmanager
def active(world: World) -> Generator[None, None, None]:
    """Make the server's code use the world's time, random numbers and tokens while the block runs."""
    time, dice = _SimulatedTime(world), world.dice
    logger, recorder = logging.getLogger("samedeal_server"), _LogRecorder(world)
    asyncio_logger = logging.getLogger("asyncio")
    with pytest.MonkeyPatch.context() as patch:
        for module in (campaign, clock):
            patch.setattr(module, "time", time)
        for user in (opening, session, guests):
            patch.setattr(user, "token_hex", lambda count: dice.randbytes(count).hex())
        patch.setattr(guests, "token_urlsafe", lambda count: dice.randbytes(count).hex())
        patch.setattr(Renderings, "render", rendered_here)
        patch.setattr(opening, "randbelow", dice.randrange)
        patch.setattr(opening, "choice", dice.choice)
        patch.setattr(logger, "propagate", False)
        patch.setattr(asyncio_logger, "disabled", True)
        logger.addHandler(recorder)
        try:
            yield
        finally:
            logger.removeHandler(recorder)
