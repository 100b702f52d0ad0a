"""A simulated world: the server over a model of the store, with connections that are cut and a clock that is moved.

Everything from the session to the store's client is what runs in earnest; the sockets on both sides are not.
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
from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.races import registry
from samedeal_server.races.live_races import LiveRaces
from samedeal_server.races.registry import Registry
from samedeal_server.settings import Settings
from samedeal_server.store import clock, guests
from samedeal_server.store.archive import Archive
from samedeal_server.store.clock import Clock
from samedeal_server.store.guests import Guests
from samedeal_server.store.race_log import RaceLog
from samedeal_server.ws import session
from samedeal_server.ws.session import Session, Socket
from support import campaign
from support.simulated_connection import Connection, ServerSocket
from support.simulated_store import EPOCH_MS, Client, ClientStore, SimulatedStore
from support.store_model import Script
from support.virtual_loop import Loop, Owner

KEY = bytes(range(32))
SETTINGS = Settings(rate=1e6, burst=1_000_000, guests_per_minute=0, wrong_tokens_per_minute=0, guest_days=0)
RESTARTING = 1012


class World:
    """One store, the addresses at which processes serve, and the chance that decides everything."""

    def __init__(self, seed: str, scripts: Mapping[str, Script] | None = None) -> None:
        self.chance = Random(f"{seed} world")
        self.loop = Loop(Random(f"{seed} order"), shuffled=self.chance.random() < 0.75)
        self.outside: Context = copy_context()
        """In which nothing belongs to a process."""
        self.trace: list[str] = []
        self.failures: list[str] = []
        """What the server logged as an error."""
        self.store = SimulatedStore(self, scripts)
        self.held_up = set[Process]()
        """Processes that did not run all the time."""
        self.away_s = 30.0
        self.dice = Random(f"{seed} names")
        """What the server draws."""

    def note(self, text: str) -> None:
        """Writes down something that happens."""
        self.trace.append(f"{self.loop.time():.6f} {text}")

    def later(self, delay_s: float, do: Callable[..., object], *args: Any) -> None:
        """Has something happen outside of all processes."""
        self.loop.call_later(delay_s, do, *args, context=self.outside)

    def moment(self) -> float:
        """How long something takes on its way: mostly no time at all."""
        return self.chance.expovariate(1 / 0.0005) if self.chance.random() < 0.9 else self.chance.uniform(0, 0.05)

    def bury(self, processes: Sequence["Process"]) -> None:
        """Ends whatever is left of them, so that nothing of this world is there in the next."""

        async def buried() -> None:
            while tasks := [task for process in processes for task in process.tasks if not task.done()]:
                for task in tasks:
                    task.cancel()
                await asyncio.sleep(0.01)

        for process in processes:
            process.gone = True
            self.loop.thaw(process)
        self.loop.run_until_complete(buried())


# Processes.


class Process(Owner):
    """A server process but for its sockets: rooms with their memory, and the sessions of those who are connected."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.serving = self.gone = self.cut_off = False
        self.connections: list[Connection] = []
        self.sessions: list[asyncio.Task[None]] = []
        store = ClientStore(Client(world, self))
        self.archive, self.clock, self._guests = Archive(store, KEY), Clock(store), Guests(store, SETTINGS.guest_days)
        self.log = RaceLog(store)
        self.registry = Registry(self.log, self.archive, LiveRaces(store), self.clock, KEY, away_s=world.away_s)
        self._turns, self._rate_limits = asyncio.Semaphore(24), RateLimits(SETTINGS)

    async def start(self) -> None:
        try:
            await self.registry.start()
            self.serving = True
        except Refused:
            self.gone = True

    def admit(self, connection: "Connection") -> None:
        """Serves a connection."""
        self.connections.append(connection)
        self.sessions.append(self.world.loop.create_task(self._serve(connection)))

    async def _serve(self, connection: "Connection") -> None:
        parts = "msgpack", self.registry, self._guests, self._rate_limits, self._turns, SETTINGS
        its = _Session(len(self.sessions), ServerSocket(self.world, connection), *parts)
        try:
            await its.run()
        finally:
            connection.end()

    def kill(self) -> None:
        """As hard as can be: nothing of it goes on, and its connections break."""
        self.gone = True
        self.serving = False
        self.world.loop.freeze(self)
        for connection in self.connections:
            connection.end()

    async def end(self) -> None:
        """As for an upgrade."""
        self.serving = False
        for connection in self.connections:
            connection.end(RESTARTING)
        await self.registry.stop()
        self.kill()


class _Session(Session):
    """It has the same place in a set whenever the same history is run."""

    def __init__(self, number: int, socket: Socket, *parts: Any) -> None:
        self._number = number
        super().__init__(socket, *parts)

    def __hash__(self) -> int:
        return self._number


class Slot:
    """An address, at which one process serves after another."""

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
        """Another process, as soon as the one before has gone."""
        if self.process.gone:
            self.ended.append(self.process)
            self.process = self._opened()

    async def served(self) -> None:
        """Returns when it serves."""
        while not self.process.serving:
            self.reopen()
            await asyncio.sleep(0.05)

    async def dial(self) -> "Connection":
        """A connection. Raises OSError where there is none."""
        await asyncio.sleep(self.world.moment())
        process = self.process
        if process.frozen and not process.gone:
            await asyncio.sleep(1)
            raise TimeoutError
        if not process.serving:
            raise ConnectionRefusedError
        connection = Connection(self.world, process)
        process.call(process.admit, connection)
        return connection


# One world at a time.


class _SimulatedTime:
    """What the world has instead of the module."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.loop.time()

    def monotonic_ns(self) -> int:
        return int(self._world.loop.time() * 1e9)

    def time_ns(self) -> int:
        return EPOCH_MS * 1_000_000 + self.monotonic_ns()


class _LogRecorder(logging.Handler):
    """Notes what the server logs as gone wrong."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.WARNING)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.exc_info:
            said += f": {record.exc_info[1]!r}"
        self._world.note(f"{record.name}: {said}")
        if record.levelno >= logging.ERROR:
            self._world.failures.append(said)


@contextmanager
def active(world: World) -> Generator[None, None, None]:
    """Has the server's code take its time, its chance and its names from the world while the block lasts."""
    its, dice = _SimulatedTime(world), world.dice
    logger, noted = logging.getLogger("samedeal_server"), _LogRecorder(world)
    asyncio_logger = logging.getLogger("asyncio")
    with pytest.MonkeyPatch.context() as patch:
        for module in (campaign, clock):
            patch.setattr(module, "time", its)
        for user in (registry, session, guests):
            patch.setattr(user, "token_hex", lambda count: dice.randbytes(count).hex())
        patch.setattr(guests, "token_urlsafe", lambda count: dice.randbytes(count).hex())
        patch.setattr(registry, "randbelow", dice.randrange)
        patch.setattr(registry, "choice", dice.choice)
        patch.setattr(logger, "propagate", False)
        patch.setattr(asyncio_logger, "disabled", True)
        logger.addHandler(noted)
        try:
            yield
        finally:
            logger.removeHandler(noted)
