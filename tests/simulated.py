"""A simulated world: the server over a model of the store, with lines that are cut and a clock that is moved.

Everything from the session to the store's client is what runs in earnest; the sockets on both sides are not.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from random import Random
from typing import Any, cast

import pytest
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import OutOfMemoryError
from redis.exceptions import TimeoutError as Unanswered
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosedError
from websockets.frames import Close

import campaign
from samedeal.errors import Refused
from samedeal_server import clock, guests, hall, session
from samedeal_server.allowances import Allowances
from samedeal_server.archive import Archive
from samedeal_server.clock import Clock
from samedeal_server.guests import Guests
from samedeal_server.hall import Hall
from samedeal_server.live_races import LiveRaces
from samedeal_server.log import RaceLog
from samedeal_server.session import Session, Socket
from samedeal_server.settings import Settings
from samedeal_server.store import TIMEOUT_S, Store, Word
from samedeal_server.store_health import Health
from store_model import WRITES, Model, Script
from virtual import Loop, Owner

KEY = bytes(range(32))
EPOCH_MS = 1_700_000_000_000
"""When every history begins, by the store's clock."""
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


# The store.


class SimulatedStore:
    """The model, and how well it can be reached."""

    def __init__(self, world: World, scripts: Mapping[str, Script] | None) -> None:
        self._world = world
        self.ahead_ms = 0
        """How far its clock is ahead."""
        self.model = Model(self.now_ms, scripts)
        self.trouble = 0.0
        """How often something goes wrong with a command."""
        self.away = self.frozen = self.full = False
        self.appends = 0
        """How many calls of scripts it has done."""
        self.on_append: dict[int, Callable[[], None]] = {}
        """What is to happen just after so many of them."""
        self._held: list[Callable[[], None]] = []
        self._blocked: list[Callable[[], None]] = []

    def now_ms(self) -> int:
        return EPOCH_MS + int(self._world.loop.time() * 1000) + self.ahead_ms

    def ask(self, command: tuple[Word, ...], answer: "asyncio.Future[Any]", who: "Process") -> None:
        """A command comes in after a while, is done, and is answered after another; or not all of that."""
        chance, later = self._world.chance, self._world.later
        there, back = self._world.moment(), self._world.moment()
        if self.away or who.cut_off:
            return later(there, _fail, answer, Unreachable("away"))
        if chance.random() >= self.trouble:
            return later(there, self._do, command, answer, back)
        match trouble := chance.choice(("unsent", "unanswered", "late", "answered late")):
            case "unsent":
                later(there, _fail, answer, Unreachable(trouble))
            case "unanswered":
                later(there, self._do, command, None, 0.0)
                later(there + back, _fail, answer, Unreachable(trouble))
            case "late":
                later(chance.uniform(0, 3), self._do, command, answer, back)
            case "answered late":
                later(there, self._do, command, answer, chance.uniform(0, 3))
        return self._world.note(f"{who.name}: {command[0]!s} {trouble}")

    def thaw(self) -> None:
        """Does what it was asked while it was frozen, in any order: each came on a connection of its own."""
        self.frozen = False
        self._world.chance.shuffle(self._held)
        held, self._held = self._held, []
        for do in held:
            do()

    def _do(self, command: tuple[Word, ...], answer: "asyncio.Future[Any] | None", back_s: float) -> None:
        if self.frozen:
            return self._held.append(lambda: self._do(command, answer, back_s))
        name = str(command[0]).encode()
        try:
            if self.full and name in WRITES:
                raise OutOfMemoryError("command not allowed")
            found = self.model.execute(*command)
        except Exception as error:
            self._world.note(f"store: {name.decode()} {command[1:3]} fails: {error}")
            return self._world.later(back_s, _fail, answer, error)
        self._world.note(f"store: {name.decode()} {command[1:]} -> {found}"[:200])
        if name == b"XREAD" and not found:
            return self._block(command, answer, back_s)
        self._world.later(back_s, _give, answer, found)
        if name in {b"EVAL", b"EVALSHA"}:
            self.appends += 1
            for wake in tuple(self._blocked):
                wake()
            if do := self.on_append.pop(self.appends, None):
                do()
        return None

    def _block(self, command: tuple[Word, ...], answer: "asyncio.Future[Any] | None", back_s: float) -> None:
        """Answers when there is something new, or when the time is up."""
        open_ = True

        def wake(*, up: bool = False) -> None:
            nonlocal open_
            found = self.model.execute(*command)
            if open_ and (found or up):
                open_ = False
                self._blocked.remove(wake)
                self._world.later(back_s, _give, answer, found)

        self._blocked = [*self._blocked, wake]
        self._world.later(int(command[2]) / 1000, lambda: wake(up=True))


def _give(answer: "asyncio.Future[Any] | None", found: object) -> None:
    if answer and not answer.done():
        answer.set_result(found)


def _fail(answer: "asyncio.Future[Any] | None", error: Exception) -> None:
    if answer and not answer.done():
        answer.set_exception(error)


class Client:
    """What stands in for the library's client: a command has its answer, or an error, within the time of a socket."""

    def __init__(self, world: World, process: "Process") -> None:
        self._world, self._process = world, process

    async def execute_command(self, *command: Word) -> Any:
        answer = self._world.loop.create_future()
        if self._process.gone:
            raise Unreachable("gone")
        self._world.store.ask(command, answer, self._process)
        timer = self._world.loop.call_later(TIMEOUT_S, _fail, answer, Unanswered("no answer"))
        try:
            return await answer
        finally:
            timer.cancel()

    ask = execute_command


class _Store(Store):
    """The server's own, over that client."""

    def __init__(self, client: Client) -> None:
        self.health = Health()
        self._redis, self._lines = client, cast(Any, client)

    async def _pipelined(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """One after another: what interrupts a pipeline has the same results."""
        return [await self._redis.execute_command(*command) for command in commands]


# Processes.


class Process(Owner):
    """A server process but for its sockets: rooms with their memory, and the sessions of those who are connected."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.serving = self.gone = self.cut_off = False
        self.lines: list[Line] = []
        self.sessions: list[asyncio.Task[None]] = []
        store = _Store(Client(world, self))
        self.archive, self.clock, self._guests = Archive(store, KEY), Clock(store), Guests(store, SETTINGS.guest_days)
        self.log = RaceLog(store)
        self.hall = Hall(self.log, self.archive, LiveRaces(store), self.clock, KEY, away_s=world.away_s)
        self._turns, self._allowances = asyncio.Semaphore(24), Allowances(SETTINGS)

    async def start(self) -> None:
        try:
            await self.hall.start()
            self.serving = True
        except Refused:
            self.gone = True

    def admit(self, line: "Line") -> None:
        """Serves a connection."""
        self.lines.append(line)
        self.sessions.append(self.world.loop.create_task(self._serve(line)))

    async def _serve(self, line: "Line") -> None:
        parts = "msgpack", self.hall, self._guests, self._allowances, self._turns, SETTINGS
        its = _Session(len(self.sessions), _Served(self.world, line), *parts)
        try:
            await its.run()
        finally:
            line.end()

    def kill(self) -> None:
        """As hard as can be: nothing of it goes on, and its connections break."""
        self.gone = True
        self.serving = False
        self.world.loop.freeze(self)
        for line in self.lines:
            line.end()

    async def end(self) -> None:
        """As for an upgrade."""
        self.serving = False
        for line in self.lines:
            line.end(RESTARTING)
        await self.hall.stop()
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

    async def dial(self) -> "Line":
        """A connection. Raises OSError where there is none."""
        await asyncio.sleep(self.world.moment())
        process = self.process
        if process.frozen and not process.gone:
            await asyncio.sleep(1)
            raise TimeoutError
        if not process.serving:
            raise ConnectionRefusedError
        line = Line(self.world, process)
        process.call(process.admit, line)
        return line


# Connections.


class Line:
    """A WebSocket: to the racer what the client's is, and what `_Served` is made of."""

    def __init__(self, world: World, process: Process) -> None:
        self._world, self.process = world, process
        self._context = process.call(copy_context)
        self._to_server, self._to_racer = _Way(world), _Way(world)
        self._lost = False  # for the racer, who has let go of it

    # The session's end.

    async def receive(self) -> dict[str, Any]:
        data = await self._to_server.next()
        if isinstance(data, bytes):
            return {"type": "websocket.receive", "bytes": data}
        return {"type": "websocket.disconnect", "code": 1006}

    def tell(self, data: bytes) -> bool:
        """Sends a message, and says whether there is anybody there."""
        if not self._to_server.ended:
            self._to_racer.put(data, self._world.outside)
        return not self._to_server.ended

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Either end closes it."""
        if self._lost:
            return
        self.end(code)

    def end(self, code: int | None = None) -> None:
        """It ends for both, each hearing of it when that arrives."""
        self._to_racer.put(code, self._world.outside)
        self._to_server.put(code, self._context)

    # The racer's end.

    async def send(self, data: bytes) -> None:
        if self._lost or self._to_racer.ended:
            raise ConnectionClosedError(None, None)
        self._to_server.put(data, self._context)

    async def recv(self) -> bytes:
        while True:
            if self._lost:
                raise ConnectionClosedError(None, None)
            with suppress(TimeoutError):
                async with asyncio.timeout(1.5):
                    data = await self._to_racer.next()
                    break
            if self.process.frozen:  # it does not answer a ping
                self.vanish()
        if isinstance(data, bytes):
            return data
        raise ConnectionClosedError(Close(data, "") if data else None, None)

    def vanish(self) -> None:
        """The racer lets go of it; the server hears of that late, after everything that was sent."""
        self._lost = True
        self._to_racer.put(None, self._world.outside)
        self._world.loop.call_later(
            self._world.chance.uniform(0, 3), self._to_server.put, None, self._context, context=self._world.outside
        )


class _Served:
    """A WebSocket: to the session what the door gives it. Now and then what is sent has to wait."""

    def __init__(self, world: World, line: Line) -> None:
        self._world, self._line = world, line
        self.receive, self.close = line.receive, line.close

    def send_now(self, data: bytes, *, text: bool) -> bool:
        return self._world.chance.random() < 0.8 and self._line.tell(data)

    async def send(self, data: bytes, *, text: bool) -> None:
        await asyncio.sleep(self._world.moment())
        if not self._line.tell(data):
            raise WebSocketDisconnect(1006)


class _Way:
    """One direction of a line: what is sent arrives in order, some time later."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._arrived = deque[bytes | int | None]()
        self._waiting: asyncio.Future[None] | None = None
        self._free_at = 0.0
        self.ended = False
        """Whether the end has arrived."""

    def put(self, data: bytes | int | None, context: Context) -> None:
        self._free_at = max(self._free_at, self._world.loop.time() + self._world.moment()) + 1e-6
        self._world.loop.call_at(self._free_at, self._arrive, data, context=context)

    def _arrive(self, data: bytes | int | None) -> None:
        self._arrived.append(data)
        self.ended = self.ended or not isinstance(data, bytes)
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)

    async def next(self) -> bytes | int | None:
        while not self._arrived:
            self._waiting = self._world.loop.create_future()
            await self._waiting
        if isinstance(self._arrived[0], bytes):
            return self._arrived.popleft()
        return self._arrived[0]  # an end stays


# One world at a time.


class _Time:
    """What the world has instead of the module."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.loop.time()

    def monotonic_ns(self) -> int:
        return int(self._world.loop.time() * 1e9)

    def time_ns(self) -> int:
        return EPOCH_MS * 1_000_000 + self.monotonic_ns()


class _Noted(logging.Handler):
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
def inhabited(world: World) -> Generator[None, None, None]:
    """Has the server's code take its time, its chance and its names from the world while the block lasts."""
    its, dice = _Time(world), world.dice
    logger, noted = logging.getLogger("samedeal_server"), _Noted(world)
    asyncio_logger = logging.getLogger("asyncio")
    with pytest.MonkeyPatch.context() as patch:
        for module in (campaign, clock):
            patch.setattr(module, "time", its)
        for user in (hall, session, guests):
            patch.setattr(user, "token_hex", lambda count: dice.randbytes(count).hex())
        patch.setattr(guests, "token_urlsafe", lambda count: dice.randbytes(count).hex())
        patch.setattr(hall, "randbelow", dice.randrange)
        patch.setattr(hall, "choice", dice.choice)
        patch.setattr(logger, "propagate", False)
        patch.setattr(asyncio_logger, "disabled", True)
        logger.addHandler(noted)
        try:
            yield
        finally:
            logger.removeHandler(noted)
