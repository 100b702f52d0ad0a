"""Finished races by player: the lists that find them, and their results."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from typing import Final

from samedeal.scores.results import RaceResult
from samedeal_server.store import stored_replays
from samedeal_server.store.connection import Store, Word, texts
from samedeal_server.store.stored_replays import Summary

LISTED: Final = "replays:player"
UNLISTED: Final = "replays:unlisted"
"""The prefixes of the lists of a player's races. Unlisted races are in no other list."""
PAGE: Final = 1_000
"""How many race ids are read at once."""
BATCH: Final = 50
"""How many results are read at once. Decoding them takes about 2 ms."""


class PlayerRaces:
    """The finished races in which each player was dealt cards."""

    def __init__(self, store: Store, expire_s: int | None = None, hidden: Collection[str] = ()) -> None:
        """`expire_s` is how long replays are kept; None keeps them forever. `hidden` are races that do not count."""
        self._store, self._expire_s, self._hidden = store, expire_s, hidden

    async def add(self, race_id: str, ended_at: int, players: Collection[str], *, unlisted: bool) -> None:
        """Add a race to the lists of its racers. Safe to repeat."""
        keys = [_key(player, unlisted=unlisted) for player in players]
        await self._store.retry_all(*listing(keys, race_id, ended_at, self._expire_s))

    async def common(self, players: Collection[str], now: int, *, unlisted: bool) -> list[str]:
        """Return the ids of the races that all of these players were dealt in, newest first, without expired ones.

        Reads the shortest of their lists, and looks its races up in the others.
        """
        keys = [_key(player, unlisted=unlisted) for player in players]
        lengths = [int(await self._store.ask("ZCARD", key)) for key in keys]
        (_, shortest), *others = sorted(zip(lengths, keys, strict=True))
        since = "-inf" if self._expire_s is None else now - self._expire_s * 1_000
        found = dict[str, None]()
        first = 0
        while page := await self._store.ask("ZRANGE", shortest, "+inf", since, "BYSCORE", "REV", "LIMIT", first, PAGE):
            first += len(page)
            race_ids = texts(page)
            for _, key in others:
                scores = await self._store.ask("ZMSCORE", key, *race_ids) if race_ids else ()
                race_ids = [race_id for race_id, score in zip(race_ids, scores, strict=True) if score is not None]
            found |= dict.fromkeys(race_id for race_id in race_ids if race_id not in self._hidden)
        return list(found)

    async def results(self, race_ids: Sequence[str]) -> AsyncIterator[tuple[str, RaceResult | None]]:
        """Yield the id and result of each race; None if it has expired or cannot be read. Raises as ``Store.ask``."""
        for start in range(0, len(race_ids), BATCH):
            batch = race_ids[start : start + BATCH]
            for race_id, found in (await stored_replays.summaries(self._store, batch)).items():
                if isinstance(found, Summary):
                    yield race_id, RaceResult.of(found.header, found.ended_at, found.racers)
                else:
                    yield race_id, None


def listing(keys: Iterable[str], race_id: str, ended_at: int, expire_s: int | None) -> Iterator[tuple[Word, ...]]:
    """Yield the commands that add a race to lists of finished races, and remove those that expired before it ended."""
    for key in keys:
        yield "ZADD", key, ended_at, race_id
        if expire_s is not None:
            yield "ZREMRANGEBYSCORE", key, "-inf", f"({ended_at - 1_000 * expire_s}"
            yield "EXPIRE", key, expire_s


def _key(player: str, *, unlisted: bool) -> str:
    return f"{UNLISTED if unlisted else LISTED}:{player}"
