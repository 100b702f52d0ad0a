"""Challenges in the store: their logs, when each is due, who opened them, and the list of those that are open.

A heat is opened in the log before it is dealt, and finished or cancelled there before it is removed from the live
races. At the reveal, heats that a dead process left behind are settled.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from samedeal import commitments
from samedeal.errors import Refused
from samedeal.race.challenge import (
    AnyChallengeEvent,
    Cancelled,
    Challenge,
    ChallengeEntry,
    ChallengeHeader,
    Finished,
    Revealed,
)
from samedeal.race.race import Race
from samedeal.scores.field import Field
from samedeal_server.net.limits import too_many
from samedeal_server.net.logs import about
from samedeal_server.store import stored_replays
from samedeal_server.store.chained_logs import ChainedLogs
from samedeal_server.store.club_logs import ClubLogs, places_of
from samedeal_server.store.connection import texts
from samedeal_server.store.field_results import first_key
from samedeal_server.store.folded_logs import FoldedLogs, Known
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore

logger = logging.getLogger(__name__)

DUE: Final = "challenges:due"
LISTED: Final = "challenges:listed"
MAX_OPEN: Final = 20
"""How many challenges a guest can have open at a time."""
MAX_OPEN_PER_ADDRESS: Final = 5 * MAX_OPEN
KEPT_S: Final = 60 * 86_400
"""How long the open challenges of an address are counted, longer than any is open (s)."""
MAX_HEATS: Final = 200
MAX_HEATS_PER_ADDRESS: Final = 20 * MAX_HEATS
"""How many heats a guest or an address can open in a challenge."""
RETRY_MS: Final = 10_000
"""Delay before retrying to end a challenge (ms)."""
LATE_MS: Final = 86_400_000
"""How long a heat that cannot be read, and so cannot end, delays the reveal (ms)."""
SEAT_MS: Final = 3_600_000
"""How long after the reveal the seats of players are remembered (ms)."""


class _Logs(ChainedLogs[ChallengeEntry]):
    kind, entry_type = "challenge", ChallengeEntry


_Known = Known[Challenge, ChallengeEntry]


class ChallengeLogs(FoldedLogs[Challenge, ChallengeEntry, _Known]):
    """The challenges of a server. All methods raise Refused("store-unavailable")."""

    not_found, header_type = "This challenge was not found.", ChallengeHeader

    def __init__(self, races: RaceStore, master_key: bytes, clubs: ClubLogs) -> None:
        super().__init__(_Logs(races.log.commits), races.clock)
        self._races, self._hidden, self.clubs = races, races.archive.fields.hidden, clubs
        self._archive, self._live, self._master_key = races.archive, races.live, master_key

    def opened(self, header: ChallengeHeader) -> Challenge:
        """Return a challenge that this server opened, before its first entry."""
        return Challenge.opened(header, commitments.secret(self._master_key, header.challenge, header.salt))

    def _first(self, header: ChallengeHeader) -> _Known:
        return _Known(self.opened(header), [], asyncio.Lock())

    async def create(self, header: ChallengeHeader, host: Guest) -> bool:
        """Create the log of a challenge, which is deleted if it stays empty, and return whether its id was free."""
        challenge = self.opened(header)
        await self._store.retry("ZADD", DUE, "NX", challenge.due_at(), challenge.id)
        return await self._logs.create(header.challenge, header, challenge.digest, host=host)

    async def claim(self, header: ChallengeHeader, owners: Mapping[str, int]) -> None:
        """Count an open challenge for its owners, the same as those of a race. Safe to repeat.

        Raises Refused("too-many") if one of them has too many, unless the limit of open races is lifted as well.
        """
        now = self._clock.now()
        for owner, limit in owners.items():
            key, most = f"challenges:of:{owner}", MAX_OPEN if owner.startswith("guest:") else MAX_OPEN_PER_ADDRESS
            is_full = limit and int(await self._store.ask("ZCOUNT", key, now, "+inf")) >= most
            if is_full and await self._store.ask("ZSCORE", key, header.challenge) is None:
                raise too_many("open_challenges", f"You have {most} open challenges. Wait until one has ended.")
        keys = [f"challenges:of:{owner}" for owner in owners]
        await self._store.retry_all(*(("ZADD", key, header.until, header.challenge) for key in keys))
        for key in (key for key in keys if not key.startswith("challenges:of:guest:")):  # those serve erasing, too
            await self._store.retry_all(("ZREMRANGEBYSCORE", key, "-inf", now), ("EXPIRE", key, KEPT_S))

    async def opening(self, challenge_id: str) -> Challenge:
        """Return a challenge, even while it is being opened. Raises Refused("not-found")."""
        return (await self._read(challenge_id)).state

    async def count_heat(self, header: ChallengeHeader, owners: Mapping[str, int]) -> None:
        """Count a heat that is about to be opened for its owners, the same as those of a race.

        Raises Refused("too-many"): nobody can fill the log of a challenge alone.
        """
        for owner, limit in owners.items():
            most = MAX_HEATS if owner.startswith("guest:") else MAX_HEATS_PER_ADDRESS
            opened = await self._store.ask("HINCRBY", first_key(header.commitment), owner, 1)
            if limit and int(opened) > most:
                raise too_many("heats", f"You have opened {most} races in this challenge, which is the limit.")

    async def get(self, challenge_id: str) -> Challenge:
        """Return a challenge whose opening is complete, as it is now. Raises Refused("not-found")."""
        challenge = (await self._read(challenge_id)).state
        if challenge.nonce is None:
            raise Refused("not-found", self.not_found)
        return challenge

    async def entries(self, challenge_id: str) -> tuple[ChallengeEntry, ...]:
        """Return the log of a challenge. Raises Refused("not-found")."""
        return tuple((await self._read(challenge_id)).entries)

    async def host(self, challenge_id: str) -> Guest | None:
        """Return the guest who opened a challenge, or None if that guest was erased."""
        host = await self._logs.field(challenge_id, "host", Guest)
        return None if host and await self._archive.withdrawals.erased_among([host.player]) else host

    async def settle(self, race_id: str, digest: str | None, ended_at: int = 0) -> None:
        """Log the end of a heat: the last digest of its log, or None if it was cancelled. Safe to repeat.

        Does nothing for a race that is not an open heat.
        """
        challenge_id, _, number = race_id.rpartition("-")
        heat = int(number) if number.isdecimal() else 0

        def end(challenge: Challenge) -> AnyChallengeEvent | None:
            if heat not in challenge.heats:
                return None
            return Cancelled(heat=heat) if digest is None else Finished(heat=heat, digest=digest)

        try:
            await self.append(challenge_id, end, ended_at)
        except Refused as refused:
            if refused.code != "not-found":
                raise

    async def remove_live(self, race: Race) -> None:
        """Log the end of an archived race in its challenge or club, and remove everything about it as a live race."""
        digest = race.digest if race.stage == "over" else None
        if race.header.heat:
            await self.settle(race.id, digest, race.at)
        if race.header.club:
            await self.clubs.settle(race.header.club.club, race.id, digest, places_of(race), race.at)
        await self._races.remove_live(race)

    async def settle_abandoned(self, race_id: str) -> None:
        """Log the end of a heat that no process runs any more."""
        data = await self._archive.data(race_id)
        await self.settle(race_id, None if data is None else await asyncio.to_thread(stored_replays.dealt_digest, data))

    async def listed(self, limit: int) -> list[tuple[ChallengeHeader, Guest | None]]:
        """Return the listed challenges that are open, earliest deadline first, with their hosts."""
        found = list[tuple[ChallengeHeader, Guest | None]]()
        words = LISTED, self._clock.now(), "+inf", "LIMIT", 0, limit
        for challenge_id in texts(await self._store.ask("ZRANGEBYSCORE", *words)):
            if challenge_id in self._hidden:
                continue
            if header := await self._logs.field(challenge_id, "header", ChallengeHeader):
                found.append((header, await self.host(challenge_id)))
        return found

    async def seat(self, race: Race, player: str) -> str | None:
        """Return the heat on the deal of `race` in which a player last took a seat."""
        found: bytes | None = await self._store.ask("GET", _seat_key(race, player))
        return found.decode() if found else None

    async def take_seat(self, race: Race, player: str) -> str | None:
        """Make a heat the one that ``seat`` returns, and return the previous one."""
        words = _seat_key(race, player), race.id, "PXAT", race.header.reveals_at + SEAT_MS, "GET"
        found: bytes | None = await self._store.ask("SET", *words)
        return found.decode() if found else None

    async def first_races(self, challenge: Challenge, player: str) -> list[str | None]:
        """Return for each deal the first heat in which a player was dealt cards, or None."""
        fields = [f"{number}:{player}" for number in range(1, len(challenge.header.deals) + 1)]
        found: list[bytes | None] = await self._store.ask("HMGET", first_key(challenge.header.commitment), *fields)
        return [race.decode() if race else None for race in found]

    async def sweep(self) -> None:
        """Delete openings that have expired, and reveal the challenges that are over."""
        now = self._clock.now()
        for challenge_id in texts(await self._store.ask("ZRANGEBYSCORE", DUE, "-inf", now, "LIMIT", 0, 10)):
            try:
                await self._end((await self._read(challenge_id)).state)
            except Exception as error:  # it must not block others
                code = error.code if isinstance(error, Refused) else "internal"
                if code == "store-unavailable":
                    raise
                if code == "not-found":
                    await self._store.retry("ZREM", DUE, challenge_id)
                else:
                    logger.error("the challenge cannot end yet: %s", error, extra=about(race=challenge_id))
                    await self._store.retry("ZADD", DUE, now + RETRY_MS, challenge_id)

    async def _end(self, challenge: Challenge) -> None:
        """Do what is due in a challenge."""
        if challenge.revealed or self._clock.now() < challenge.due_at():
            await self._list(challenge)
            return
        if challenge.nonce is None:
            if await self._logs.delete_empty(challenge.id):
                if challenge.header.club:
                    await self.clubs.settle(challenge.header.club.club, challenge.id, None)
                await self._store.retry("ZREM", DUE, challenge.id)
            return
        is_late = self._clock.now() > challenge.header.reveals_at + LATE_MS
        for heat in challenge.heats:
            if is_late or not await self._live.live([f"{challenge.id}-{heat}"]):
                await self.settle_abandoned(f"{challenge.id}-{heat}")
        if (challenge := await self.get(challenge.id)).heats:
            await self._store.retry("ZADD", DUE, self._clock.now() + RETRY_MS, challenge.id)
            return
        finished = [entry.event.heat for entry in await self.entries(challenge.id) if isinstance(entry.event, Finished)]
        await self._archive.add_revealed([f"{challenge.id}-{heat}" for heat in finished])
        revealed = Revealed(secret=challenge.secret.hex())
        await self.append(challenge.id, lambda challenge: None if challenge.revealed else revealed)

    async def _appended(self, before: Challenge, after: Challenge) -> None:
        if (before.nonce, before.revealed) != (after.nonce, after.revealed):
            await self._list(after)

    async def _list(self, challenge: Challenge) -> None:
        """Update the lists with a challenge that was opened or revealed."""
        if not challenge.revealed:
            await self._store.retry("ZADD", DUE, challenge.due_at(), challenge.id)
            if not challenge.header.unlisted:
                await self._store.retry("ZADD", LISTED, challenge.header.until, challenge.id)
            return
        if challenge.header.club:
            await self._settle_in_club(challenge, challenge.header.club.club)
        if (expire_s := self._archive.expire_s) is not None:
            await self._logs.discard(challenge.id, expire_s)
        await self._store.retry("ZREM", LISTED, challenge.id)
        await self._store.retry("ZREM", DUE, challenge.id)

    async def _settle_in_club(self, challenge: Challenge, club: str) -> None:
        """Log the end of a revealed challenge in its club."""
        field = Field(len(challenge.header.deals))
        async for _, race in self._archive.fields.races(challenge.header.commitment):
            if race:
                field.add(race)
        await self.clubs.settle(
            club, challenge.id, challenge.digest, await asyncio.to_thread(field.places), challenge.at
        )


def _seat_key(race: Race, player: str) -> str:
    deal = race.header.heat.deal if race.header.heat else 0
    return f"seat:{{{race.header.commitment}}}:{deal}:{player}"
