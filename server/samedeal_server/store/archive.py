"""The archive: finished races as replays, how they are found, and what checks them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.proof.signature import public_key, signed
from samedeal.race.events import Entry
from samedeal.race.race import Race
from samedeal.race.seat import Standing
from samedeal.replays.replay import Replay
from samedeal_server.ops import metrics
from samedeal_server.ops.logging_setup import about
from samedeal_server.store import replay_codec
from samedeal_server.store.connection import Store, Word

logger = logging.getLogger(__name__)

ENDED, KEYS = "replays", "replays:keys"


DAILY_BATCH = 200
"""How many results of a day are read at once."""


class RaceSummary(Struct, frozen=True, omit_defaults=True):
    """A finished race in a list."""

    race: str
    game: str
    deal: str | None
    """None if nothing was dealt, and where it must not be told yet."""
    ended_at: int
    standings: tuple[Standing, ...]
    reveals_at: int = 0
    """Before when a daily deal must not be told."""


class DailyRace(Struct, frozen=True):
    """A finished race on a daily deal, with all that the results of its day follow from."""

    race: str
    unlisted: bool
    deal: str
    started_at: int
    racers: tuple[tuple[str, Standing], ...]
    """The player's public id and the standing of everyone who was dealt to."""


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """What a list of finished races is narrowed to."""

    at_most_one: ClassVar[tuple[str, ...]] = ("game", "player", "deal")
    """The fields of which a search has at most one."""
    game: str | None = None
    player: str | None = None
    """A public id."""
    deal: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    before: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """Only races that stand behind this one in the list: the `next` of the page before."""


class PublicKey(Struct, frozen=True):
    """A key by which everybody can check a signature of this service."""

    key: str
    """In hexadecimal."""
    since: int
    """When a server first began with it, in milliseconds since 1970-01-01 UTC."""
    current: bool
    """Whether this process signs with it."""


class Archive:
    """Lists and replays in the store, each written so that writing it again changes nothing."""

    def __init__(self, store: Store, signing_key: bytes, replay_days: int | None = None) -> None:
        """`signing_key` is private, 32 bytes."""
        self._store = store
        self._signing_key, self._public_key = signing_key, public_key(signing_key)
        self._expiry: tuple[Word, ...] = () if replay_days is None else ("EX", replay_days * 86_400)

    # The keys of signatures.

    async def publish_key(self, now: int) -> None:
        """Notes what this process signs with, before it signs anything, and since when if that is new."""
        await self._store.insist("HSETNX", KEYS, self._public_key, now)

    async def keys(self) -> list[PublicKey]:
        """Every key that a process over this store has begun with, the newest first."""
        noted: dict[bytes, bytes] = await self._store.ask("HGETALL", KEYS)
        keys = (PublicKey(key.decode(), int(since), key.decode() == self._public_key) for key, since in noted.items())
        return sorted(keys, key=lambda key: key.since, reverse=True)

    # Finished races.

    async def keep(self, race: Race, entries: Iterable[Entry]) -> None:
        """Keeps a closed race as its replay and indexes it. The race has to stay due until this has returned."""
        # In a thread: a long race takes a second. Nothing comes behind its closing entry meanwhile.
        data = await asyncio.to_thread(self._packed, race, entries)
        # Another process may have been quicker, and may have another key.
        if await self._store.insist("SET", _replay(race.id), data, "NX", *self._expiry):
            metrics.REPLAYS.inc()
        await self.index(race)

    async def index(self, race: Race) -> None:
        """Adds a kept race to every list that it belongs to, unless it was cancelled."""
        if race.stage == "over" and not race.options.unlisted:
            players = (f"{ENDED}:player:{seat.player}" for seat in race.roster if seat.run)
            for key in (ENDED, f"{ENDED}:game:{race.header.game}", f"{ENDED}:deal:{race.deal}", *players):
                await self._enlist(key, "ZADD", race.at, race.id)
        if race.header.daily and race.stage == "over":
            await self._enlist(_daily(race.header.commitment), "HSET", race.id, replay_codec.press(_daily_race(race)))

    async def has(self, race: str) -> bool:
        return bool(await self._store.ask("EXISTS", _replay(race)))

    async def told(self, race: str, now: int) -> bytes | None:
        """What is kept of a race, for ``packed``, as anybody may have it now, or None.

        Raises Refused("replay-sealed") for a race on a daily deal that must not be told yet.
        """
        data = await self._kept(race)
        if data is not None and (reveals_at := replay_codec.header(data).reveals_at) > now:
            day = datetime.fromtimestamp(reveals_at / 1000, UTC)
            told = f"The replay of {race} can be had from {day:%Y-%m-%d %H:%M} UTC on"
            raise Refused("replay-sealed", f"{told}: until then others may play the same daily deal.")
        return data

    async def replay(self, race: str) -> Replay | None:
        """The replay of a race for the server itself, whether it may be told or not."""
        data = await self._kept(race)
        return None if data is None else await asyncio.to_thread(replay_codec.replay, data)

    async def summary(self, race: str) -> RaceSummary | None:
        """A finished race as lists show it, with its deal whether it may be told or not; None if it is not kept here.

        Raises Refused("unsupported-version") if what is kept cannot be read, Refused("store-unavailable").
        """
        start: bytes = await self._store.ask("GETRANGE", _replay(race), 0, replay_codec.START - 1)
        return await self._summary(race, start) if start else None

    async def daily_count(self, commitment: str) -> int:
        """How many finished races are on the daily deal that the server committed to with ``commitment``."""
        return int(await self._store.ask("HLEN", _daily(commitment)))

    async def daily_races(
        self, commitment: str, known: Collection[str] = ()
    ) -> AsyncIterator[tuple[str, DailyRace | None]]:
        """The finished races on a daily deal except ``known`` ones, by id, in any order; None for a damaged one."""
        races = set(_texts(await self._store.ask("HKEYS", _daily(commitment)))).difference(known)
        ordered = sorted(races)
        for start in range(0, len(ordered), DAILY_BATCH):
            some = ordered[start : start + DAILY_BATCH]
            for race, text in zip(some, await self._store.ask("HMGET", _daily(commitment), *some), strict=True):
                try:
                    yield race, replay_codec.unpress(text or b"", DailyRace)
                except Refused as refused:
                    yield race, None
                    logger.error("the result of a daily deal: %s", refused.text, extra=about(race=race))

    async def search(self, search: Search, now: int) -> list[RaceSummary]:
        """Finished races, the newest first, without the deals that must not be told yet, and without what is damaged.

        Raises Refused("bad-request") for two of game, player and deal at once, Refused("not-found") if the race to go
        on from is not in the list.
        """
        wanted = [f"{ENDED}:{by}:{value}" for by in Search.at_most_one if (value := getattr(search, by))]
        if len(wanted) > 1:
            raise Refused("bad-request", "A search is by game, by player or by deal.")
        (key,) = wanted or [ENDED]
        first = 0
        if search.before is not None:
            rank: int | None = await self._store.ask("ZREVRANK", key, search.before)
            if rank is None:
                raise Refused("not-found", f"No race {search.before!r} is in this list.")
            first = rank + 1
        found: list[RaceSummary] = []
        while (missing := search.limit - len(found)) > 0:
            races = _texts(await self._store.ask("ZREVRANGE", key, first, first + missing - 1))
            starts = dict(zip(races, await self._store.starts([*map(_replay, races)], replay_codec.START), strict=True))
            if expired := [race for race, start in starts.items() if not start]:
                await self._store.insist("ZREM", key, *expired)
                continue
            found += filter(None, await asyncio.gather(*(self._ended(*kept) for kept in starts.items())))
            first += missing
            if len(races) < missing:
                break
        told = [ended if ended.reveals_at <= now else replace(ended, deal=None) for ended in found]
        return [ended for ended in told if search.deal in (None, ended.deal)]

    async def _ended(self, race: str, start: bytes) -> RaceSummary | None:
        """A race in a list, by the first bytes of what is kept of it; None if that cannot be read here."""
        try:
            return await self._summary(race, start)
        except Refused as refused:
            if refused.code == "store-unavailable":
                raise
            return None

    async def _summary(self, race: str, start: bytes) -> RaceSummary | None:
        if replay_codec.plain(start):
            return replay_codec.unpress(await self._store.ask("GET", _ended(race)) or b"", RaceSummary)
        told = replay_codec.summary(start) or replay_codec.summary(await self._kept(race) or b"")
        if told is None:
            return None
        standings = tuple([standing for _, standing in told.racers])
        return RaceSummary(race, told.header.game, told.deal, told.ended_at, standings, told.header.reveals_at)

    def _packed(self, race: Race, entries: Iterable[Entry]) -> bytes:
        signature = signed(self._signing_key, race.id, race.digest)
        return replay_codec.pack(race.header, entries, signature, race.standings())

    async def _kept(self, race: str) -> bytes | None:
        data: bytes | None = await self._store.ask("GET", _replay(race))
        return data

    async def _enlist(self, key: str, command: str, *words: Word) -> None:
        """Adds to what is kept under a key, which lasts as long as its newest race."""
        await self._store.insist(command, key, *words)
        if self._expiry:
            await self._store.insist("EXPIRE", key, self._expiry[1])


def _daily_race(race: Race) -> DailyRace:
    racers = [(race.seat(standing.seat), standing) for standing in race.standings()]
    return DailyRace(
        race=race.id,
        unlisted=race.options.unlisted,
        deal=race.deal or "",
        started_at=race.started_at or 0,
        racers=tuple((seat.player, standing) for seat, standing in racers if seat.run),
    )


def _replay(race: str) -> str:
    return f"replay:{{{race}}}"


def _ended(race: str) -> str:
    """What lists tell of a race that is kept in plain JSON."""
    return f"ended:{{{race}}}"


def _daily(commitment: str) -> str:
    return f"daily:{{{commitment}}}"


def _texts(members: Sequence[bytes]) -> list[str]:
    return [member.decode() for member in members]
