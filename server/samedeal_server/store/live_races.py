"""Live races in the store: the index for lists, when each race is due, who opened it, and who is connected."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import DecodeError, Meta, Struct, json
from msgspec.structs import replace

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.race.race import Race, Stage
from samedeal.wire.documents import Listed
from samedeal_server.net.limits import Limit, too_many
from samedeal_server.store import stored_replays
from samedeal_server.store.bans import ending
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.connection import Store, Word, texts
from samedeal_server.store.guest_tokens import Guest

DUE, INDEX, SUMMARIES, BEHIND = "races:due", "races:index", "races:summaries", "races:behind"
LIFETIME_S = 2 * 86_400
"""Expiry of the sets of races of a deal, an address or a guest, and of the set of players removed from a race (s):
longer than any race lasts."""
BATCH = 8
"""How many races of a deal are looked up at once."""
LIVE_STAGES: tuple[Stage, ...] = ("open", "countdown", "running")
ANY = "*"

Seen = Mapping[tuple[int, int], int]
"""When seats were last seen connected, in ms since 1970-01-01 UTC, by seat number and the entry that took the seat."""


class RaceFilter(Struct, frozen=True, forbid_unknown_fields=True):
    """Filters for a list of live races."""

    stage: Stage | None = None
    game: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    before: Annotated[str, Meta(pattern=r"^[0-9]{15}\.[a-z0-9-]{1,64}$(?!\n)")] | None = None
    """Only races after this position in the list: the `next` of the previous page."""


class LiveRaces:
    """The store's data about races that are not over. Every write can be repeated safely.

    All methods raise Refused("store-unavailable").
    """

    def __init__(self, store: Store, hidden: Container[str] = (), closed: Mapping[str, str] | None = None) -> None:
        """`hidden` are races that are not listed, `closed` those that administrators have closed, with the reasons."""
        self._store, self._hidden, self._closed = store, hidden, {} if closed is None else closed
        self._claim = store.script("claim.lua")

    # Due times.

    async def claim(
        self, race_id: str, due_at: int, *, limit: int = 0, owners: Mapping[str, int] | None = None
    ) -> None:
        """Register a race that is about to be opened. Raises Refused("too-many") at a limit.

        The limits hold across processes: ``limit`` races in total, and the given number for each owner; 0 is no limit.
        """
        for owner, owner_limit in (owners or {}).items():
            key = _owner_key(owner)
            if not await self._add(key, owner_limit, due_at, race_id, LIFETIME_S):
                await self._drop_finished(key)
                if not await self._add(key, owner_limit, due_at, race_id, LIFETIME_S):
                    limited: Limit = "open_races_per_guest" if owner.startswith("guest:") else "open_races_per_address"
                    raise too_many(limited, f"You have {owner_limit} open races. Finish or leave one of them first.")
        if not await self._add(DUE, limit, due_at, race_id, 0):
            raise too_many("open_races", f"The server has {limit} open races, its limit. Try again later.")

    async def release(self, header: Header, owners: Iterable[str]) -> None:
        """Forget who opened a race, its owners and its open deal, because another race replaces it."""
        race_id = header.race
        await self._store.retry("HDEL", RaceLog.key(race_id, "head"), "host")
        await self._store.retry_all(*(("ZREM", _owner_key(owner), race_id) for owner in owners))
        await self.remove_from_deal(header)

    async def set_due(self, race_id: str, at: int) -> None:
        """Set when something is due next in a race, whether players are connected or not."""
        await self._store.retry("ZADD", DUE, at, race_id)

    async def behind_ms(self, race_id: str) -> int:
        """Return how far the store's clock is ahead of a race's, because it was set during the race."""
        return int(await self._store.ask("HGET", BEHIND, race_id) or 0)

    async def all(self) -> list[str]:
        """Return all live races."""
        return texts(await self._store.ask("ZRANGE", DUE, 0, -1))

    async def overdue(self, now: int, limit: int = 100) -> list[str]:
        """Return the races in which something was due by ``now``, oldest first."""
        return texts(await self._store.ask("ZRANGEBYSCORE", DUE, "-inf", now, "LIMIT", 0, limit))

    async def live(self, race_ids: Sequence[str]) -> list[str]:
        """Return the races that are live."""
        scores = await self._store.ask("ZMSCORE", DUE, *race_ids) if race_ids else ()
        return [race_id for race_id, score in zip(race_ids, scores, strict=True) if score is not None]

    async def forget(self, race_id: str) -> None:
        """Remove a race that is over or never started. It stays due until everything else is removed."""
        commands: list[tuple[Word, ...]] = [("HDEL", BEHIND, race_id)]
        if summary := await self.summary(race_id):
            members = {member for stage in LIVE_STAGES for member in _members(replace(summary, stage=stage))}
            commands += (("ZREM", INDEX, *sorted(members)), ("HDEL", SUMMARIES, race_id))
        await self._store.retry_all(*commands)
        await self._store.retry("ZREM", DUE, race_id)

    # Open deals.

    async def add_to_deal(self, header: Header) -> None:
        """Register a race under its open deal, if it has one. Call this before the race can be found."""
        if header.seed is not None:
            key = _deal_key(header.game, header.seed)
            await self._store.retry_all(("SADD", key, header.race), ("EXPIRE", key, LIFETIME_S))

    async def remove_from_deal(self, header: Header) -> None:
        """Undo ``add_to_deal``."""
        if header.seed is not None:
            await self._store.retry("SREM", _deal_key(header.game, header.seed), header.race)

    async def raced(self, game: str, seed: str) -> bool:
        """Return whether a live race is on an open deal. Two round trips, however many races are live."""
        cursor = 0
        while True:
            after, members = await self._store.ask("SSCAN", _deal_key(game, seed), cursor, "COUNT", BATCH)
            for first in range(0, len(members), BATCH):  # ended or never opened races stay briefly
                race_ids = texts(members[first : first + BATCH])
                exists = [("EXISTS", stored_replays.key(race_id)) for race_id in race_ids]
                scores, *ended = await self._store.ask_all([("ZMSCORE", DUE, *race_ids), *exists])
                if any(score is not None and not is_over for score, is_over in zip(scores, ended, strict=True)):
                    return True
            if not (cursor := int(after)):
                return False

    # Lists.

    async def update(
        self,
        race: Race,
        due_at: int,
        behind_ms: int | None = None,
        host: Guest | None = None,
        *,
        is_replaced: bool = False,
    ) -> None:
        """Update when a race is due, its summary and, unless it is unlisted, its entries in the index.

        A lobby that everybody has left or that another race replaces is not in the index.

        `behind_ms` is how far the store's clock is ahead of the race's, because it was set during the race; None leaves
        what any process has recorded.
        """
        summary = replace(Listed.of(race), host=host.name if host and race.stage == "open" else None)
        commands: list[tuple[Word, ...]] = [
            ("ZADD", DUE, due_at, race.id),
            ("HSET", SUMMARIES, race.id, json.encode(summary)),
        ]
        if behind_ms is not None:
            commands.append(("HSET", BEHIND, race.id, behind_ms))
        if not race.options.unlisted:
            is_abandoned = race.n > 0 and race.stage == "open" and not race.roster
            members = () if is_abandoned or is_replaced else _members(summary)
            others = [replace(summary, stage=stage) for stage in LIVE_STAGES]
            outdated = {member for other in others for member in _members(other)}.difference(members)
            if members:
                commands.append(("ZADD", INDEX, *(word for member in members for word in (0, member))))
            commands.append(("ZREM", INDEX, *sorted(outdated)))
        await self._store.retry_all(*commands)

    async def summary(self, race_id: str) -> Listed | None:
        """Return the summary of a live race."""
        return _decoded(await self._store.ask("HGET", SUMMARIES, race_id))

    async def summaries(self, race_ids: Sequence[str]) -> list[Listed | None]:
        """Return the summaries of live races."""
        return [_decoded(text) for text in await self._store.ask("HMGET", SUMMARIES, *race_ids)] if race_ids else []

    async def page(self, query: RaceFilter) -> tuple[list[Listed], str | None]:
        """Return the newest listed races, and the ``before`` of the next page. Ids order races opened at once."""
        prefix, races = f"{query.game or ANY}|{query.stage or ANY}|", list[Listed]()
        after = f"({prefix}{query.before}" if query.before else f"[{prefix}\x7f"
        while missing := query.limit - len(races):
            members = texts(
                await self._store.ask("ZRANGE", INDEX, after, f"[{prefix}", "BYLEX", "REV", "LIMIT", 0, missing)
            )
            if not members:
                return races, None
            race_ids = [member.rpartition("|")[2].partition(".")[2] for member in members]
            summaries = await self.summaries(race_ids)
            races += (summary for summary in summaries if summary and self._is_listed(summary.race))
            if stale := [member for member, summary in zip(members, summaries, strict=True) if summary is None]:
                await self._store.retry("ZREM", INDEX, *stale)
            after = f"({members[-1]}"
        return races, after.rpartition("|")[2]

    def _is_listed(self, race_id: str) -> bool:
        return race_id not in self._hidden and race_id not in self._closed

    def check_open(self, race_id: str) -> None:
        """Raise Refused("not-allowed") if an administrator has closed a race."""
        if race_id in self._closed:
            raise Refused("not-allowed", f"An administrator has closed this race{ending(self._closed[race_id])}")

    # Presence.

    async def seen(self, race_id: str) -> Seen:
        """Return when each seat was last seen connected, by any process."""
        fields: Mapping[bytes, bytes] = await self._store.ask("HGETALL", _seen_key(race_id))
        seats = ((*map(int, key.split(b":")), int(at)) for key, at in fields.items())
        return {(number, taken): at for number, taken, at in seats}

    async def mark_seen(self, race_id: str, seen: Seen, expire_s: int) -> None:
        """Record when seats were last seen connected. The record expires ``expire_s`` after its last update."""
        if seen:
            words = [word for (number, taken), at in seen.items() for word in (f"{number}:{taken}", at)]
            key = _seen_key(race_id)
            await self._store.retry_all(("HSET", key, *words), ("EXPIRE", key, expire_s))

    # Removed players.

    async def bar(self, race_id: str, *players: str) -> None:
        """Bar players from taking a seat in a race."""
        if players:
            key = _removed_key(race_id)
            await self._store.retry_all(("SADD", key, *players), ("EXPIRE", key, LIFETIME_S))

    async def barred(self, race_id: str) -> list[str]:
        """Return the players who are barred from taking a seat in a race."""
        return texts(await self._store.ask("SMEMBERS", _removed_key(race_id)))

    async def is_barred(self, race_id: str, player: str) -> bool:
        """Return whether a player is barred from taking a seat in a race."""
        return bool(await self._store.ask("SISMEMBER", _removed_key(race_id), player))

    async def _add(self, key: str, limit: int, due_at: int, race_id: str, expire_s: int) -> bool:
        """Add a race to a sorted set unless the set is full, and return whether the set has the race."""
        return bool(await self._claim.run([key], [limit, due_at, race_id, expire_s]))

    async def _drop_finished(self, key: str) -> None:
        """Remove finished races from the races of an owner. They stay there when they end."""
        race_ids = texts(await self._store.ask("ZRANGE", key, 0, -1))
        if finished := set(race_ids).difference(await self.live(race_ids)):
            await self._store.retry("ZREM", key, *sorted(finished))


def _members(summary: Listed) -> tuple[str, ...]:
    """Return the members of a race in the index, a lexicographic sorted set with a prefix for each kind of list."""
    position = f"{summary.opened_at:015d}.{summary.race}"
    return tuple(f"{game}|{stage}|{position}" for game in (ANY, summary.game) for stage in (ANY, summary.stage))


def _decoded(text: bytes | None) -> Listed | None:
    try:
        return None if text is None else decoder("json", Listed).decode(text)
    except (DecodeError, UnicodeError):
        return None


def _owner_key(owner: str) -> str:
    return f"races:of:{owner}"


def _deal_key(game: str, seed: str) -> str:
    return f"raced:{game}:{seed}"


def _removed_key(race_id: str) -> str:
    return f"removed:{{{race_id}}}"


def _seen_key(race_id: str) -> str:
    return f"seen:{{{race_id}}}"
