"""A room: one live race in this process. First the rules, then the log, then the memory, then the world."""

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol

from samedeal.due import EMPTY_MS, deal_at, due, due_at
from samedeal.errors import Refused
from samedeal.log import AnyEvent, Closed, Dealt, Entry, Joined, Left, Taken
from samedeal.race import Race
from samedeal_server.archive import Archive
from samedeal_server.clock import Clock
from samedeal_server.dealer import Dealer, DealSearch
from samedeal_server.live_races import LiveRaces
from samedeal_server.log import Behind, Lost, RaceLog
from samedeal_server.log_lines import about
from samedeal_server.presence import Presence
from samedeal_server.remembered import Remembered

logger = logging.getLogger(__name__)

Proposal = Callable[[Race], Iterable[AnyEvent]]
"""What somebody wants to happen, given the race as it stands; nothing, if it has happened already. May raise Refused.

It is asked again whenever the race has moved on before the log took the events."""

AGAIN_S = 1.0
"""How soon a deed that is due is tried again while the store is away."""
ANSWER_WITHIN_S = 1.8
"""How long a wish may take, what went before it included, until whoever waits is told that the store is away."""
ALIKE_MS = 50
"""So much later the time that is left of a race is told anew to those who are told it alike."""


TOLD = (Dealt, Closed)
"""What is logged of every race; all else only for those who look for it, since a guest may repeat it at will."""


class Listener(Protocol):
    """Somebody who hears of a race."""

    def heard(self, race: Race, entries: Sequence[Entry]) -> None:
        """The race after new entries. Must return at once and not raise."""


class _Wish:
    """A proposal on its way, and the one who waits for the race that it leads to."""

    __slots__ = ("proposal", "settled", "until")

    def __init__(self, proposal: Proposal, loop: asyncio.AbstractEventLoop) -> None:
        self.proposal = proposal
        self.settled: asyncio.Future[Race] = loop.create_future()
        self.until = loop.time() + ANSWER_WITHIN_S

    def settle(self, outcome: Race | Exception) -> None:
        if self.settled.done():
            return
        if isinstance(outcome, Exception):
            self.settled.set_exception(outcome)
            self.settled.exception()  # whoever waited may have gone: that nobody asks is no fault
        else:
            self.settled.set_result(outcome)


class Room:
    """One race, its log so far, and its listeners. One task of its own does all the writing."""

    def __init__(
        self,
        race: Race,
        entries: Sequence[Entry],
        log: RaceLog,
        archive: Archive,
        live: LiveRaces,
        clock: Clock,
        dealer: Dealer,
        presence: Presence,
        *,
        kept: bool = False,
    ) -> None:
        """`race` as it stands after `entries`, all that the log has, or the archive, if that has `kept` the race."""
        self.race = race
        self.writing = False
        """Whether the log is being written: if another process was quicker, that is found out in writing."""
        self._entries = Remembered(race.secret, entries)
        self.deal = DealSearch(dealer, self.remind)
        self._log, self._archive, self._live, self._clock = log, archive, live, clock
        self._doubtful = False  # whether the log may hold what the memory does not: after any failure of the store
        self._kept = kept
        self._closing = False
        self._deaf_until = clock.now() if race.stage == "countdown" else 0  # no server had the race, or it no store
        self._noted_due_at: int | None = None
        self._noted_summary: tuple[str, int] | None = None
        self._presence = presence
        self._watched_until = 0  # until when the race is kept though it is empty
        self._listeners: set[Listener] = set()
        self._alike: dict[Hashable, bytes] = {}
        self._alike_of: tuple[str, int] | None = None
        self._wishes: list[_Wish] = []
        self._bell = asyncio.Event()  # rung when there is something to look at
        self._waiting: dict[_Wish, None] = {}  # whoever waits for an answer, the longest first
        self._patience: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_for: int | None = None
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._work())
        self.remind()

    async def submit(self, proposal: Proposal) -> Race:
        """The race once what is proposed is in the log. Raises Refused.

        Whoever waits here may be cancelled: what is being written goes on, and what is not begun is not begun. After
        "store-unavailable" nobody knows which it was; to propose the same again is safe.
        """
        if self._closing:
            raise Refused("race-over" if self.race.closed else "store-unavailable")
        wish = _Wish(proposal, self._loop)
        self._wishes.append(wish)
        self._waiting[wish] = None
        self._bell.set()
        if self._patience is None:
            self._patience = self._loop.call_at(wish.until, self._lose_patience)
        try:
            return await wish.settled
        finally:
            del self._waiting[wish]

    def _lose_patience(self) -> None:
        """Tells those who have waited for too long; one timer watches over all, since hardly anybody ever does."""
        loop, self._patience = self._loop, None
        for wish in tuple(self._waiting):
            if wish.until > loop.time():
                self._patience = loop.call_at(wish.until, self._lose_patience)
                return
            if not wish.settled.done():
                self._deaf_until = self._clock.now()
                wish.settle(Refused("store-unavailable"))

    def remind(self) -> None:
        """Has the room look whether anything is due."""
        self._bell.set()

    def listen(self, listener: Listener) -> None:
        self._listeners.add(listener)

    def unlisten(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    def connect(self, seat: int, taken: int) -> None:
        """Marks a seat as connected to this process, by the connection that took it with the entry ``taken``."""
        self._presence.connect(seat, taken)
        self.remind()

    def disconnect(self, seat: int, taken: int) -> None:
        """Undoes ``connect``. Before the countdown the seat is released if the player stays away."""
        self._presence.disconnect(seat, taken)
        self.remind()

    def told_alike(self, kind: Hashable, told: Callable[[], bytes]) -> bytes:
        """What many are told alike, which is made once: for each kind, race as it stands, and moment of ALIKE_MS."""
        of = self.race.digest, self._clock.now() // ALIKE_MS
        if of != self._alike_of:
            self._alike, self._alike_of = {}, of
        data = self._alike.get(kind)
        if data is None:
            data = self._alike[kind] = told()
        return data

    def follow(self, entries: Sequence[Entry]) -> bool:
        """Takes in what was read from the log, and says whether it was news: this process may have written it."""
        news = [entry for entry in entries if entry.n > self.race.n]
        if not news:
            return False
        try:
            self._advance(self.race.after_all(news), news)
        except Refused:
            logger.exception("the log does not continue what is known of it", extra=about(race=self.race.id))
            self._doubtful = True
        self.remind()
        return True

    @property
    def idle(self) -> bool:
        """Whether nobody would miss the room: nobody listens or waits, and its race needs nothing before it is due."""
        waits = self.race.stage == "running" or (self.race.stage == "open" and self._presence.attended(self.race))
        return (self._kept or waits) and not self._listeners and not self._waiting and not self._wishes

    @property
    def abandoned(self) -> bool:
        """Whether the race has been empty for so long, with nobody watching from here, that it is to be deleted."""
        return not self.race.n and not self._listeners and self._due_at(self.race, {}) <= self._clock.now()

    @property
    def kept(self) -> bool:
        """Whether the archive was given the race."""
        return self._kept

    async def secured(self) -> bool:
        """Whether the store has all that is known here. If it went back to an older state, that is written again.

        Raises Refused("store-unavailable").
        """
        known = self.race
        there = await (self._archive.has(known.id) if self._kept else self._logged(known))
        if not there:
            self._kept, self._doubtful = False, True
            self.remind()
        return there

    async def close(self) -> None:
        """Ends the room's work when what is under way is written: a write is never cancelled."""
        self._closing = True
        self.remind()
        await self._task
        for timer in (self._timer, self._patience):
            if timer:
                timer.cancel()
        await self.deal.close()

    # The room's own task.

    async def _work(self) -> None:
        while not self._closing:
            await self._bell.wait()
            self._bell.clear()
            wishes, self._wishes = self._wishes, []
            try:
                await self._grant(wishes)
            except Exception as error:
                if not isinstance(error, Refused):
                    logger.exception("a failure of the server", extra=about(race=self.race.id))
                self._doubtful = True
                self._deaf_until = self._clock.now()
                for wish in wishes:
                    wish.settle(error)
            if self.race.stage != "countdown":
                self.deal.end()
            self._set_timer()
            del wishes  # it may be long until the next, and these hold the races that they led to
        for wish in self._wishes:
            wish.settle(Refused("store-unavailable"))
        self._wishes = []

    async def _grant(self, wishes: Sequence[_Wish]) -> None:
        while True:
            try:
                if self._doubtful:
                    await self._reconcile()
                if self.race.stage == "open" and isinstance(self._due(self.race, self._clock.now()), Left):
                    await self._presence.note(self.race)  # another process may have seen the player
                wishes = [wish for wish in wishes if not wish.settled.done()]
                race, made, outcomes = self._imagined(wishes)
                if made:
                    self.writing = True
                    await self._log.append(self.race.id, self.race.digest, made)
            except (Behind, Lost):
                self._doubtful = True
            else:
                break
            finally:
                self.writing = False
        if made:
            self._advance(race, made)
            self._tell(made)
        for wish, outcome in zip(wishes, outcomes, strict=True):
            wish.settle(outcome)
        await self._note_due()

    def _imagined(self, wishes: Sequence[_Wish]) -> tuple[Race, list[Entry], list[Race | Exception]]:
        """The race if all wishes are granted that can be, with the entries for the log.

        The outcome of each wish is the race just after it: what later ones make of that is theirs.
        """
        race, made, outcomes = self.race, list[Entry](), list[Race | Exception]()
        now = max(self._clock.now(), race.at)
        for wish in wishes:
            before = race, len(made)
            try:
                for event in wish.proposal(race):
                    race, entry = race.extended(now, event)
                    made.append(entry)
                outcomes.append(race)
            except Exception as error:
                race = before[0]
                del made[before[1] :]
                if not isinstance(error, Refused):
                    logger.exception("a failure of the server", extra=about(race=race.id))
                outcomes.append(error)
        while due := self._due(race, now):
            race, entry = race.extended(now, due)
            made.append(entry)
        return race, made, outcomes

    def _advance(self, race: Race, entries: Sequence[Entry]) -> None:
        """Takes in what is in the log: the same entries may come twice, from the writing and from the following."""
        news = [entry for entry in entries if entry.n > self.race.n]
        if news:
            self.race = race
            self._entries.extend(news)
            for listener in tuple(self._listeners):
                listener.heard(race, news)

    def _tell(self, made: Sequence[Entry]) -> None:
        """Logs what was written here, by kind alone."""
        everything = logger.isEnabledFor(logging.DEBUG)
        for entry in made:
            if everything or isinstance(entry.event, TOLD):
                seat: int | None = getattr(entry.event, "seat", None)
                told = about(race=self.race.id, seat=seat, connection=self._connection(seat))
                level = logging.INFO if isinstance(entry.event, TOLD) else logging.DEBUG
                logger.log(level, "entry %d: %s", entry.n, type(entry.event).__name__.lower(), extra=told)

    def _connection(self, seat: int | None) -> str | None:
        """The connection that has a seat: the entry by which it was taken names it."""
        taken = self._entries[self.race.seats[seat - 1].taken - 1].event if seat else None
        return taken.by if isinstance(taken, Joined | Taken) else None

    async def _reconcile(self) -> None:
        """Makes memory and log agree. Raises Refused, Behind or Lost; then they may still differ."""
        known = self.race  # what follows may come in while the log is asked
        n, digest = await self._log.head(known.id)
        if n < known.n:
            await self._write_again(n, digest)
        elif n > known.n:
            news = await self._log.read(known.id, after=known.n)
            try:
                self._advance(known.after_all(news), news)
            except Refused:
                await self._start_over()
        elif digest != known.digest:
            await self._start_over()
        self._doubtful = False

    async def _logged(self, race: Race) -> bool:
        return await self._log.head(race.id) == (race.n, race.digest)

    async def _write_again(self, n: int, digest: str) -> None:
        """The log ends at `n`, -1 for no log: the race was archived by another process, or the store lost its tail."""
        untouched = Race.opened(self.race.header, self.race.secret)
        if n < 0:
            kept = await self._archive.replay(self.race.id)
            if kept:
                news = kept.entries[self.race.n :]
                self._advance(self.race.after_all(news), news)
                return
            await self._log.create(self.race.header, untouched.digest)
            await self._live.announce(self.race.header)
            n, digest, self._noted_due_at, self._noted_summary = 0, untouched.digest, None, None
        before = self._entries[n - 1].h if n else untouched.digest
        if digest != before:
            await self._start_over()
            return
        told = about(race=self.race.id)
        logger.error("the store lost what came after entry %d; it is written again", n, extra=told)
        if lost := self._entries[n:]:
            await self._log.append(self.race.id, before, lost)

    async def _start_over(self) -> None:
        """Another writer, who did not know this memory's tail, has continued the log: the log is the truth."""
        logger.error("another writer has continued the log from an older point", extra=about(race=self.race.id))
        entries = await self._log.read(self.race.id)
        untouched = Race.opened(self.race.header, self.race.secret)
        race = untouched.after_all(entries)
        self.race, self._entries = untouched, Remembered(untouched.secret)
        self._advance(race, entries)

    async def _note_due(self) -> None:
        """Keeps the store's lists in step: the finished race as its replay, a live one by when it is due."""
        race = self.race
        if race.closed:
            if not self._kept:
                await self._live.due(race.id, self._clock.now())  # if this process dies now, another one does the rest
                await self._archive.keep(race, self._entries)
                await self.tidy()
                self._kept = True
            return
        now, note_in_s = self._clock.now(), self._presence.note_in_s(race)
        if note_in_s is not None and note_in_s <= 0:
            await self._presence.note(race)
        if not race.n and self._listeners and self._due_at(race, {}) <= now:
            self._watched_until = now + EMPTY_MS
        at = self._due_at(race, self._presence.noted)
        if (race.stage, len(race.roster)) != self._noted_summary:
            await self._live.update(race, at)
        elif at != self._noted_due_at:
            await self._live.due(race.id, at)
        self.noted(race, at)

    def noted(self, race: Race, due_at: int) -> None:
        """Remembers what the store's lists have about the race, so that it is not written again."""
        self._noted_summary, self._noted_due_at = (race.stage, len(race.roster)), due_at

    async def tidy(self) -> None:
        """Removes everything that the store has about a live race, once it is kept and indexed."""
        await self._log.discard(self.race.id)
        await self._live.retract(self.race.header)
        await self._live.forget(self.race.id)

    async def finish_indexing(self) -> None:
        """Repeats what follows the keeping of a race: the process that kept it may have died in the middle."""
        await self._archive.index(self.race)
        await self.tidy()

    def _set_timer(self) -> None:
        race = self.race
        due_at = self._due_at(race, self._presence.seen(race, self._clock.now()))
        if race.stage == "running" and not self._doubtful and self._timer and due_at == self._timer_for:
            return  # as it was set before
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if not self._kept:
            wait_s = max(0.0, (due_at - self._clock.now()) / 1000)
            if (note_in_s := self._presence.note_in_s(race)) is not None:
                wait_s = max(0.0, min(wait_s, note_in_s))
            if self._doubtful or race.closed or (wait_s == 0 and (race.stage == "countdown" or not race.n)):
                wait_s, due_at = AGAIN_S, 0
            self._timer_for = due_at
            self._timer = self._loop.call_later(wait_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.remind()

    def _due(self, race: Race, now: int) -> AnyEvent | None:
        """What has to be written now, whether players are connected or not."""
        number = None
        dealing = race.stage == "countdown" and not race.finished(now)
        if dealing and (race.nonces_in or now >= deal_at(race, self._deaf_until)):
            number = self.deal.number(race)  # sought as soon as the nonces are in
        return due(
            race,
            now,
            seen=self._presence.seen(race, now),
            away_ms=self._presence.away_ms,
            reachable_from=self._deaf_until,
            deal_number=number,
        )

    def _due_at(self, race: Race, seen: Mapping[int, int]) -> int:
        at = due_at(race, seen=seen, away_ms=self._presence.away_ms, reachable_from=self._deaf_until)
        return at if race.n else max(at, self._watched_until)
