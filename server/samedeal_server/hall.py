"""The hall: every room of this process, opened when somebody comes or something is due, from the log or the archive."""

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from secrets import choice, randbelow, token_hex

from samedeal import seal
from samedeal.catalogue import GAMES
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.log import AnyEvent, Entry, Header, Left, Options
from samedeal.race import Race, Stage
from samedeal_server.archive import Archive
from samedeal_server.clock import MEASURED_EVERY_S, Clock
from samedeal_server.dealer import Dealer
from samedeal_server.log import BLOCK_S, RaceLog
from samedeal_server.log_lines import about
from samedeal_server.room import Room
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
        self, log: RaceLog, archive: Archive, clock: Clock, master_key: bytes, *, away_s: float = 30.0
    ) -> None:
        """`away_s` is how long a seat is kept before the countdown for one whose connection has ended."""
        self.clock = clock
        self.archive = archive
        self.dealer = Dealer()
        self._log = log
        self._master_key = master_key
        self._away_s = away_s
        self._rooms: dict[str, Room] = {}
        self._opening: dict[str, asyncio.Task[Room]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: set[asyncio.Task[None]] = set()
        self._stopping = False
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
        duties = (self._follow, self._sweep, self._tell_time)
        self._tasks = [asyncio.get_running_loop().create_task(duty()) for duty in duties]

    async def stop(self) -> None:
        """Ends it, when what is under way is written."""
        self._stopping = True  # the store's client now and then swallows a cancellation
        tasks = (*self._tasks, *self._waiting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
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
    ) -> Room:
        """A new race in its own room, with `daily` one on the game's deal of today.

        Raises Refused for a variant or a seed that the game has not, and when the server is about to stop.
        """
        self.check_open()
        try:
            game.from_seed(seed or "", **variant)
        except ValueError as error:
            raise Refused("bad-request", f"{error}.") from error
        while True:
            race, salt = f"{choice(ADJECTIVES)}-{choice(ANIMALS)}-{1000 + randbelow(9000)}", token_hex(16)
            opened_at = self.clock.now()
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
            await self.archive.due(race, opened.called_off_at)  # first: no race is left that nobody looks after
            await self.archive.announce(header)
            if await self._log.create(header, opened.digest):
                break
        await self.archive.opened(header)
        logger.info("a race of %s is open", game.slug, extra=about(race=race))
        if race not in self._rooms:  # whoever asked for the list may have been quicker
            self._rooms[race] = self._room(opened, [])
        return self._rooms[race]

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

    def await_return(self, race: str, seat: int, taken: int) -> None:
        """Gives up a seat whose connection has ended if nobody takes it again in time and the race is still waiting.

        Otherwise one who went away without being ready would keep all others from starting.
        """
        waiting = asyncio.get_running_loop().create_task(self._vacate(race, seat, taken))
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)

    def stages(self) -> Iterator[Stage]:
        """The stage of every race that has a room here."""
        return (room.race.stage for room in self._rooms.values())

    async def listed(self, limit: int) -> Sequence[Race]:
        """The newest live races that may be listed."""
        races = []
        for race in await self.archive.listed(limit):
            try:
                races.append((await self.room(race)).race)
            except Refused as refused:
                if refused.code == "store-unavailable":
                    raise
                if refused.code == "not-found":
                    await self.archive.forget(race)
        return races

    async def raced(self, game: type[Game], seed: str) -> bool:
        """Whether a live race is on this open deal: it runs, or is announced and has yet to begin."""
        for race in await self.archive.races_on(game.slug, seed):
            try:
                if not (await self.room(race)).race.closed:
                    return True
            except Refused as refused:
                if refused.code == "store-unavailable":
                    raise
                if refused.code != "not-found":  # it is there, and only cannot be read here
                    return True
        return False

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
        return Room(race, entries, self._log, self.archive, self.clock, self.dealer, kept=kept)

    def _secret(self, header: Header) -> bytes:
        if header.daily:
            return seal.daily_secret(self._master_key, header.game, header.date)
        return seal.secret(self._master_key, header.race, header.salt)

    async def _vacate(self, race: str, number: int, taken: int) -> None:
        await asyncio.sleep(self._away_s)

        def proposal(race: Race) -> list[AnyEvent]:
            seat = race.seats[number - 1]
            return [Left(seat=number)] if race.stage == "open" and not seat.left and seat.taken == taken else []

        with suppress(Refused):
            await (await self.room(race)).submit(proposal)

    # What goes on in the background.

    async def _follow(self) -> None:
        while not self._stopping:
            try:
                writing = any(room.writing for room in self._rooms.values())
                if writing and not self._followed():
                    await asyncio.sleep(FOLLOWED_EVERY_S)
                    continue
                patience_s = FOLLOWED_EVERY_S if writing else BLOCK_S  # those that are left out want to be looked at
                found, news = await self._log.follow(self._followed, patience_s), False
                for race, entries in found.items():
                    if entries is None:
                        await self._drop(race)
                    elif room := self._rooms.get(race):
                        news |= room.follow(entries)
                if found and not news:  # all of it was written here, and more of that is to come
                    await asyncio.sleep(FOLLOWED_EVERY_S)
            except Refused:
                await asyncio.sleep(SWEPT_EVERY_S / 10)
            except Exception:
                logger.exception("following the logs failed")
                await asyncio.sleep(SWEPT_EVERY_S)

    def _followed(self) -> dict[str, int]:
        """The live races that may have news from elsewhere, each with the number of its last entry here."""
        return {name: room.race.n for name, room in self._rooms.items() if not (room.race.closed or room.writing)}

    async def _sweep(self) -> None:
        """Opens the rooms of races that are overdue, whoever had them; forgets rooms that nobody needs."""
        idle: set[str] = set()
        while not self._stopping:
            before, idle = idle, {name for name, room in self._rooms.items() if room.idle}
            try:
                for name in sorted(before & idle):  # twice in a row: whoever is given a room needs a moment to enter it
                    await self._forget(name)
                for race in await self.archive.overdue(self.clock.now() - 1000 * SWEPT_EVERY_S):
                    await self._look_after(race)
            except Refused as refused:
                logger.warning("looking after overdue races: %s", refused.text)
            await asyncio.sleep(SWEPT_EVERY_S)

    async def _forget(self, race: str) -> None:
        """Forgets a room that nobody needs: not before the store has, though it may have gone back, what it knows."""
        room = self._rooms.get(race)
        if room and await room.secured() and room.idle and self._rooms.get(race) is room:
            del self._rooms[race]
            await room.close()

    async def _look_after(self, race: str) -> None:
        """Has an overdue race do what is due. One that cannot be opened is tried later: it must not stop the others.

        One that is kept was noted as live again by a command that came late.
        """
        try:
            room = await self.room(race)
            if room.kept and await room.secured():
                await self.archive.forget(race)
            else:
                room.remind()
        except Refused as refused:
            if refused.code == "store-unavailable":
                raise
            logger.error("it is overdue and cannot be opened: %s", refused.text, extra=about(race=race))
            if refused.code == "not-found":
                await self.archive.forget(race)
            else:
                await self.archive.due(race, self.clock.now() + UNREADABLE_AGAIN_MS)

    async def _drop(self, race: str) -> None:
        """Lets go of a race whose log goes on in a way that this version cannot read."""
        logger.error("its log has an entry that cannot be read here", extra=about(race=race))
        if room := self._rooms.pop(race, None):
            await room.close()

    async def _tell_time(self) -> None:
        while not self._stopping:
            await asyncio.sleep(MEASURED_EVERY_S)
            try:
                await self.clock.measure()
            except Refused as refused:
                logger.warning("measuring the clock: %s", refused.text)


def checked_game(slug: str) -> type[Game]:
    """The game of a slug. Raises Refused("not-found")."""
    if slug not in GAMES:
        raise Refused("not-found", f"There is no game {slug!r}; there are {', '.join(sorted(GAMES))}.")
    return GAMES[slug]
