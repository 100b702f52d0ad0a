"""An event loop with simulated time and without sockets. A seed determines the order of callbacks.

asyncio runs ``call_soon`` callbacks in order, but guarantees no order for timers due at the same time, external events
or threads. This loop simulates external events and threads by timers, at times that the seed determines. In most
histories, it also runs ready tasks in random order, while other callbacks stay in order. It allows every order that a
real loop allows, and more, so whatever holds on this loop also holds on a real one.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar, cast

T = TypeVar("T")
MAX_STEPS = 200_000
"""The maximum number of steps. A history that needs more never ends."""


class Stuck(Exception):
    """No callbacks are left, or the maximum number of steps has been reached."""


class Owner:
    """A process on the loop, which can be frozen."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.tasks: list[asyncio.Task[Any]] = []
        self.held: list[tuple[bool, asyncio.Handle]] = []

    def call(self, do: Callable[..., T], *args: Any) -> T:
        """Call a function as part of the process. Callbacks that it schedules belong to the process."""
        context = copy_context()
        context.run(_owner.set, self)
        return context.run(do, *args)


_owner: ContextVar[Owner | None] = ContextVar("owner", default=None)


class _Task(asyncio.Task[Any]):
    """A task with a stable hash, so that sets have the same order in each run."""

    def __init__(self, number: int, coro: Any, **options: Any) -> None:
        self._number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number


class Loop:
    """An event loop for code without files and sockets."""

    def __init__(self, chance: Random, *, shuffled: bool = True) -> None:
        self.chance, self._shuffled = chance, shuffled
        self.failures: list[str] = []
        """Uncaught exceptions."""
        self.steps = self._most = 0
        self._loop = cast(asyncio.AbstractEventLoop, self)
        self._now = 0.0
        self._ready: list[tuple[bool, Owner | None, asyncio.Handle]] = []  # (is a task, owner, callback)
        self._timers: list[tuple[float, float, int, Owner | None, asyncio.TimerHandle]] = []
        self._count = self._tasks = 0

    def time(self) -> float:
        """Return the time since the loop started (s)."""
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self._loop)

    def create_task(self, coro: Any, **options: Any) -> "asyncio.Task[Any]":
        self._tasks += 1
        task = _Task(self._tasks, coro, loop=self._loop, **options)
        if owner := _owner.get():
            owner.tasks.append(task)
        return task

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._loop, context)
        owner = context.get(_owner) if context else _owner.get()
        self._ready.append((isinstance(getattr(callback, "__self__", None), asyncio.Task), owner, handle))
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self._loop, context)
        self._count += 1
        owner = context.get(_owner) if context else _owner.get()
        heappush(self._timers, (when, self.chance.random(), self._count, owner, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are skipped when they are due."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        """Run a function in the loop, instead of in a thread."""
        future = self.create_future()

        def done() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_later(self.chance.expovariate(1000), done)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.failures.append(f"{context['message']}: {error!r}")

    def freeze(self, owner: Owner) -> None:
        """Freeze a process."""
        owner.frozen = True

    def thaw(self, owner: Owner) -> None:
        """Continue a frozen process."""
        owner.frozen = False
        self._ready += [(is_task, owner, handle) for is_task, handle in owner.held]
        owner.held = []

    def run_until_complete(self, future: Any) -> Any:
        """Run a coroutine and return its result. Raises Stuck."""
        asyncio._set_running_loop(self._loop)
        try:
            self._most = self.steps + MAX_STEPS
            task = self.create_task(future)
            while not task.done():
                self._step()
            return task.result()
        finally:
            asyncio._set_running_loop(None)

    def _step(self) -> None:
        """Run one callback and advance the time slightly."""
        self.steps += 1
        if self.steps > self._most:
            raise Stuck("it never ends")
        while self._timers and (self._timers[0][-1].cancelled() or self._timers[0][0] <= self._now):
            self._ready.append((False, *heappop(self._timers)[-2:]))
        if not self._ready:
            if not self._timers:
                raise Stuck("nothing is left to happen")
            self._now = self._timers[0][0]
            return
        is_task, owner, handle = self._ready.pop(self._next())
        if handle.cancelled():
            return
        if owner and owner.frozen:
            owner.held.append((is_task, handle))
            return
        self._now += self.chance.random() * 2e-5
        handle._run()

    def _next(self) -> int:
        """Choose one of the callbacks that can run now."""
        if not self._shuffled or len(self._ready) == 1:
            return 0
        chosen = self.chance.randrange(len(self._ready))
        if self._ready[chosen][0]:
            return chosen
        return next(index for index, (is_task, *_) in enumerate(self._ready) if not is_task)
