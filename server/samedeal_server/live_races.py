"""Live races in the store: the index that lists are served from, when each is due, who opened it, who is present."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import DecodeError, Meta, Struct, json
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.log import Header
from samedeal.race import Race, Stage
from samedeal_server.store import Store, Word

DUE, INDEX, SUMMARIES = "races:due", "races:index", "races:summaries"
LIFETIME_S = 2 * 86_400
"""How long keys about the races of one deal, address or guest stay: longer than any race waits and runs."""
LIVE_STAGES: tuple[Stage, ...] = ("open", "countdown", "running")
ANY = "*"

Seen = Mapping[tuple[int, int], int]
"""When seats were last seen connected, in ms since 1970-01-01 UTC, by seat number and the entry that took the seat."""


class Listed(Struct, frozen=True):
    """A race in a list."""

    race: str
    game: str
    stage: Stage
    racers: int
    """How many have a seat."""
    max_racers: int
    opened_at: int
    sealed: bool
    """Whether the deal follows from the racers' nonces too."""
    daily: bool
    """Whether it is the game's deal of the day on which the race was opened."""

    @classmethod
    def of(cls, race: Race) -> "Listed":
        return cls(
            race=race.id,
            game=race.header.game,
            stage=race.stage,
            racers=len(race.roster),
            max_racers=race.options.max_racers,
            opened_at=race.header.opened_at,
            sealed=race.header.sealed,
            daily=race.header.daily,
        )


class RaceFilter(Struct, frozen=True, forbid_unknown_fields=True):
    """What a list of live races is narrowed to."""

    stage: Stage | None = None
    game: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    before: Annotated[str, Meta(pattern=r"^[0-9]{15}\.[a-z0-9-]{1,64}$(?!\n)")] | None = None
    """Only races that come after this one in the list: the `next` of the page before."""


class LiveRaces:
    """What the store knows about races that are not over. Every write may be repeated.

    All methods raise Refused("store-unavailable").
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claim = store.script("claim.lua")

    # When something is due.

    async def claim(self, race_id: str, due_at: int, *, most: int = 0, owners: Mapping[str, int] | None = None) -> None:
        """Registers a race that is about to be opened, unless a limit is reached. Raises Refused("too-many").

        The limits hold across processes: ``most`` races in all, and for each owner the number given; 0 is any number.
        """
        for owner, its_most in (owners or {}).items():
            key = _owned(owner)
            if not await self._claimed(key, its_most, due_at, race_id, LIFETIME_S):
                await self._drop_finished(key)
                if not await self._claimed(key, its_most, due_at, race_id, LIFETIME_S):
                    raise Refused("too-many", f"You have {its_most} open races. Finish or leave one of them first.")
        if not await self._claimed(DUE, most, due_at, race_id, 0):
            raise Refused("too-many", f"The server has {most} open races, its limit. Try again later.")

    async def due(self, race_id: str, at: int) -> None:
        """Notes when something is due in a race, even if no player is connected."""
        await self._store.insist("ZADD", DUE, at, race_id)

    async def count(self) -> int:
        """The number of live races."""
        return int(await self._store.ask("ZCARD", DUE))

    async def overdue(self, now: int, limit: int = 100) -> list[str]:
        """Races in which something was due by ``now``, the oldest first."""
        return _texts(await self._store.ask("ZRANGEBYSCORE", DUE, "-inf", now, "LIMIT", 0, limit))

    async def live(self, race_ids: Sequence[str]) -> list[str]:
        """Those of the races that are live."""
        scores = await self._store.ask("ZMSCORE", DUE, *race_ids) if race_ids else ()
        return [race_id for race_id, score in zip(race_ids, scores, strict=True) if score is not None]

    async def forget(self, race_id: str) -> None:
        """Removes a race that is over, or never began. It stays due until everything else is removed."""
        if summary := await self.summary(race_id):
            members = {member for stage in LIVE_STAGES for member in _members(replace(summary, stage=stage))}
            await self._store.insist_all(("ZREM", INDEX, *sorted(members)), ("HDEL", SUMMARIES, race_id))
        await self._store.insist("ZREM", DUE, race_id)

    # Open deals.

    async def announce(self, header: Header) -> None:
        """Notes which open deal a race is on, if it is on one. Call it before the race can be found."""
        if header.seed is not None:
            key = _raced(header.game, header.seed)
            await self._store.insist_all(("SADD", key, header.race), ("EXPIRE", key, LIFETIME_S))

    async def retract(self, header: Header) -> None:
        """Undoes ``announce``."""
        if header.seed is not None:
            await self._store.insist("SREM", _raced(header.game, header.seed), header.race)

    async def races_on(self, game: str, seed: str) -> list[str]:
        """The live races on an open deal."""
        return await self.live(_texts(await self._store.ask("SMEMBERS", _raced(game, seed))))

    # Lists.

    async def update(self, race: Race, due_at: int) -> None:
        """Notes when something is due in a race, its summary and, unless it is unlisted, its places in the index."""
        summary = Listed.of(race)
        commands: list[tuple[Word, ...]] = [
            ("ZADD", DUE, due_at, race.id),
            ("HSET", SUMMARIES, race.id, json.encode(summary)),
        ]
        if not race.options.unlisted:
            members = _members(summary)
            others = [replace(summary, stage=stage) for stage in LIVE_STAGES if stage != summary.stage]
            outdated = {member for other in others for member in _members(other)}.difference(members)
            commands.append(("ZADD", INDEX, *(word for member in members for word in (0, member))))
            commands.append(("ZREM", INDEX, *sorted(outdated)))
        await self._store.insist_all(*commands)

    async def summary(self, race_id: str) -> Listed | None:
        """The summary of a live race."""
        return _decoded(await self._store.ask("HGET", SUMMARIES, race_id))

    async def listed(self, wanted: RaceFilter) -> tuple[list[Listed], str | None]:
        """The newest listed races, races of the same millisecond by their ids; and the ``before`` of the next page."""
        prefix, found = f"{wanted.game or ANY}|{wanted.stage or ANY}|", list[Listed]()
        after = f"({prefix}{wanted.before}" if wanted.before else f"[{prefix}\x7f"
        while missing := wanted.limit - len(found):
            members = _texts(
                await self._store.ask("ZRANGE", INDEX, after, f"[{prefix}", "BYLEX", "REV", "LIMIT", 0, missing)
            )
            if not members:
                return found, None
            race_ids = [member.rpartition("|")[2].partition(".")[2] for member in members]
            summaries = [_decoded(text) for text in await self._store.ask("HMGET", SUMMARIES, *race_ids)]
            found += (summary for summary in summaries if summary)
            if stale := [member for member, summary in zip(members, summaries, strict=True) if summary is None]:
                await self._store.insist("ZREM", INDEX, *stale)
            after = f"({members[-1]}"
        return found, after.rpartition("|")[2]

    # Presence.

    async def seen(self, race_id: str) -> Seen:
        """When each seat was last seen connected, by any process."""
        fields: Mapping[bytes, bytes] = await self._store.ask("HGETALL", _seen(race_id))
        seats = ((*map(int, key.split(b":")), int(at)) for key, at in fields.items())
        return {(number, taken): at for number, taken, at in seats}

    async def mark_seen(self, race_id: str, seen: Seen, expire_s: int) -> None:
        """Notes when seats were last seen connected. It expires ``expire_s`` after the last note about the race."""
        if seen:
            words = [word for (number, taken), at in seen.items() for word in (f"{number}:{taken}", at)]
            await self._store.insist_all(("HSET", _seen(race_id), *words), ("EXPIRE", _seen(race_id), expire_s))

    async def _claimed(self, key: str, most: int, score: int, race_id: str, expire_s: int) -> bool:
        return bool(await self._claim.insist([key], [most, score, race_id, expire_s]))

    async def _drop_finished(self, key: str) -> None:
        """Removes races that are over from the races of an owner: that they end is not noted there."""
        race_ids = _texts(await self._store.ask("ZRANGE", key, 0, -1))
        if finished := set(race_ids).difference(await self.live(race_ids)):
            await self._store.insist("ZREM", key, *sorted(finished))


def _members(summary: Listed) -> tuple[str, ...]:
    """The places of a race in the index: a sorted set in alphabetical order, with one prefix for each kind of list."""
    place = f"{summary.opened_at:015d}.{summary.race}"
    return tuple(f"{game}|{stage}|{place}" for game in (ANY, summary.game) for stage in (ANY, summary.stage))


def _decoded(text: bytes | None) -> Listed | None:
    try:
        return None if text is None else json.decode(text, type=Listed)
    except (DecodeError, UnicodeError):
        return None


def _owned(owner: str) -> str:
    return f"races:of:{owner}"


def _raced(game: str, seed: str) -> str:
    return f"raced:{game}:{seed}"


def _seen(race_id: str) -> str:
    return f"seen:{{{race_id}}}"


def _texts(members: Sequence[bytes]) -> list[str]:
    return [member.decode() for member in members]
