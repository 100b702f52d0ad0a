"""The hall: every room of this process, opened when somebody comes or something is due, from the log or the archive."""

import asyncio
import hmac
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from secrets import choice, randbelow, token_hex

from samedeal import seal
from samedeal.catalogue import GAMES
from samedeal.day import Day
from samedeal.due import due_at
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.log import Entry, Header, Options
from samedeal.race import Race, Stage
from samedeal_server.archive import Archive, Ended
from samedeal_server.clock import MEASURED_EVERY_S, Clock
from samedeal_server.dealer import Dealer
from samedeal_server.live_races import Listed, LiveRaces
from samedeal_server.log import BLOCK_S, RaceLog
from samedeal_server.log_lines import about
from samedeal_server.presence import Presence
from samedeal_server.room import Room
from samedeal_server.supervised import cancelled, supervised
from samedeal_server.words import ADJECTIVES, ANIMALS

logger = logging.getLogger(__name__)

RACE_ID = re.compile(r"[a-z0-9-]{1,64}")
FOLLOWED_EVERY_S = 0.02
"""How often the logs are looked at while this process is writing them."""
SWEPT_EVERY_S = 2
UNREADABLE_AGAIN_MS = 60_000
STARTING_TRIES = 5
"""How often a store that was there a moment ago is tried when the server starts; each takes up to two seconds."""


class Hall:
    """Creates races and finds them again."""

    def __init__(
        self,
        log: RaceLog,
        archive: Archive,
        live: LiveRaces,
        clock: Clock,
        master_key: bytes,
        *,
        away_s: float = 30.0,
        open_races: int = 0,
    ) -> None:
        """`away_s` is how long a seat is held before the countdown for a player whose connection has ended.

        `open_races` is the most races that may be live in the store, 0 for any number.
        """
        self.clock = clock
        self.archive = archive
        self.live = live
        self.dealer = Dealer()
        self._log = log
        self._master_key = master_key
        self._away_ms, self._open_races = round(1000 * away_s), open_races
        self._last_opened_at = 0
        self._rooms: dict[str, Room] = {}
        self._opening: dict[str, asyncio.Task[Room]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._idle = set[str]()  # rooms that were idle when the last sweep began
        self._draining = False

    def drain(self) -> None:
        """Lets nobody new in from now on, because this server is about to stop. Those who are here play on."""
        self._draining = True

    def check_open(self) -> None:
        """Raises Refused("draining") if nobody new is let in."""
        if self._draining:
            raise Refused("draining")

    async def start(self) -> None:
        """Begins to follow the logs and to look after what is due. Raises Refused if the store stays away."""
        for tries_left in reversed(range(STARTING_TRIES)):
            try:
                await self.clock.measure()
                await self.archive.publish_key(self.clock.now())
                break
            except Refused:
                if not tries_left:
                    raise
                await asyncio.sleep(SWEPT_EVERY_S / 10)
        loops = (
            supervised("following the logs", self._follow, 0.0),
            supervised("looking after overdue races", self._sweep, SWEPT_EVERY_S),
            supervised("measuring the clock", self.clock.measure, MEASURED_EVERY_S),
        )
        self._tasks = [asyncio.get_running_loop().create_task(loop) for loop in loops]

    async def stop(self) -> None:
        """Ends it, when what is under way is written."""
        await cancelled(self._tasks)
        await asyncio.gather(*(room.close() for room in self._rooms.values()))
        await self.dealer.stop()

    async def create(
        self,
        game: type[Game],
        variant: dict[str, str | bool],
        seed: str | None,
        options: Options,
        *,
        daily: bool = False,
        owners: Mapping[str, int] | None = None,
    ) -> Room:
        """A new race in its own room, with `daily` one on the game's deal of today.

        `owners` maps the names under which live races are counted to the most races that each may have. Raises
        Refused("bad-request") for an unknown variant or seed, Refused("too-many") at a limit, Refused("draining").
        """
        self.check_open()
        try:
            game.from_seed(seed or "", **variant)
        except ValueError as error:
            raise Refused("bad-request", f"{error}.") from error
        while True:
            race, salt = _new_race_id(unlisted=options.unlisted), token_hex(16)
            opened_at = self._last_opened_at = max(
                self.clock.now(), self._last_opened_at + 1
            )  # lists are in this order
            if daily:
                date, salt = Day.at(opened_at).date, ""
                secret = seal.daily_secret(self._master_key, game.slug, date)
                commitment = seal.daily_commitment(game.slug, date, secret)
            else:
                secret = seal.secret(self._master_key, race, salt)
                commitment = seal.commitment(race, secret)
            header = Header(
                race=race,
                game=game.slug,
                rules=game.rules,
                variant=variant,
                seed=seed,
                daily=daily,
                commitment=commitment,
                salt=salt,
                opened_at=opened_at,
                options=options,
            )
            opened = Race.opened(header, secret)
            if await self.archive.has(race) or await self._log.header(race):
                continue
            due = due_at(opened, seen={}, away_ms=self._away_ms)
            await self.live.claim(race, due, most=self._open_races, owners=owners)  # first: it is always swept
            await self.live.announce(header)
            if await self._log.create(header, opened.digest):
                break
        await self.live.update(opened, due)
        logger.info("a race of %s is open", game.slug, extra=about(race=race))
        if race not in self._rooms:  # whoever asked for the list may have been quicker
            self._rooms[race] = self._room(opened, [])
            self._rooms[race].noted(opened, due)
        return self._rooms[race]

    def address_owner(self, address: str) -> str:
        """The name under which races opened from a client address are counted. The address cannot be read from it."""
        return f"address:{hmac.digest(self._master_key, address.encode(), 'sha256')[:16].hex()}"

    async def room(self, race: str) -> Room:
        """The room of a race, live or finished. Raises Refused("not-found") for one that is not there."""
        if race in self._rooms:
            return self._rooms[race]
        if not RACE_ID.fullmatch(race):
            raise Refused("not-found", "There is no such race.")
        if race not in self._opening:
            opening = self._opening[race] = asyncio.get_running_loop().create_task(self._open(race))
            opening.add_done_callback(lambda _: self._opening.pop(race, None))
        return await asyncio.shield(self._opening[race])

    async def summary(self, race: str) -> Listed | Ended:
        """What lists show of a race, live or finished, without opening a room for it. Raises as ``room``."""
        if race in self._rooms:
            return Listed.of(self._rooms[race].race)
        if RACE_ID.fullmatch(race):
            found = await self.archive.summary(race) or await self.live.summary(race)
            if found:
                return found
        return Listed.of((await self.room(race)).race)

    def stages(self) -> Iterator[Stage]:
        """The stage of every race that has a room here."""
        return (room.race.stage for room in self._rooms.values())

    async def raced(self, game: type[Game], seed: str) -> bool:
        """Whether a live race is on this open deal: it runs, or has yet to start."""
        races = await self.live.races_on(game.slug, seed)
        return any([not await self.archive.has(race) for race in races])

    async def _open(self, race: str) -> Room:
        header: Header | None
        entries: Sequence[Entry]
        # What is kept is over, even where the store has lost the end of its log.
        if (replay := await self.archive.replay(race)) is not None:
            header, entries, secret, kept = replay.header, replay.entries, replay.secret, True
        elif (header := await self._log.header(race)) is not None:
            entries, kept = await self._log.read(race), False
            secret = self._secret(header)
        else:
            raise Refused("not-found", "There is no such race.")
        # In a thread: a long log takes seconds to fold, and others play meanwhile.
        found = await asyncio.to_thread(lambda: Race.opened(header, secret).after_all(entries))
        if race not in self._rooms:  # whoever created it may have been quicker
            self._rooms[race] = self._room(found, entries, kept=kept)
        return self._rooms[race]

    def _room(self, race: Race, entries: Sequence[Entry], *, kept: bool = False) -> Room:
        presence = Presence(self.live, self.clock, self._away_ms)
        return Room(race, entries, self._log, self.archive, self.live, self.clock, self.dealer, presence, kept=kept)

    def _secret(self, header: Header) -> bytes:
        if header.daily:
            return seal.daily_secret(self._master_key, header.game, header.date)
        return seal.secret(self._master_key, header.race, header.salt)

    # What goes on in the background.

    async def _follow(self) -> None:
        """Looks once for what other processes have written."""
        try:
            writing = any(room.writing for room in self._rooms.values())
            if writing and not self._followed():
                await asyncio.sleep(FOLLOWED_EVERY_S)
                return
            patience_s = FOLLOWED_EVERY_S if writing else BLOCK_S  # those that are left out want to be looked at
            found, news = await self._log.follow(self._followed, patience_s), False
            for race, entries in found.items():
                if entries is None:
                    logger.error("its log has an entry that cannot be read here", extra=about(race=race))
                    await self._drop(race)
                elif room := self._rooms.get(race):
                    news |= room.follow(entries)
            if found and not news:  # all of it was written here, and more of that is to come
                await asyncio.sleep(FOLLOWED_EVERY_S)
        except Refused:  # the store is away, and the sweep says so
            await asyncio.sleep(SWEPT_EVERY_S / 10)
        except Exception:
            await asyncio.sleep(SWEPT_EVERY_S)
            raise

    def _followed(self) -> dict[str, int]:
        """The live races that may have news from elsewhere, each with the number of its last entry here."""
        return {name: room.race.n for name, room in self._rooms.items() if not (room.race.closed or room.writing)}

    async def _sweep(self) -> None:
        """Opens the rooms of races that are overdue, whichever process had them; forgets rooms that nobody needs."""
        before, self._idle = self._idle, {name for name, room in self._rooms.items() if room.idle}
        for name in sorted(before & self._idle):  # twice in a row: a new listener needs a moment to arrive
            await self._forget(name)
        for race in await self.live.overdue(self.clock.now() - 1000 * SWEPT_EVERY_S):
            await self._look_after(race)

    async def _forget(self, race: str) -> None:
        """Forgets a room that nobody needs: not before the store has, though it may have gone back, what it knows."""
        room = self._rooms.get(race)
        if room and (not room.race.n or await room.secured()) and room.idle and self._rooms.get(race) is room:
            del self._rooms[race]
            await room.close()

    async def _look_after(self, race: str) -> None:
        """Has an overdue race do what is due. One that fails is tried again later: it must not stop the others."""
        try:
            room = await self.room(race)
            if room.kept and await room.secured():
                await room.finish_indexing()
            elif room.abandoned and await self._log.delete_empty(race):
                await self._drop(race)
                await self.live.retract(room.race.header)
                await self.live.forget(race)
            else:
                room.remind()
        except Exception as error:
            code = error.code if isinstance(error, Refused) else "internal"
            if code == "store-unavailable":
                raise
            logger.error("it is overdue and cannot be opened: %s", error, extra=about(race=race))
            if code == "not-found":
                await self.live.forget(race)
            else:
                await self.live.due(race, self.clock.now() + UNREADABLE_AGAIN_MS)

    async def _drop(self, race: str) -> None:
        """Closes the room of a race."""
        if room := self._rooms.pop(race, None):
            await room.close()


def _new_race_id(*, unlisted: bool) -> str:
    """A name that is easy to say. That of an unlisted race has 60 random bits more, since knowing it is the way in."""
    name = f"{choice(ADJECTIVES)}-{choice(ANIMALS)}-{1000 + randbelow(9000)}"
    return f"{name}-{token_hex(8)[:15]}" if unlisted else name


def checked_game(slug: str) -> type[Game]:
    """The game of a slug. Raises Refused("not-found")."""
    if slug not in GAMES:
        raise Refused("not-found", f"There is no game {slug!r}; there are {', '.join(sorted(GAMES))}.")
    return GAMES[slug]
