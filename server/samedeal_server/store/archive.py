"""The archive: finished races as stored replays, the lists that find them, daily results, rematches, signing keys."""

import asyncio
from collections.abc import Collection, Iterable, Sequence, Set
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.race.events import Entry, Header
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from samedeal.wire.documents import RaceSummary
from samedeal_server.net import metrics
from samedeal_server.store import stored_replays
from samedeal_server.store.connection import Store, Word, texts
from samedeal_server.store.field_results import FieldResults
from samedeal_server.store.player_races import PlayerRaces, listing
from samedeal_server.store.signing_keys import SigningKeys
from samedeal_server.store.stored_replays import Summary
from samedeal_server.store.successors import Successors
from samedeal_server.store.withdrawals import Withdrawals

ENDED: Final = "replays"
BATCH: Final = 50
"""How many summaries are read at once. Decoding them takes about 2 ms."""


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """Filters and paging for a list of finished races."""

    at_most_one: ClassVar[tuple[str, ...]] = ("game", "player", "deal")
    """The fields of which a search can have at most one."""
    game: str | None = None
    player: str | None = None
    """A public id."""
    deal: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    before: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """Only races after this one in the list: `next` of the previous page."""


class Archive:
    """Finished races in the store. Every write is idempotent."""

    def __init__(
        self, store: Store, signing_key: bytes, replay_days: int | None = None, hidden: Set[str] = frozenset()
    ) -> None:
        """`signing_key` is private, 32 bytes. `replay_days` is how long replays are kept; None keeps them forever.

        `hidden` are races that are in no list.
        """
        self._hidden = hidden
        self._store = store
        self.expire_s = None if replay_days is None else replay_days * 86_400
        self.signing_keys = SigningKeys(store, signing_key)
        self.fields = FieldResults(store, self.expire_s, hidden)
        self.successors = Successors(store, self.expire_s)
        self.players = PlayerRaces(store, self.expire_s, hidden)
        self.withdrawals = Withdrawals(store, self.fields)

    async def add(self, race: Race, entries: Iterable[Entry]) -> None:
        """Store a closed race as a replay and index it. The race must stay due until this returns."""
        # In a thread: a long race takes a second. No entries follow the closing one, so the race does not change.
        signature = self.signing_keys.sign(race.id, race.digest)
        data = await asyncio.to_thread(stored_replays.encode, race, entries, signature)
        # If another process stored it first, perhaps with another signing key, that replay stays.
        sealed_s = max(0, race.header.reveals_at - race.at) // 1000
        expiry: tuple[Word, ...] = () if self.expire_s is None else ("EX", self.expire_s + sealed_s)
        if await self._store.retry("SET", stored_replays.key(race.id), data, "NX", *expiry):
            metrics.REPLAYS.inc()
        await self.index(race)

    async def index(self, race: Race) -> None:
        """Add a stored race to all its lists unless it was cancelled, and withdraw it if a player has been erased."""
        if await self._withdraw_if_erased(race):
            return
        if race.stage == "over":
            if race.header.is_common:
                await self.fields.add(race)
            if not race.header.is_sealed_heat:
                players = [seat.player for seat in race.roster if seat.run]
                await self._add_to_lists(race.header, race.deal, race.at, players)
        await self._withdraw_if_erased(race)  # a player may have been erased meanwhile

    async def add_revealed(self, race_ids: Sequence[str]) -> None:
        """Add heats of a challenge to all lists, now that its deals are public. Safe to repeat."""
        for start in range(0, len(race_ids), BATCH):
            found = await stored_replays.summaries(self._store, race_ids[start : start + BATCH])
            for summary in found.values():
                if isinstance(summary, Summary) and summary.header.is_sealed_heat:
                    players = [player for player, standing in summary.racers if standing.attempts]
                    listed_at = max(summary.ended_at, summary.header.reveals_at)  # or it may have expired there
                    await self._add_to_lists(summary.header, summary.deal, listed_at, players)

    async def _withdraw_if_erased(self, race: Race) -> bool:
        """Withdraw a stored race if one of its players has been erased, and return whether one has."""
        erased = await self.withdrawals.erased_among(sorted({seat.player for seat in race.seats}))
        if erased:
            if race.stage == "over" and race.header.is_common:
                await self.fields.add(race, without=erased)
            await self.withdrawals.withdraw(race.id)
        return bool(erased)

    async def _add_to_lists(self, header: Header, deal: str | None, ended_at: int, players: Collection[str]) -> None:
        unlisted = header.options.unlisted
        await self.players.add(header.race, ended_at, players, unlisted=unlisted)
        if not unlisted:
            keys = (ENDED, f"{ENDED}:game:{header.game}", f"{ENDED}:deal:{deal}")
            await self._store.retry_all(*listing(keys, header.race, ended_at, self.expire_s))

    async def has(self, race_id: str) -> bool:
        """Return whether a race is stored."""
        return bool(await self._store.ask("EXISTS", stored_replays.key(race_id)))

    async def render_input(self, race_id: str, now: int) -> bytes | None:
        """Return the stored replay of a race for ``stored_replays.render``, or None if it is not stored.

        Raises Refused("replay-sealed") while others can still play its deal.
        """
        data = await self.data(race_id)
        if data is not None and (reveals_at := stored_replays.header(data).reveals_at) > now:
            time = datetime.fromtimestamp(reveals_at / 1000, UTC)
            raise Refused(
                "replay-sealed",
                f"The replay of {race_id} is available from {time:%Y-%m-%d %H:%M} UTC."
                " Until then, others can play the same deal.",
            )
        return data

    async def header_and_summary(self, race_id: str, now: int) -> tuple[Header, RaceSummary]:
        """Return the header and the summary of a finished race whose deal is public.

        Raises Refused("not-found") if it is not stored, and Refused("replay-sealed") like ``render_input``.
        """
        data = await self.render_input(race_id, now)
        summary = stored_replays.summary(data) if data else None
        if summary is None:
            raise Refused("not-found", f"Race {race_id} was not found among the finished races.")
        return summary.header, _listed(race_id, summary)

    async def replay(self, race_id: str) -> Replay | None:
        """Return the replay of a race, even if clients may not see it yet, or None if it is not stored."""
        data = await self.data(race_id)
        return None if data is None else await asyncio.to_thread(stored_replays.replay, data)

    async def summary(self, race_id: str) -> RaceSummary | None:
        """Return a finished race as lists show it, but with its deal even if that is not public, or None if not stored.

        Raises Refused("unsupported-version") if the race cannot be read, Refused("store-unavailable").
        """
        found = (await stored_replays.summaries(self._store, [race_id]))[race_id]
        if isinstance(found, Refused):
            raise found
        return None if found is None else _listed(race_id, found)

    async def search(self, search: Search, now: int) -> list[RaceSummary]:
        """Return finished races, newest first, without deals that are not public yet. Damaged races are skipped.

        Raises Refused("bad-request") for more than one of game, player and deal, Refused("not-found") if `before` is
        not in the list.
        """
        filters = [f"{ENDED}:{by}:{value}" for by in Search.at_most_one if (value := getattr(search, by))]
        if len(filters) > 1:
            raise Refused("bad-request", "Search by only one of game, player and deal.")
        (key,) = filters or [ENDED]
        first = 0
        if search.before is not None:
            rank: int | None = await self._store.ask("ZREVRANK", key, search.before)
            if rank is None:
                raise Refused("not-found", f"No race {search.before!r} is in this list.")
            first = rank + 1
        summaries: list[RaceSummary] = []
        while (missing := search.limit - len(summaries)) > 0:
            race_ids = texts(await self._store.ask("ZREVRANGE", key, first, first + missing - 1))
            found = await stored_replays.summaries(self._store, race_ids)
            if expired := [race_id for race_id, summary in found.items() if summary is None]:
                await self._store.retry("ZREM", key, *expired)
                continue
            visible = (item for item in found.items() if item[0] not in self._hidden)
            summaries += (_listed(race_id, summary) for race_id, summary in visible if isinstance(summary, Summary))
            first += missing
            if len(race_ids) < missing:
                break
        public = [summary if summary.reveals_at <= now else replace(summary, deal=None) for summary in summaries]
        return [summary for summary in public if search.deal in (None, summary.deal)]

    async def data(self, race_id: str) -> bytes | None:
        """Return the stored replay of a race, even if clients may not see it yet, or None if it is not stored."""
        return await stored_replays.data(self._store, race_id)


def _listed(race_id: str, summary: Summary) -> RaceSummary:
    header, standings = summary.header, tuple([standing for _, standing in summary.racers])
    return RaceSummary(race_id, header.game, summary.deal, summary.ended_at, standings, header.reveals_at)
