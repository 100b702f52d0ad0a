"""Group commits: what is appended to chained logs at the same time is written to the store in one call."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from samedeal.race.events import LogEntry, entry_bytes
from samedeal_server.net import metrics
from samedeal_server.store.connection import Store, Word

GATHER_S = 0.001
"""How long entries are collected for the next group commit while another is in flight. Larger commits cost less per
entry. A slow commit, such as one that is being retried, does not delay the others."""
IN_FLIGHT = 4
"""Maximum number of group commits in flight."""


class Behind(Exception):
    """The log does not end where the writer expects: others have written to it, or it has lost entries."""


class _Append(Struct):
    """Entries that a writer appends, and the future that it waits for."""

    keys: tuple[str, str]
    before: str
    entries: Sequence[LogEntry[Any]]
    written: "asyncio.Future[None]"


class GroupCommits:
    """Appends to logs of all kinds. Those of one iteration of the event loop are sent together.

    In a cluster, each log is written separately, so that logs on other nodes continue when one node is down.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._append = store.script("append.lua")
        self._queue: list[_Append] = []
        self._commits: set[asyncio.Task[None]] = set()
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def append(self, keys: tuple[str, str], before: str, entries: Sequence[LogEntry[Any]]) -> "asyncio.Future[None]":
        """Append entries after the one with the digest `before`. The returned future is done when the log has them.

        `keys` are those of the log and of its head. It raises what ``ChainedLogs.append`` raises.
        """
        loop = asyncio.get_running_loop()
        append = _Append(keys, before, entries, loop.create_future())
        if self.store.whole:
            if not self._queue:
                loop.call_soon(self._commit)
            self._queue.append(append)
        else:
            self._start([append])
        return append.written

    def _commit(self) -> None:
        """Start a group commit if entries are queued, or schedule it if it is too early."""
        if not self._queue or len(self._commits) >= IN_FLIGHT:
            return
        loop = asyncio.get_running_loop()
        if self._commits and loop.time() < self._next_at:
            if self._timer is None:
                self._timer = loop.call_at(self._next_at, self._commit_collected)
            return
        appends, self._queue, self._next_at = self._queue, [], loop.time() + GATHER_S
        self._start(appends)

    def _commit_collected(self) -> None:
        self._timer = None
        self._commit()

    def _start(self, appends: list[_Append]) -> None:
        commit = asyncio.get_running_loop().create_task(self._write(appends))
        self._commits.add(commit)
        commit.add_done_callback(self._committed)

    def _committed(self, commit: "asyncio.Task[None]") -> None:
        self._commits.discard(commit)
        self._commit()

    async def _write(self, appends: list[_Append]) -> None:
        keys: list[str] = []
        arguments: list[Word] = []
        for append in appends:
            keys += append.keys
            arguments += (append.before, len(append.entries))
            for entry in append.entries:
                arguments += (entry.n, entry_bytes(entry.n, entry.at, entry.event), entry.h)
        started = time.perf_counter()
        try:
            replies = await self._append.run(keys, arguments)
            metrics.APPENDS.observe(time.perf_counter() - started)
            for append, written in zip(appends, replies, strict=True):
                _settle(append, None if written else Behind())
        except Exception as error:  # the waiting writers must not hang
            for append in appends:
                _settle(append, error)


def _settle(append: _Append, failure: Exception | None) -> None:
    if append.written.done():
        return
    if failure is None:
        append.written.set_result(None)
    else:
        append.written.set_exception(failure)
