"""Logs of challenges and clubs with their states: read as far as they go, appended to, and restored after a failure."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Final, Generic, TypeVar

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.race.chained_log import ChainedLog
from samedeal.race.events import LogEntry
from samedeal_server.net.logs import about
from samedeal_server.store.chained_logs import ChainedLogs
from samedeal_server.store.clock import Clock
from samedeal_server.store.group_commits import Behind

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=ChainedLog[Any, Any])
L = TypeVar("L", bound=LogEntry[Any])
MAX_CACHED: Final = 256
"""Maximum number of states in memory."""


class Known(Struct, Generic[S, L]):
    """What this process has read of a log."""

    state: S
    entries: list[L]
    """The last entries."""
    lock: asyncio.Lock

    def extend(self, entries: list[L]) -> None:
        """Add the next entries. Raises Refused if they do not continue the log; then this cannot be used any more."""
        self.state = self.state.after_all(entries)
        self.entries += entries


K = TypeVar("K", bound=Known[Any, Any])


class FoldedLogs(Generic[S, L, K]):
    """The logs of one kind with their states. All methods raise Refused("store-unavailable")."""

    not_found: ClassVar[str]
    """The text of the refusal for an unknown id."""
    header_type: ClassVar[type[Any]]

    def __init__(self, logs: ChainedLogs[L], clock: Clock) -> None:
        self._logs, self._store, self._clock = logs, logs.commits.store, clock
        self._known = dict[str, K]()  # least recently used first

    @abstractmethod
    def _first(self, header: Any) -> K:
        """Return what is known of a log before its first entry."""

    async def has(self, log_id: str) -> bool:
        """Return whether there is a log with this id."""
        return (await self._logs.head(log_id))[0] >= 0

    async def append(self, log_id: str, proposal: Callable[[S], Any], not_before: int = 0) -> tuple[S, int]:
        """Log the event that `proposal` returns for the current state, at the time `not_before` or later. Return the
        state before it, and its time.

        The proposal is called again if another process was faster. It returns None if nothing is to be logged, and may
        raise Refused. Raises Refused("not-found").
        """
        while True:
            known = await self._read(log_id)
            async with known.lock:
                before: S = known.state
                at = max(self._clock.now(), before.at, not_before)
                if (event := proposal(before)) is None:
                    return before, at
                _, entry = before.extended(at, event)
                try:
                    await self._logs.append(log_id, before.digest, [entry])
                except Behind:
                    await self._resync(log_id, known)
                    continue
                await asyncio.to_thread(known.extend, [entry])
                await self._appended(before, known.state)
                return before, at

    async def _appended(self, before: S, after: S) -> None:
        """Do what follows from an entry, which is in the log. Safe to repeat."""

    async def _read(self, log_id: str) -> K:
        """Return what this process knows, after reading what is new in the log. Raises Refused("not-found")."""
        known = self._known.pop(log_id, None)
        if known is None:
            if (header := await self._logs.field(log_id, "header", self.header_type)) is None:
                raise Refused("not-found", self.not_found)
            known = self._first(header)
        self._known[log_id] = known
        if len(self._known) > MAX_CACHED:
            del self._known[next(iter(self._known))]
        async with known.lock:
            is_new = not known.state.n
            entries = await self._logs.read(log_id, after=known.state.n)
            try:
                if entries:  # folding thousands takes long
                    await asyncio.to_thread(known.extend, entries)
            except Refused:
                self._known.pop(log_id, None)
                if is_new:
                    raise
            else:
                return known
        return await self._read(log_id)  # another process has continued an older log

    async def _resync(self, log_id: str, known: K) -> None:
        """Forget a cached log that the store contradicts, and restore entries that the store has lost."""
        state, first = known.state, self._first(known.state.header).state
        n, digest = await self._logs.head(log_id)
        if n > state.n:
            return
        last = {entry.n: entry.h for entry in known.entries}
        if len(last) == state.n:  # nothing before them
            last[0] = first.digest
        if n < state.n and (last.get(n) == digest or (n < 0 and 0 in last)):
            logger.error("the store lost the entries after %d; writing them again", n, extra=about(race=log_id))
            if n < 0:
                await self._logs.create(log_id, state.header, first.digest)
            with suppress(Behind):
                lost = [entry for entry in known.entries if entry.n > n]
                await self._logs.append(log_id, last[max(n, 0)], lost)
            await self._appended(first, state)
        else:
            self._known.pop(log_id, None)
