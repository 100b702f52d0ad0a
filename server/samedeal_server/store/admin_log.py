"""The admin log: every change that administrators make, and the bans, closed and hidden races that follow from it.

Every process follows it, so a change takes effect in all of them within FOLLOW_EVERY_S.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Final, Literal

from msgspec import DecodeError, Meta, Struct, json, structs

from samedeal.errors import Refused
from samedeal_server.store.bans import Ban, Bans, ending
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store

KEY: Final = "admin:log"
DAYS: Final = 400
"""How long entries are kept, longer while their ban is in force or their race is hidden."""
FOLLOW_EVERY_S: Final = 0.5
BATCH: Final = 1_000


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


class AdminLog:
    """The log, and what follows from the part that this process has read."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._last, self._reading = "0-0", asyncio.Lock()
        self._in_force = dict[str, str]()  # the ids of the entries of bans and hidden races, by subject
        self.bans = Bans(clock.now)
        self.closed = dict[str, str]()
        """The races that are being closed or were, with the reasons."""
        self.hidden = set[str]()
        """The races that are in no list."""
        self.listeners = list[Callable[[Logged], None]]()
        """Called with each new entry."""

    async def append(self, action: Action) -> None:
        """Log an action, and let it take effect in this process. Raises Refused("store-unavailable").

        After that the action may have been logged or not. Repeating it does no harm.
        """
        await self._trim()
        await self._store.retry("XADD", KEY, "*", "action", json.encode(action))
        await self.update()

    async def update(self) -> None:
        """Read what is new, at first everything. Raises Refused("store-unavailable")."""
        async with self._reading:
            while entries := await self._store.ask("XRANGE", KEY, f"({self._last}", "+", "COUNT", BATCH):
                for id_, fields in entries:
                    self._last = id_.decode()
                    if entry := _decoded(self._last, fields):
                        self._apply(entry)

    async def page(self, query: LogPage) -> list[Logged]:
        """Return entries, newest first. Raises Refused("store-unavailable")."""
        end = f"({query.before}" if query.before else "+"
        entries = await self._store.ask("XREVRANGE", KEY, end, "-", "COUNT", query.limit)
        return [entry for id_, fields in entries if (entry := _decoded(id_.decode(), fields))]

    async def _trim(self) -> None:
        """Delete entries that are older than DAYS, except those in force. Raises Refused("store-unavailable")."""
        subjects = {*self.hidden, *(ban.subject for ban in self.bans)}
        in_force = {id_ for subject, id_ in self._in_force.items() if subject in subjects}
        after, end = "-", f"({self._clock.now() - DAYS * 86_400_000}-0"
        while entries := await self._store.ask("XRANGE", KEY, after, end, "COUNT", BATCH):
            old = [id_.decode() for id_, _ in entries]
            if outdated := [id_ for id_ in old if id_ not in in_force]:
                await self._store.retry("XDEL", KEY, *outdated)
            after = f"({old[-1]}"

    def _apply(self, entry: Logged) -> None:
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
        if entry.command in ("ban", "hide"):
            self._in_force[entry.subject] = entry.id
        for listener in self.listeners:
            listener(entry)


def expulsion(entry: Logged) -> Refused:
    """Return what the clients are told whom a kick or a ban expels."""
    if entry.until is not None:
        return Ban(entry.subject, entry.until, entry.reason).refusal()
    return Refused("not-allowed", f"An administrator has closed your connection{ending(entry.reason)}")


def _decoded(id_: str, fields: Mapping[bytes, bytes]) -> Logged | None:
    """Return an entry of the stream, or None for one of a newer version that cannot be read."""
    try:
        action = json.decode(fields.get(b"action", b""), type=Action)
    except (DecodeError, UnicodeError):
        return None
    return Logged(id=id_, at=int(id_.partition("-")[0]), **structs.asdict(action))
