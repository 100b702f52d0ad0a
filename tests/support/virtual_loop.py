"""An event loop without a clock or a socket: time passes as it is told to, and a seed decides what comes first.

asyncio promises that what is handed to ``call_soon`` is called in that order. It promises no order to timers of one
moment, to what comes in from outside, or to threads. Here what comes from outside comes by timers, at moments that the
seed chooses, and so do threads. In most histories there is more: of several tasks that could go on any one may be next,
while callbacks that are no tasks keep their order. A real loop has fewer orders than this one, so whatever holds here
holds there.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar, cast

T = TypeVar("T")
MAX_STEPS = 200_000
"""More than any history has: one that does not end has come to nothing."""


class Stuck(Exception):
    """Nothing is left that could happen, or it never ends."""


class Owner:
    """Something that runs on the loop and can be held up: a process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.tasks: list[asyncio.Task[Any]] = []
        self.held: list[tuple[bool, asyncio.Handle]] = []

    def call(self, do: Callable[..., T], *args: Any) -> T:
        """Does something as part of it: what comes of that belongs to it."""
        context = copy_context()
        context.run(_owner.set, self)
        return context.run(do, *args)


_owner: ContextVar[Owner | None] = ContextVar("owner", default=None)


class _Task(asyncio.Task[Any]):
    """A task that has the same place in a set whenever the same history is run."""

    def __init__(self, number: int, coro: Any, **options: Any) -> None:
        self._number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number


class Loop:
    """As much of an event loop as code needs that has neither files nor sockets."""

    def __init__(self, chance: Random, *, shuffled: bool = True) -> None:
        self.chance, self._shuffled = chance, shuffled
        self.failures: list[str] = []
        """What nobody caught."""
        self.steps = self._most = 0
        self._loop = cast(asyncio.AbstractEventLoop, self)
        self._now = 0.0
        self._ready: list[tuple[bool, Owner | None, asyncio.Handle]] = []  # with whether it is a task
        self._timers: list[tuple[float, float, int, Owner | None, asyncio.TimerHandle]] = []
        self._count = self._tasks = 0

    def time(self) -> float:
        """In seconds since the loop began."""
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
        """It is passed over when its time comes."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        """What a thread would do, done between other things at some moment."""
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
        """Holds up everything that belongs to it."""
        owner.frozen = True

    def thaw(self, owner: Owner) -> None:
        """Lets it go on."""
        owner.frozen = False
        self._ready += [(is_task, owner, handle) for is_task, handle in owner.held]
        owner.held = []

    def run_until_complete(self, future: Any) -> Any:
        """What comes of a coroutine. Raises Stuck if nothing does."""
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
        """One thing that happens, and the moment that it takes."""
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
        """Which of the things that could happen now does."""
        if not self._shuffled or len(self._ready) == 1:
            return 0
        which = self.chance.randrange(len(self._ready))
        if self._ready[which][0]:
            return which
        return next(index for index, (is_task, *_) in enumerate(self._ready) if not is_task)
