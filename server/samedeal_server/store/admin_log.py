"""The admin log: every change that administrators make, and the bans, closed and hidden races that follow from it.

Every process follows it, so a change takes effect in all of them within FOLLOW_EVERY_S.
"""

import asyncio
import hmac
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Final, Literal, Self

from msgspec import Meta, Struct, structs
from msgspec.structs import replace

from samedeal.digest_chain import first_digest
from samedeal.errors import Refused
from samedeal.race.chained_log import ChainedLog
from samedeal.race.events import LogEntry, header_bytes
from samedeal_server.store.bans import Ban, Bans, ending
from samedeal_server.store.chained_logs import ChainedLogs, Line, number_of
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store
from samedeal_server.store.group_commits import Behind, GroupCommits

logger = logging.getLogger(__name__)

ID: Final = "log"
DAYS: Final = 400
"""How long entries are kept, longer while their ban is in force or their race is hidden."""
FOLLOW_EVERY_S: Final = 0.5


class Action(Struct, frozen=True, omit_defaults=True):
    """A change that an administrator makes."""

    by: Literal["socket", "key"]
    """How the administrator was identified."""
    command: str
    subject: str = ""
    """What it is about, such as a race, or whom it affects."""
    reason: str = ""
    until: int | None = None
    """When it ends (ms since 1970-01-01 UTC); None if it does not."""


class Logged(Action, frozen=True, kw_only=True):
    """An action with its place in the log."""

    id: str
    at: int
    """When it was logged, by the clock of the store (ms since 1970-01-01 UTC)."""


class LogPage(Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the log to return."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    before: Annotated[str, Meta(pattern=r"^[0-9]{1,20}-[0-9]{1,20}$(?!\n)")] | None = None
    """Only entries before the one with this `id`."""


HEADER: Final = Action("socket", "begin")
"""What is fixed before the first entry."""


class _Entry(LogEntry[Action], frozen=True):
    @property
    def logged(self) -> Logged:
        return Logged(id=f"{self.n}-0", at=self.at, **structs.asdict(self.event))


class _Chain(ChainedLog[Action, _Entry], frozen=True):
    """The end of the log. What follows from the actions is in AdminLog."""

    entry_type = _Entry

    def _apply(self, at: int, event: Action) -> Self:
        return self


class AdminLog(ChainedLogs[_Entry]):
    """The log, and what follows from the part that this process has read."""

    kind, entry_type = "admin", _Entry

    def __init__(self, store: Store, clock: Clock, master_key: bytes) -> None:
        super().__init__(GroupCommits(store))
        self._clock, self._reading, self._heard_at = clock, asyncio.Lock(), 0
        secret = hmac.digest(master_key, b"samedeal/1/admin-log", "sha256")
        self._start = self._end = _Chain(secret, first_digest(secret, header_bytes(HEADER)), 0, 0)
        self.bans = Bans(clock.now, self.update)
        self.closed = dict[str, str]()
        """The races that are being closed or were, with the reasons."""
        self.hidden = set[str]()
        """The races that are in no list."""
        self.listeners = list[Callable[[Logged], None]]()
        """Called with each new entry."""

    async def log(self, action: Action) -> None:
        """Log an action, and let it take effect in this process. Raises Refused("store-unavailable").

        After that the action may have been logged or not. Repeating it does no harm.
        """
        await self._trim()
        while True:
            await self.create(ID, HEADER, self._start.digest)
            await self.update()
            _, entry = self._end.extended(self._clock.reach(self._end.at + 1), action)
            with suppress(Behind):
                await self.append(ID, self._end.digest, [entry])
                return await self.update()

    async def update(self) -> None:
        """Read what is new, at first everything. Raises Refused("store-unavailable")."""
        async with self._reading:
            n, digest = await self.head(ID)
            if n <= self._end.n and digest != self._end.digest:
                self._end = self._start  # the store has lost entries, and may have others instead
            if n <= self._end.n:
                return
            async for lines in self.lines(ID, self._end.n, n):
                if altered := [number_of(line) for line in lines if not self._follow(line)]:
                    logger.error("entries of the admin log were altered or have another master key: %s", altered[:9])
            self._end = replace(self._end, n=n, digest=digest)

    async def page(self, query: LogPage) -> list[Logged]:
        """Return entries, newest first. Raises Refused("store-unavailable")."""
        end = f"({query.before}" if query.before else "+"
        lines = await self._store.ask("XREVRANGE", self.key(ID, "log"), end, "-", "COUNT", query.limit)
        return [entry for line in lines if (entry := self._logged(line))]

    def _follow(self, line: Line) -> bool:
        """Apply an entry, and return whether it follows from the one before, unless that was deleted."""
        n, before = number_of(line), self._end
        with suppress(Refused):  # if it cannot be read
            entry = self.entry(line[1])
            self._end = replace(before, n=n, at=entry.at, digest=entry.h)
            self._take_effect(entry.logged)
            return n > before.n + 1 or before.after(entry).n == n
        return False

    def _logged(self, line: Line) -> Logged | None:
        """Return an entry, or None if this version cannot read it."""
        with suppress(Refused):
            return self.entry(line[1]).logged
        return None

    async def _trim(self) -> None:
        """Delete entries that are older than DAYS, except those in force. Raises Refused("store-unavailable")."""
        in_force = {*self.hidden, *(ban.subject for ban in self.bans)}
        oldest_at = self._clock.now() - DAYS * 86_400_000
        async for lines in self.lines(ID):
            old = [entry for line in lines if (entry := self._logged(line)) and entry.at < oldest_at]
            if ids := [each.id for each in old if each.command not in ("ban", "hide") or each.subject not in in_force]:
                await self._store.retry("XDEL", self.key(ID, "log"), *ids)
            if len(old) < len(lines):
                return

    def _take_effect(self, entry: Logged) -> None:
        match entry.command:
            case "ban" if entry.until is not None:
                self.bans.add(Ban(entry.subject, entry.until, entry.reason))
            case "unban":
                self.bans.lift(entry.subject)
            case "hide":
                self.hidden.add(entry.subject)
            case "unhide":
                self.hidden.discard(entry.subject)
            case "close":
                self.closed[entry.subject] = entry.reason
        if entry.at > self._heard_at:  # otherwise the log is read again
            self._heard_at = entry.at
            for listener in self.listeners:
                listener(entry)


def expulsion(entry: Logged) -> Refused:
    """Return what the clients are told whom a kick or a ban expels."""
    if entry.until is not None:
        return Ban(entry.subject, entry.until, entry.reason).refusal()
    return Refused("not-allowed", f"An administrator has closed your connection{ending(entry.reason)}")
