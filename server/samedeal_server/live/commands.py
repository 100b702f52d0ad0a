"""Commands: what is proposed to a race, until each has an outcome."""

import asyncio
from collections.abc import Callable, Iterable

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.race.events import AnyEvent
from samedeal.race.race import Race

Proposal = Callable[[Race], Iterable[AnyEvent]]
"""Returns the events that a command leads to, given the current race; none if they have already happened.

May raise Refused. It is called again whenever the race changes before the log has taken the events.
"""
Outcome = Race | Exception
"""The race right after a command, or why it failed."""

TIMEOUT_S = 1.8
"""How long a command may take, including its time in the queue, before it fails with "store-unavailable" (s)."""


class Command(Struct, eq=False):
    """A proposal, and the callback for its outcome."""

    proposal: Proposal
    on_done: Callable[[Outcome], None]
    deadline: float
    is_done: bool = False

    def resolve(self, outcome: Outcome) -> None:
        if not self.is_done:
            self.is_done = True
            self.on_done(outcome)


class Commands:
    """The commands of one race: those of the round in progress, and those that wait for the next one."""

    __slots__ = ("_loop", "_on_timeout", "_timer", "current", "queue")

    def __init__(self, on_timeout: Callable[[], None]) -> None:
        """`on_timeout` is called when a command takes too long."""
        self._on_timeout = on_timeout
        self.queue: list[Command] = []
        self.current: list[Command] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def is_empty(self) -> bool:
        """Whether all commands have an outcome."""
        return all(command.is_done for command in (*self.current, *self.queue))

    def add(self, proposal: Proposal, on_done: Callable[[Outcome], None]) -> Command:
        """Queue a command."""
        command = Command(proposal, on_done, self._loop.time() + TIMEOUT_S)
        self.queue.append(command)
        if self._timer is None:
            self._timer = self._loop.call_at(command.deadline, self._expire)
        return command

    def start_round(self) -> None:
        """Make the queued commands the current ones."""
        self.current, self.queue = self.queue, []

    def fail(self, error: Exception) -> None:
        """Resolve the current commands with an error."""
        for command in self.current:
            command.resolve(error)

    def close(self) -> None:
        """Fail what is queued, and stop the timer."""
        self.start_round()
        self.fail(Refused("store-unavailable"))
        if self._timer:
            self._timer.cancel()

    def _expire(self) -> None:
        """Fail the commands whose deadline has passed. All share one timer, since hardly any ever expires."""
        self._timer = None
        for command in (*self.current, *self.queue):  # oldest first
            if command.is_done:
                continue
            if command.deadline > self._loop.time():
                self._timer = self._loop.call_at(command.deadline, self._expire)
                return
            self._on_timeout()
            command.resolve(Refused("store-unavailable"))


def set_outcome(result: "asyncio.Future[Race]", outcome: Outcome) -> None:
    """Give a future the outcome of a command, unless nobody waits for it any more."""
    if not result.done():
        if isinstance(outcome, Exception):
            result.set_exception(outcome)
        else:
            result.set_result(outcome)
