"""Registry: the rooms of this process. It opens a room when a client needs it or when something is due in its race."""

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.events import Header, Options
from samedeal.race.race import Race
from samedeal.wire.documents import Listed, RaceSummary
from samedeal.wire.messages import Reaction
from samedeal_server.live.attendance import INTERVAL_S as COUNT_EVERY_S
from samedeal_server.live.attendance import Attendance
from samedeal_server.live.bot_moves import MAX_MOVES
from samedeal_server.live.deal_finder import DealFinder
from samedeal_server.live.fields import Fields
from samedeal_server.live.ghosts import GhostLoader
from samedeal_server.live.loading import RaceLoader
from samedeal_server.live.opening import RaceOpener
from samedeal_server.live.presence import AWAY_S
from samedeal_server.live.rematch_lobbies import INTERVAL_S as LOOK_AT_REMATCHES_EVERY_S
from samedeal_server.live.rematch_lobbies import RematchLobbies
from samedeal_server.live.room import Room
from samedeal_server.live.room_parts import Services
from samedeal_server.net.limits import RequestLimit
from samedeal_server.net.logs import about
from samedeal_server.net.supervised import cancelled, supervised
from samedeal_server.store.announcements import Announcement
from samedeal_server.store.chained_logs import BLOCK_S
from samedeal_server.store.challenge_logs import ChallengeLogs
from samedeal_server.store.clock import MEASURED_EVERY_S
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore
from samedeal_server.work.pool import Jobs
from samedeal_server.work.renderings import Renderings

logger = logging.getLogger(__name__)

RACE_ID = re.compile(r"[a-z0-9-]{1,64}")
ENTRY_TOKENS, LOAD_TOKENS = 1, 5
"""The request tokens for joining or watching a race, and besides for one that is not in memory."""
FOLLOW_EVERY_S = 0.02
"""Interval between reads of the logs while this process writes to them (s)."""
REST_PER_RACE_S, MAX_REST_S = 0.0002, 1.0
"""Pause after each of these reads for each race here, and its maximum (s). A read takes about 3 µs per race, here and
in the store. With 10,000 racers on two workers, the pause saves 30 µs per move, and 95 µs in the store."""
SWEEP_EVERY_S = 2
UNREADABLE_RETRY_MS = 60_000
START_TRIES = 5
"""How many times the server tries to reach the store at startup; each try takes up to two seconds."""


class Registry:
    """Creates and finds races, follows their logs, and handles overdue ones."""

    def __init__(
        self,
        store: RaceStore,
        master_key: bytes,
        requests: RequestLimit | None = None,
        *,
        away_s: float = AWAY_S,
        ready_s: float = 0.0,
        open_races: int = 0,
    ) -> None:
        """`away_s` is how long a seat is held before the countdown for a player who is disconnected, and `ready_s` for
        one who is not ready when enough others are; 0 for no limit.

        `open_races` is the maximum number of live races in the store; 0 for no limit. `requests` is the limit
        that ``take`` takes tokens from.
        """
        self._store, self._requests = store, requests
        self.archive, self.live, self.clock = store.archive, store.live, store.clock
        self.deal_finder, self.renderings = DealFinder(), Renderings()
        self.clubs = ClubLogs(store)
        self.challenges = ChallengeLogs(store, master_key, self.clubs)
        self.fields = Fields(store.archive.fields)
        self.opener = RaceOpener(store, self.clubs, master_key, open_races)
        self._services = Services(
            store,
            self.deal_finder,
            GhostLoader(store.archive, self.fields, self.renderings, store.clock),
            self.challenges,
            bot_jobs=Jobs(MAX_MOVES, MAX_MOVES, "Too many bots are choosing their moves.", queue="bots"),
            away_ms=round(1000 * away_s),
            ready_ms=round(1000 * ready_s),
        )
        self._rooms: dict[str, Room] = {}
        self._attendance = Attendance(self._rooms, store.announcements, store.clock)
        self.rematch_lobbies = RematchLobbies(self._rooms, self.room, self._attendance, store)
        self._loader = RaceLoader(store, self.opener, self.renderings, self.rematch_lobbies)
        self._loading: dict[tuple[str, str], asyncio.Task[None]] = {}  # by race and client
        self._tasks: list[asyncio.Task[None]] = []
        self._dropped: list[Room] = []  # rooms of withdrawn replays, which the next sweep closes
        self.erasures = 0
        """How many players have been erased, for caches of results."""
        self._stepped_ms = 0  # the clock's at the last sweep
        self._idle = set[str]()  # rooms that were idle at the start of the last sweep
        self.draining = asyncio.Event()
        """Set once this server is about to stop."""

    def drain(self) -> None:
        """Refuse new connections and races from now on, because this server is about to stop. Races continue."""
        self.draining.set()

    def check_open(self) -> None:
        """Raise Refused("draining") while the server is draining."""
        if self.draining.is_set():
            raise Refused("draining")

    async def start(self) -> None:
        """Start the background loops. Raises Refused if the store cannot be reached."""
        for tries_left in reversed(range(START_TRIES)):
            try:
                await self.clock.measure()
                await self.archive.signing_keys.publish(self.clock.now())
                break
            except Refused:
                if not tries_left:
                    raise
                await asyncio.sleep(SWEEP_EVERY_S / 10)
        loops = (
            supervised("following the logs", self._follow, 0.0),
            supervised("following the announcements", self._follow_announcements, 0.0),
            supervised("posting announcements", self._store.announcements.post_queued, 0.0),
            supervised("counting who attends", self._attendance.update, COUNT_EVERY_S),
            supervised("looking at rematches", self.rematch_lobbies.update, LOOK_AT_REMATCHES_EVERY_S),
            supervised("sweeping overdue races", self._sweep, SWEEP_EVERY_S),
            supervised("sweeping challenges", self.challenges.sweep, SWEEP_EVERY_S),
            supervised("measuring the clock", self.clock.measure, MEASURED_EVERY_S),
        )
        self._tasks = [asyncio.get_running_loop().create_task(loop) for loop in loops]

    async def stop(self) -> None:
        """Stop the loops, and close all rooms after the writes in progress."""
        await cancelled(self._tasks)
        await asyncio.gather(*(room.close() for room in (*self._rooms.values(), *self._dropped)))
        await self.deal_finder.stop()
        await self.renderings.stop()
        await self._services.bot_jobs.stop()

    async def create(
        self,
        game: type[Game],
        variant: dict[str, str | bool],
        seed: str | None,
        options: Options,
        *,
        daily: bool = False,
        ghosts: tuple[str, ...] = (),
        owners: Mapping[str, int] | None = None,
        host: Guest | None = None,
        club: tuple[str, str] | None = None,
    ) -> Room:
        """Open a race, on the game's deal of today if `daily`. `ghosts` are finished races on the same open deal.

        The `host` can start it and remove players. `owners` maps the names under which live races are counted to the
        limit of each; `club` as for ``RaceOpener.claim``. Raises Refused("bad-request") for an unknown variant or seed,
        Refused("too-many") at a limit, Refused("draining").
        """
        while True:
            header = await self.opener.new_header(game, variant, seed, options, daily=daily, ghosts=ghosts)
            header = await self.claim(header, owners=owners, club=club)
            if room := await self.open(header, host):
                return room

    async def claim(self, header: Header, **arguments: Any) -> Header:
        """Prepare the opening of a race, which may then fail. Arguments, result and errors as ``RaceOpener.claim``."""
        self.check_open()
        return await self.opener.claim(header, **arguments)

    async def open(self, header: Header, host: Guest | None = None, *, replaces: str | None = None) -> Room | None:
        """Open the race that was claimed with this header, in place of another one if it `replaces` one.

        Return None if its id is taken. Safe to repeat.
        """
        if (opened := await self.opener.open(header, host, replaces)) is None:
            return None
        logger.info("opened a race of %s", header.game, extra=about(race=header.race))
        state = opened._replace(rejoining=await self.rematch_lobbies.rejoining(header, replaces))
        if header.race not in self._rooms:  # a client may have found it in a list and joined already
            self._rooms[header.race] = Room(state, self._services)
        return self._rooms[header.race]

    async def discard(self, header: Header) -> bool:
        """Delete a race, unless somebody has joined it. Return whether it is gone."""
        if is_empty := await self._store.log.delete_empty(header.race):
            await self._drop(header.race)
            await self.clubs.cancel(header)
            await self.live.remove_from_deal(header)
            await self._forget(header.race)
        return is_empty

    def wake(self, race_id: str) -> None:
        """Let a race's room, if it has one here, check whether anything is due."""
        if room := self._rooms.get(race_id):
            room.wake()

    def react(self, room: Room, reaction: Reaction) -> None:
        """Pass a racer's reaction on to everybody who has the race open, in all processes, without waiting for them.

        Raises Refused("too-many").
        """
        now = self.clock.now()
        room.broadcast.check_reaction(reaction.seat, now)
        room.broadcast.publish_reaction(reaction, now, now)
        self._store.announcements.post_soon(Announcement(reaction.race, reaction=reaction, sent_at=now))

    async def room(self, race_id: str, client: str = "", tokens: int = 0) -> Room:
        """Return the room of a race, live or finished. If it is not in memory, the `client` pays for loading it.

        `client` is the network or address of the requesting client, or empty, and `tokens` are the request tokens that
        it has not paid yet. Raises Refused("not-found"), Refused("too-many").
        """
        key = race_id, client  # clients do not wait for each other's delays or queues
        while (room := self._rooms.get(race_id)) is None:  # again if it has been dropped while this task woke up
            if not RACE_ID.fullmatch(race_id):
                raise Refused("not-found", "This race was not found.")
            if key not in self._loading:
                loading = asyncio.get_running_loop().create_task(self._load(race_id, client, self.take(client, tokens)))
                self._loading[key] = loading
                loading.add_done_callback(lambda _: self._loading.pop(key, None))
            await asyncio.shield(self._loading[key])
        return room

    async def enter(self, race_id: str, client: str) -> None:
        """Prepare the room of a race for a client that pays for joining or watching it. Raises as ``room``."""
        await asyncio.sleep(self.take(client, ENTRY_TOKENS))
        await self.room(race_id, client, LOAD_TOKENS)

    def take(self, client: str, tokens: float) -> float:
        """Take request tokens from a client, if there is one, for loading what is not in memory. Return the delay (s).

        Raises Refused("too-many").
        """
        return self._requests.take(client, "", tokens) if self._requests and client and tokens else 0.0

    async def summary(self, race_id: str) -> Listed | RaceSummary:
        """Return a race as lists show it, live or finished, if possible without opening a room. Raises as ``room``."""
        if race_id in self._rooms:
            return Listed.of(self._rooms[race_id].race)
        if RACE_ID.fullmatch(race_id):
            summary = await self.archive.summary(race_id) or await self.live.summary(race_id)
            if summary:
                return summary
        return Listed.of((await self.room(race_id)).race)

    async def host(self, race_id: str) -> Guest | None:
        """Return the host of a live race, if it has one, if possible without opening a room."""
        if race_id in self._rooms:
            return self._rooms[race_id].host
        return await self._store.log.field(race_id, "host", Guest)

    def forget_player(self, player: str) -> None:
        """Drop everything in memory that may show the name of a player whose replays were withdrawn."""
        self.erasures += 1
        self.fields.clear()
        self.renderings.clear()
        for race_id, room in [*self._rooms.items()]:
            if room.is_archived and any(seat.player == player for seat in room.race.seats):
                self._dropped.append(self._rooms.pop(race_id))
            else:
                room.forget_player(player)

    def races(self) -> Iterator[Race]:
        """Return every race that has a room here."""
        return (room.race for room in self._rooms.values())

    async def raced(self, game: type[Game], seed: str) -> bool:
        """Return whether a live race is on this open deal, whether it has started or not."""
        return await self.live.raced(game.slug, seed)

    async def check_public(self, game: type[Game], seed: str) -> None:
        """Raise Refused("deal-sealed") while a race on a deal is live, so that no answer can help its racers."""
        if await self.raced(game, seed):
            raise Refused("deal-sealed", "A race on this deal is open or running. Try again when that race is over.")

    async def _load(self, race_id: str, client: str, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        erasures = -1
        while erasures != self.erasures:  # what was read before a player was erased may show their name
            erasures = self.erasures
            if (archived := await self._loader.finished(race_id, client)) is None and client:
                await self.room(race_id)  # the log of a live race is read once for all clients
                return
            if race_id in self._rooms:  # another client has loaded it meanwhile
                return
            loaded = archived() if archived else await self._loader.live(race_id)
        if race_id not in self._rooms:  # it may have been created meanwhile
            self._rooms[race_id] = Room(loaded, self._services)

    async def _follow(self) -> None:
        """Read new entries that other processes have written, once."""
        try:
            writing = any(room.is_writing for room in self._rooms.values())
            if writing and not self._followed():
                await asyncio.sleep(FOLLOW_EVERY_S)
                return
            block_s = FOLLOW_EVERY_S if writing else BLOCK_S  # rooms that are writing must not wait
            logs, has_news = await self._store.log.follow(self._followed, block_s), False
            for race_id, entries in logs.items():
                if entries is None:
                    logger.error("the log has an entry that this version cannot read", extra=about(race=race_id))
                    await self._drop(race_id)
                elif room := self._rooms.get(race_id):
                    has_news |= room.follow(entries)
            wrote_all = logs and not has_news  # and this process is likely to write more
            rest_s = min(REST_PER_RACE_S * len(self._rooms), MAX_REST_S)
            await asyncio.sleep(max(FOLLOW_EVERY_S, rest_s) if wrote_all else rest_s)
        except Refused:  # the store is unavailable, which the sweep logs
            await asyncio.sleep(SWEEP_EVERY_S / 10)
        except Exception:
            await asyncio.sleep(SWEEP_EVERY_S)
            raise

    async def _follow_announcements(self) -> None:
        """Pass on what other processes announce, once."""
        try:
            for announcement in await self._store.announcements.follow():
                self._attendance.receive(announcement)
                if room := self._rooms.get(announcement.race):
                    if announcement.next:
                        room.announce(announcement.next)
                    if announcement.reaction:
                        room.broadcast.publish_reaction(announcement.reaction, announcement.sent_at, self.clock.now())
        except Refused:  # the store is unavailable, which the sweep logs
            await asyncio.sleep(SWEEP_EVERY_S / 10)
        except Exception:
            await asyncio.sleep(SWEEP_EVERY_S)
            raise

    def _followed(self) -> dict[str, int]:
        """Return the live races to follow, each with the number of its last entry here."""
        return {
            race_id: room.race.n for race_id, room in self._rooms.items() if not (room.race.closed or room.is_writing)
        }

    async def _sweep(self) -> None:
        """Handle overdue races, whichever process opened them, and drop idle rooms."""
        while self._dropped:
            await self._dropped.pop().close()
        if self._stepped_ms != self.clock.stepped_ms:  # rooms record how far the clock is ahead of theirs
            self._stepped_ms = self.clock.stepped_ms
            for room in self._rooms.values():
                room.wake()
        before, self._idle = self._idle, {race_id for race_id, room in self._rooms.items() if room.is_idle}
        for race_id in sorted(before & self._idle):  # two sweeps: listeners take a moment to arrive
            await self._drop_idle(race_id)
        for race_id in await self.live.overdue(self.clock.now() - 1000 * SWEEP_EVERY_S):
            await self._look_after(race_id)

    async def _drop_idle(self, race_id: str) -> None:
        """Drop a room, unless it is in use again or the store does not have the whole race."""
        room = self._rooms.get(race_id)
        if not room or (room.race.n and not await room.is_persisted()):
            return
        if room.is_idle and self._rooms.get(race_id) is room:
            await self._drop(race_id)

    async def _look_after(self, race_id: str) -> None:
        """Do what is due in an overdue race. If that fails, retry it later, so that it does not block others."""
        try:
            room = await self.room(race_id)
            if room.is_archived and await room.is_persisted():
                # The process that archived the race may have died before the steps that follow.
                await self.archive.index(room.race)
                await self.challenges.remove_live(room.race)
            elif not (room.is_abandoned and await self.discard(room.race.header)):
                room.wake()
        except Exception as error:
            code = error.code if isinstance(error, Refused) else "internal"
            if code == "store-unavailable":
                raise
            if code in ("not-found", "withdrawn"):  # also if its opening was interrupted
                logger.info("forgot the race, which is overdue: %s", error, extra=about(race=race_id))
                await self._forget(race_id)
            else:
                logger.error("the race is overdue and cannot be opened: %s", error, extra=about(race=race_id))
                await self.live.set_due(race_id, self.clock.now() + UNREADABLE_RETRY_MS)

    async def _forget(self, race_id: str) -> None:
        """Forget a race that was never started or was withdrawn."""
        await self.challenges.settle_abandoned(race_id)
        await self.live.forget(race_id)

    async def _drop(self, race_id: str) -> None:
        """Close the room of a race, if it has one."""
        if room := self._rooms.pop(race_id, None):
            room.broadcast.drop()
            await room.close()
