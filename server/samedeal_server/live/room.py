"""Room: the owner of a live race in this process.

It applies commands to the race, writes the new entries to the log, and then publishes them. Nothing is acknowledged or
published before the log has it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.race.events import Entry
from samedeal.race.race import Race
from samedeal.race.server_bots import bots_playing
from samedeal.wire.messages import Progress, Rematch, View
from samedeal.wire.requests import check_entries
from samedeal.wire.views import progress, view
from samedeal_server.live.broadcast import Broadcast
from samedeal_server.live.commands import Command, Commands, Outcome, Proposal, set_outcome
from samedeal_server.live.event_records import record
from samedeal_server.live.ghosts import Ghosts
from samedeal_server.live.recovery import reconcile
from samedeal_server.live.room_parts import RaceState, Services, public_host
from samedeal_server.live.schedule import Schedule
from samedeal_server.net.logs import about
from samedeal_server.net.waiting import Flag
from samedeal_server.store.compact_log import CompactLog
from samedeal_server.store.group_commits import Behind

logger = logging.getLogger(__name__)

LONG = 2_000
"""The number of entries at which a running race stays in memory, because reopening its room would take too long."""


class Room:
    """A live race with its log so far and its listeners."""

    __slots__ = (
        "_challenges", "_closed", "_closing", "_commands", "_entries", "_ghosts", "_is_busy", "_is_woken", "_loop",
        "_needs_resync", "_pins", "_presence", "_schedule", "_store", "_waiting_for", "broadcast", "deal_search",
        "host", "is_archived", "is_writing", "race", "rejoining", "rematch", "watching",
    )  # fmt: skip

    def __init__(self, state: RaceState, services: Services) -> None:
        self.race = race = state.race
        self.rematch, self.host, self.is_archived = state.rematch, state.host, state.archived
        self.rejoining = state.rejoining
        self.is_writing = False
        """Whether a write to the log is in progress. If another process has written first, the write reports it."""
        self.watching = 0
        """The number of connections in all processes that watch the race without a seat."""
        self._store = store = services.store.timed(race, state.behind_ms)
        self.broadcast, self._challenges = Broadcast(store.clock), services.challenges
        self._ghosts = Ghosts(lambda: self.race, services.ghosts, store.clock, self.broadcast)
        self._entries = CompactLog(race.secret, state.entries)
        self._schedule = Schedule(state, store, services, self.wake, lambda: self.is_replaced, lambda: self.host)
        self._presence, self.deal_search = self._schedule.presence, self._schedule.deal_search
        self._commands = Commands(self._schedule.extend_grace)
        self._needs_resync = False  # set after any failure of the store: the log may differ from the memory
        self._pins = 0
        self._is_busy = False  # whether a round is in progress, or about to start
        self._is_woken = False  # whether another round is to follow
        self._waiting_for: asyncio.Future[None] | None = None  # keeps a task from being garbage collected
        self._closing, self._closed = False, Flag()
        self._loop = asyncio.get_running_loop()
        self.wake()

    async def submit(self, proposal: Proposal) -> Race:
        """Return the race once the proposed events are in the log. Raises Refused.

        After Refused("store-unavailable") the events may or may not be in the log; it is safe to propose them again.
        Cancelling the caller does not cancel a write in progress.
        """
        result = self._loop.create_future()
        command = self.propose(proposal, partial(set_outcome, result))
        try:
            race: Race = await result
            return race
        finally:
            command.is_done = True

    def propose(self, proposal: Proposal, on_done: Callable[[Outcome], None]) -> Command:
        """Do the same as ``submit``, but pass the outcome to a callback, which must not raise. Raises Refused."""
        if self._closing:
            raise Refused("race-over" if self.race.closed else "store-unavailable")
        command = self._commands.add(proposal, on_done)
        self.wake()
        return command

    def view(
        self,
        seat: int | None,
        *,
        re: int | None = None,
        legal: bool = False,
        guidance: bool = False,
        header: bool = False,
    ) -> View:
        """Return the view of the race for a seat, or for a spectator (None)."""
        now = self._store.clock.now()
        shown = view(
            self.race,
            seat,
            now,
            re=re,
            legal=legal,
            guidance=guidance,
            header=header,
            rematch=self.rematch,
            ghosts=self._ghosts.at(now),
            host=public_host(self.race, self.host),
            ready_by=self.starts_at,
            closing_ms=self._schedule.closing_ms(self.race),
            awaited=self.awaited,
            watching=self.watching,
        )
        if self.is_replaced:  # for its players it is over, although its log ends only when it expires
            return replace(shown, stage="cancelled", next=self.rematch, host=None, awaited=(), clock_ms=None)
        return shown

    def progress(self, seat: int | None) -> Progress:
        """Return the message for a seat, or a spectator (None), after a change of others, ghosts or watchers."""
        ghosts, closing_ms = self._ghosts.at(self._store.clock.now()), self._schedule.closing_ms(self.race)
        return progress(self.race, seat, ghosts, self.watching, closing_ms)

    @property
    def is_replaced(self) -> bool:
        """Whether the host has opened another race in place of this one, before its countdown."""
        return self.rematch is not None and self.race.stage == "open"

    @property
    def awaited(self) -> tuple[str, ...]:
        """The names of the players of the race before for whom an open rematch waits."""
        return tuple(self.rejoining.awaited(self.race).values()) if self.race.stage == "open" else ()

    @property
    def starts_at(self) -> int | None:
        """When an open race starts without those who are missing or not ready, if it does."""
        return self._schedule.ready_by(self.race) if self.race.stage == "open" else None

    def announce(self, rematch: Rematch) -> None:
        """Tell the listeners that the race has a rematch or was replaced, unless they know it, or it has started."""
        if rematch != self.rematch and self.race.stage not in ("countdown", "running"):
            self.rematch = rematch
            self.broadcast.publish(self.race, ())
        if self.is_replaced:
            self.host = None
            self.wake()

    def forget_player(self, player: str) -> None:
        """Forget the name of an erased player, as the host and as a ghost. The seat of a live race keeps it."""
        if self.host and self.host.player == player:
            self.host = None
            self.wake()
        if self.is_replaced and self.rematch:
            self.rematch = replace(self.rematch, by="", players=(), awaited=())
        self._ghosts.load()

    def wake(self) -> None:
        """Check whether anything is due, soon or after the round in progress."""
        self._is_woken = True
        if not self._is_busy and not self._closing:
            self._is_busy = True
            self._loop.call_soon(self._start_round)

    def connect(self, seat: int, taken: int) -> None:
        """Mark a seat as connected to this process, by the connection that took it with the entry ``taken``."""
        self._presence.connect(seat, taken)
        self.wake()

    def disconnect(self, seat: int, taken: int) -> None:
        """Undo ``connect``. Before the countdown the seat is released if the player stays away."""
        self._presence.disconnect(seat, taken)
        self.wake()

    def follow(self, entries: Sequence[Entry]) -> bool:
        """Apply entries read from the log. Return whether any were new; this process may have written them."""
        news = [entry for entry in entries if entry.n > self.race.n]
        if not news:
            return False
        try:
            self._advance(self.race.after_all(news), news)
        except Refused:
            logger.exception("the log does not continue the race in memory", extra=about(race=self.race.id))
            self._needs_resync = True
        self.wake()
        return True

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Keep the room from being dropped as idle, because a session is about to use it."""
        self._pins += 1
        try:
            yield
        finally:
            self._pins -= 1

    @property
    def is_idle(self) -> bool:
        """Whether the room can be dropped: nobody uses it, and the race needs nothing before it is due."""
        if self._pins or self.broadcast.has_listeners or not self._commands.is_empty:
            return False
        is_attended = self.race.stage == "open" and self._presence.attended(self.race)
        is_running = self.race.stage == "running" and self.race.n < LONG and not bots_playing(self.race)
        is_running &= self._schedule.closes_at(self.race) is None  # another room would not know who is disconnected
        return self.is_archived or is_running or is_attended

    @property
    def is_abandoned(self) -> bool:
        """Whether the race has been empty, with no listeners in this process, for so long that it can be deleted."""
        return not self.broadcast.has_listeners and self._schedule.is_expired(self.race)

    async def is_persisted(self) -> bool:
        """Return whether the store has everything that this room has. If not, it is written again.

        Raises Refused("store-unavailable").
        """
        race = self.race
        if self.is_archived:
            persisted = not self._entries or await self._store.archive.has(race.id)
        else:
            persisted = await self._store.log.head(race.id) == (race.n, race.digest)
        if not persisted:
            self.is_archived, self._needs_resync = False, True
            self.wake()
        return persisted

    async def close(self) -> None:
        """Stop the room after the round in progress, which is never cancelled."""
        if self._needs_resync:
            self.wake()  # the store may have lost entries that only this room has
        self._closing = True
        if self._is_busy:
            await self._closed.wait()
        self._commands.close()
        await self._ghosts.close()
        await self._schedule.close()

    # Rounds. One at a time, each applies commands and what is due, writes the new entries, and then publishes them.
    # A step that needs the store is followed by the next one when the store has replied; no task waits for a move.

    def _start_round(self) -> None:
        self._is_woken = False
        self._commands.start_round()
        self._step(self._prepare)

    def _step(self, step: Callable[[], None], replied: "asyncio.Future[None] | None" = None) -> None:
        """Take a step of the round, after the reply of the store that it needs. An error ends the round."""
        self.is_writing = False
        try:
            try:
                if replied:
                    replied.result()
                step()
            except Behind:
                self._needs_resync = True
                self._prepare()
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, Exception) and not isinstance(error, Refused):
                logger.exception("internal error", extra=about(race=self.race.id))
            self._needs_resync = True
            self._schedule.extend_grace()
            if replied and replied.cancelled():
                self._closing = True  # with the process
            try:
                self._commands.fail(error if isinstance(error, Exception) else Refused("store-unavailable"))
            finally:
                self._end_round()

    def _step_after(self, reply: Awaitable[None], step: Callable[[], None]) -> None:
        self._waiting_for = asyncio.ensure_future(reply)
        self._waiting_for.add_done_callback(partial(self._step, step))

    def _prepare(self) -> None:
        """Read from the store what decides what can be written, if anything does."""
        if self._needs_resync or self._schedule.releases_seat(self.race):
            self._step_after(self._read(), self._write)
        else:
            self._write()

    def _write(self) -> None:
        """Apply the commands and what is due, and write the new entries."""
        commands = [command for command in self._commands.current if not command.is_done]
        race, entries, outcomes = self._apply(commands)
        publish = partial(self._publish, race, entries, commands, outcomes)
        if not entries:
            publish()
            return
        self.is_writing = True
        written = self._write_end if race.closed else self._store.log.append
        self._step_after(written(self.race.id, self.race.digest, entries), publish)

    def _publish(
        self, race: Race, entries: Sequence[Entry], commands: Sequence[Command], outcomes: Sequence[Outcome]
    ) -> None:
        """Publish what the log has, resolve the commands, and then update what the store has besides the log."""
        if entries:
            self._advance(race, entries)
            record(self.race, entries, self._entries)
        for command, outcome in zip(commands, outcomes, strict=True):
            command.resolve(outcome)
        is_watched = self.broadcast.has_listeners
        if self.race.closed and not self.is_archived:
            self._step_after(self._archive_race(), self._end_round)
        elif not self.race.closed and not self._schedule.is_saved(self.race, watched=is_watched):
            self._step_after(self._schedule.save(self.race, watched=is_watched), self._end_round)
        else:
            self._end_round()

    def _end_round(self) -> None:
        self._commands.current = []  # they keep races in memory, and the next round may be far away
        self._waiting_for = None
        if self.race.stage != "countdown":
            self.deal_search.end()
        if self.is_archived:
            self._schedule.cancel_timer()
        else:
            self._schedule.set_timer(self.race, failed=self._needs_resync)
        if self._schedule.changes_views(self.race):
            self.broadcast.publish(self.race, ())
        self._is_busy = False
        if self._closing:
            self._closed.set()
        elif self._is_woken:
            self.wake()

    async def _read(self) -> None:
        if self._needs_resync:
            await self._resync()
        if self._schedule.releases_seat(self.race):
            await self._presence.note(self.race)  # another process may have seen the player

    async def _write_end(self, race_id: str, before: str, entries: Sequence[Entry]) -> None:
        """Write the last entries. If this process dies before it archives the race, another one does."""
        self._schedule.forget_saved()
        await self._store.live.set_due(race_id, self._store.clock.now() + self._store.clock.behind_ms)
        await self._store.log.append(race_id, before, entries)

    def _apply(self, commands: Sequence[Command]) -> tuple[Race, list[Entry], list[Outcome]]:
        """Return the race after all commands that succeed and whatever is due, the new entries, and the outcomes."""
        race = self.race
        entries: list[Entry] = []
        outcomes: list[Outcome] = []
        now = self._store.clock.reach(race.at)
        for command in commands:
            before, new = race, list[Entry]()
            try:
                for event in command.proposal(race):
                    check_entries(race, event)
                    race, entry = race.extended(now, event)
                    new.append(entry)
                outcomes.append(race)
                entries += new
            except Exception as error:
                race = before
                if not isinstance(error, Refused):
                    logger.exception("internal error", extra=about(race=race.id))
                outcomes.append(error)
        try:
            while due := self._schedule.due_event(race, now):
                race, entry = race.extended(now, due)
                entries.append(entry)
        except Exception:
            logger.exception("cannot write a due event; trying again", extra=about(race=race.id))
            self._needs_resync = True
        return race, entries, outcomes

    def _advance(self, race: Race, entries: Sequence[Entry]) -> None:
        """Advance to a later race. The same entries can arrive twice, from writing and from following the log."""
        news = [entry for entry in entries if entry.n > self.race.n]
        if news:
            is_dealt = self.race.started_at is None and race.started_at is not None
            self._store.clock.reach(race.at)  # before listeners see the length of a countdown
            # Its countdown may have been first when the host tried to replace it.
            self.race, self.rematch = race, None if race.stage in ("countdown", "running") else self.rematch
            self._entries.extend(news)
            if is_dealt:
                self._ghosts.on_dealt()
            self.broadcast.publish(race, news)

    async def _resync(self) -> None:
        """Make memory and log agree. Raises Refused or Behind; then they may still differ."""
        recovered = await reconcile(self._store, self.host, self.race, self._entries)
        if recovered.restored:
            self._schedule.forget_saved()
        if recovered.replaces_memory:
            self.race = Race.opened(self.race.header, self.race.secret)
            self._entries = CompactLog(self.race.secret)
        self._advance(recovered.race, recovered.entries)
        self._needs_resync = False

    async def _archive_race(self) -> None:
        await self._store.archive.add(self.race, self._entries)
        await self._challenges.remove_live(self.race)
        self.is_archived = True
