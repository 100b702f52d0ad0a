"""A simulated store and the client that reaches it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import OutOfMemoryError
from redis.exceptions import TimeoutError as Unanswered

from samedeal_server.store.connection import TIMEOUT_S, Store, Word
from samedeal_server.store.health import Health
from support.store_model import WRITES, Model, Script

if TYPE_CHECKING:
    from support.simulated_world import Process, World

EPOCH_MS = 1_700_000_000_000
"""The store's clock at the start of each history."""


class SimulatedStore:
    """A model of the store, with faults."""

    def __init__(self, world: "World", scripts: Mapping[str, Script] | None) -> None:
        self._world = world
        self.ahead_ms = 0
        """How far its clock is ahead (ms)."""
        self.model = Model(self.now_ms, scripts)
        self.trouble = 0.0
        """The probability that a command fails or is delayed."""
        self.away = self.frozen = self.full = False
        self.appends = 0
        """The number of script calls so far."""
        self.on_append: dict[int, Callable[[], None]] = {}
        """Callbacks by the number of script calls after which they run."""
        self._held: list[Callable[[], None]] = []
        self._blocked: list[Callable[[], None]] = []

    def now_ms(self) -> int:
        return EPOCH_MS + int(self._world.loop.time() * 1000) + self.ahead_ms

    def ask(self, command: tuple[Word, ...], answer: "asyncio.Future[Any]", who: "Process") -> None:
        """Execute a command and reply, each after a latency, unless a fault prevents it."""
        chance, later = self._world.chance, self._world.later
        there, back = self._world.latency(), self._world.latency()
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
        """Execute the commands that arrived while frozen, in any order: they came over different connections."""
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
            reply = self.model.execute(*command)
        except Exception as error:
            self._world.note(f"store: {name.decode()} {command[1:3]} fails: {error}")
            return self._world.later(back_s, _fail, answer, error)
        self._world.note(f"store: {name.decode()} {command[1:]} -> {reply}"[:200])
        if name == b"XREAD" and not reply:
            return self._block(command, answer, back_s)
        self._world.later(back_s, _give, answer, reply)
        if name in {b"EVAL", b"EVALSHA"}:
            self.appends += 1
            for wake in tuple(self._blocked):
                wake()
            if do := self.on_append.pop(self.appends, None):
                do()
        return None

    def _block(self, command: tuple[Word, ...], answer: "asyncio.Future[Any] | None", back_s: float) -> None:
        """Reply when there is a new entry, or at the timeout."""
        open_ = True

        def wake(*, up: bool = False) -> None:
            nonlocal open_
            reply = self.model.execute(*command)
            if open_ and (reply or up):
                open_ = False
                self._blocked.remove(wake)
                self._world.later(back_s, _give, answer, reply)

        self._blocked = [*self._blocked, wake]
        self._world.later(int(command[2]) / 1000, lambda: wake(up=True))


def _give(answer: "asyncio.Future[Any] | None", reply: object) -> None:
    if answer and not answer.done():
        answer.set_result(reply)


def _fail(answer: "asyncio.Future[Any] | None", error: Exception) -> None:
    if answer and not answer.done():
        answer.set_exception(error)


class Client:
    """Replaces the connections: each command has a reply or an error within the timeout."""

    def __init__(self, world: "World", process: "Process") -> None:
        self._world, self._process = world, process

    async def ask(self, *command: Word) -> Any:
        answer = self._world.loop.create_future()
        if self._process.gone:
            raise Unreachable("gone")
        self._world.store.ask(command, answer, self._process)
        timer = self._world.loop.call_later(TIMEOUT_S, _fail, answer, Unanswered("no answer"))
        try:
            return await answer
        finally:
            timer.cancel()


class ClientStore(Store):
    """The server's store connection, over that client."""

    def __init__(self, client: Client) -> None:
        self.health = Health()
        self._connections = self._scripts = cast(Any, client)

    async def _pipeline(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """One command at a time: interrupting a pipeline has the same results."""
        return [await self._answer(*command) for command in commands]
