"""Pending requests: those without an answer yet. They outlive the socket on which they were sent."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from samedeal.errors import CODES, Refused
from samedeal.wire import messages as m
from samedeal_cli.failure import Declined, Failure


@dataclass
class _Pending:
    request: m.Request
    answer: asyncio.Future[m.FromServer]
    resent: bool = False


class PendingRequests:
    """The requests of a client that wait for an answer, by id."""

    def __init__(self) -> None:
        self._by_id: dict[int | None, _Pending] = {}

    async def answer(self, request: m.Request, send: Callable[[m.Request], Awaitable[None]]) -> m.FromServer:
        """Send a request and return its answer. Raises Refused, or Declined for a code that this version lacks."""
        pending = _Pending(request, asyncio.get_running_loop().create_future())
        self._by_id[request.id] = pending
        try:
            await send(request)
            return await pending.answer
        finally:
            del self._by_id[request.id]

    def resolve(self, message: m.FromServer) -> bool:
        """Return whether a message answers a pending request."""
        pending = self._by_id.get(message.re)
        if pending and not pending.answer.done():
            pending.answer.set_result(message)
        return pending is not None

    def refuse(self, problem: m.Problem, view: m.View) -> None:
        """Handle a problem. `view` answers a request that was executed when it was first sent."""
        pending = self._by_id.get(problem.re)
        if not pending or pending.answer.done():
            return
        if pending.resent and problem.code in ("untimely", "not-playing") and not isinstance(pending.request, m.Move):
            pending.answer.set_result(view)  # the first request was executed, and only its response was lost
        else:
            error = Refused if problem.code in CODES else Declined
            pending.answer.set_exception(error(problem.code, problem.detail))

    async def resend(self, send: Callable[[m.Request], Awaitable[None]]) -> None:
        """Send all requests again, on a new socket."""
        for pending in tuple(self._by_id.values()):
            pending.resent = True
            await send(pending.request)

    def fail(self, failure: Failure) -> None:
        """Let all requests fail."""
        for pending in self._by_id.values():
            if not pending.answer.done():
                pending.answer.set_exception(failure)
