"""Personal scores and head-to-head records: which races count for whom, and what is read from the store."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import pytest
from redis import Redis

from samedeal.day import DAY_MS
from samedeal.errors import Refused
from samedeal.race.server_bots import server_bot_id
from samedeal.scores.tallies import Versus
from samedeal.wire.documents import PlayerPage
from samedeal_server.live.player_records import MAX_CACHED, MOST_RACES, Newest, Players
from samedeal_server.store import player_races, stored_replays
from support.archived_races import archive, guest, race_of
from support.finished_races import OPENED_AT
from support.stores import Process, calls, process

pytestmark = pytest.mark.tier(2)

T = TypeVar("T")


@pytest.fixture
async def parts(redis_url: str) -> AsyncIterator[Process]:
    async with process(redis_url) as parts:
        parts.clock.at = OPENED_AT + DAY_MS
        yield parts


@pytest.fixture
def players(parts: Process, monkeypatch: pytest.MonkeyPatch) -> Players:
    """The players of a process that looks for new races each time."""
    monkeypatch.setattr("samedeal_server.live.player_records.FRESH_S", 0.0)
    return Players(parts.archive, parts.clock)


async def page(players: Players, number: int, viewer: int | None = None, limit: int = 20) -> PlayerPage:
    viewing = None if viewer is None else guest(viewer)
    return await players.get(guest(number).player, viewing, Newest(limit=limit))


async def seen(players: Players, number: int, viewer: int | None = None) -> set[str]:
    """The races in the document of a player."""
    found: PlayerPage | None = await unless_not_found(page(players, number, viewer))
    assert found is None or found.scores.races == len(found.races)
    return {result.race for result in found.races} if found else set()


async def record(players: Players, one: int, other: int, viewer: int | None = None) -> Versus | None:
    viewing = None if viewer is None else guest(viewer)
    return await unless_not_found(players.versus(guest(one).player, guest(other).player, viewing))


async def unless_not_found(document: Awaitable[T]) -> T | None:
    try:
        return await document
    except Refused as refused:
        if refused.code != "not-found":
            raise
        return None


async def test_scores_count_a_players_races(parts: Process, players: Players) -> None:
    await archive(parts, "a", 1, 2)
    await archive(parts, "b", 2, 1, 3, slug="gallery", at=10_000)
    await archive(parts, "c", 1, daily=True, at=20_000)
    found = await page(players, 1)
    assert [result.race for result in found.races] == ["c", "b", "a"]
    assert [racer.player for racer in found.races[1].racers] == ["player-2", "player-1", "player-3"]
    scores = found.scores
    assert (scores.name, scores.races, scores.wins, scores.streak) == ("Name 1", 3, 1, 1)
    assert [(game.game, game.races, game.wins) for game in scores.games] == [("corners", 2, 1), ("gallery", 1, 0)]
    assert [result.race for result in (await page(players, 1, limit=1)).races] == ["c"]
    versus = await record(players, 1, 2)
    assert versus
    assert (versus.name, versus.other_name, versus.ahead, versus.behind) == ("Name 1", "Name 2", 1, 1)
    assert [game.game for game in versus.games] == ["corners", "gallery"]


async def test_the_streak_ends_with_the_clock(parts: Process, players: Players) -> None:
    await archive(parts, "a", 1, daily=True)
    streaks = []
    for days in (0, 1, 2):
        parts.clock.at = OPENED_AT + days * DAY_MS
        streaks.append((await page(players, 1)).scores.streak)
    assert streaks == [1, 1, 0]


async def test_unlisted_races_are_seen_only_by_those_who_raced_in_them(parts: Process, players: Players) -> None:
    await archive(parts, "listed", 1, 2)
    await archive(parts, "hidden-12", 1, 2, unlisted=True)
    await archive(parts, "hidden-13", 1, 3, unlisted=True)
    await archive(parts, "hidden-1", 1, unlisted=True, daily=True)
    await archive(parts, "hidden-123", 1, 2, 3, unlisted=True)
    everything = {"listed", "hidden-12", "hidden-13", "hidden-1", "hidden-123"}
    assert await seen(players, 1) == await seen(players, 1, viewer=4) == {"listed"}
    assert await seen(players, 1, viewer=1) == everything
    assert await seen(players, 1, viewer=2) == {"listed", "hidden-12", "hidden-123"}
    assert await seen(players, 1, viewer=3) == {"listed", "hidden-13", "hidden-123"}
    assert await seen(players, 3) == set()
    assert await seen(players, 3, viewer=2) == {"hidden-123"}
    counts = {viewer: found.races for viewer in (None, 1, 2, 3, 4) if (found := await record(players, 1, 2, viewer))}
    assert counts == {None: 1, 1: 3, 2: 3, 3: 2, 4: 1}
    assert [await record(players, 3, 1, viewer) is None for viewer in (None, 1, 2, 3, 4)] == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert (await page(players, 1)).scores.longest_streak == 0


async def test_unknown_players_are_not_found(parts: Process, players: Players) -> None:
    await archive(parts, "a", 1, 2)
    await archive(parts, "b", 2, 3)
    for refusing in (page(players, 9), page(players, 9, viewer=1)):
        with pytest.raises(Refused, match="This player has no finished races") as refused:
            await refusing
        assert refused.value.code == "not-found"
    with pytest.raises(Refused, match="Server bots have no page"):
        await players.get(server_bot_id("Deuce"), None, Newest())
    own = await page(players, 9, viewer=9)
    assert (own.scores.name, own.scores.races, own.races) == ("Guest 9", 0, ())
    assert await record(players, 1, 3) is None
    assert await record(players, 1, 1) is None


async def test_only_new_results_are_read(
    parts: Process, players: Players, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def heads() -> int:
        redis.config_resetstat()
        await page(players, 1, viewer=2)
        return calls(redis, "getrange")

    for number in range(3):
        await archive(parts, f"race-{number}", 1, 2, unlisted=number == 2)
    assert await heads() == 3
    assert await heads() == 0
    await archive(parts, "race-3", 1, 2)
    assert await heads() == 1
    await archive(parts, "race-4", 1, 2)
    monkeypatch.setattr("samedeal_server.live.player_records.FRESH_S", 3600.0)
    redis.config_resetstat()
    assert (await page(players, 1, viewer=2)).scores.races == 4
    assert calls(redis, "getrange") == calls(redis, "zrange") == calls(redis, "zcard") == 0


async def test_requests_at_the_same_time_read_results_once(parts: Process, players: Players, redis: Redis) -> None:
    for number in range(5):
        await archive(parts, f"race-{number}", 1, 2)
    redis.config_resetstat()
    pages = await asyncio.gather(*(page(players, 1) for _ in range(10)))
    assert {found.scores.races for found in pages} == {5}
    assert calls(redis, "getrange") == 5


async def test_the_least_recently_used_scores_are_dropped(parts: Process, players: Players, redis: Redis) -> None:
    await archive(parts, "a", *range(1, 5))

    async def heads(*numbers: int) -> int:
        redis.config_resetstat()
        for number in numbers:
            await seen(players, number)
        return calls(redis, "getrange")

    assert await heads(1, 2) == 2
    assert await heads(*range(100, 100 + MAX_CACHED - 2), 1, 999) == 0
    assert await heads(1) == 0
    assert await heads(2) == 1


async def test_expired_races_no_longer_count(redis_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_server.live.player_records.FRESH_S", 0.0)
    async with process(redis_url, replay_days=3) as parts:
        players = Players(parts.archive, parts.clock)
        for day in range(4):
            await archive(parts, f"race-{day}", 1, 2, at=day * DAY_MS)
            await archive(parts, f"hidden-{day}", 1, 2, at=day * DAY_MS, unlisted=True)
        counts = []
        for day in (2, 3, 4, 7):
            parts.clock.at = OPENED_AT + day * DAY_MS + DAY_MS // 2
            found = await record(players, 1, 2, viewer=1)
            counts.append(((await page(players, 1, viewer=1)).scores.races, found.races if found else 0))
        assert counts == [(8, 8), (6, 6), (4, 4), (0, 0)]
        for key in ("replays:player:player-1", "replays:unlisted:player-1"):
            assert 0 < redis.ttl(key) <= 3 * 86_400
        redis.delete("replay:{race-3}")
        parts.clock.at = OPENED_AT + 2 * DAY_MS
        fresh = Players(parts.archive, parts.clock)
        assert await seen(fresh, 1) == {"race-0", "race-1", "race-2"}


async def test_damaged_races_are_skipped(parts: Process, players: Players, redis: Redis) -> None:
    for number in range(3):
        await archive(parts, f"race-{number}", 1, 2)
    redis.setrange("replay:{race-0}", 40, b"damaged" * 10)
    redis.set("replay:{race-1}", b"{}")
    assert await seen(players, 1) == {"race-2"}


async def test_a_store_that_fails_while_results_are_read_loses_none(
    parts: Process, players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player_races, "BATCH", 2)
    for number in range(7):
        await archive(parts, f"race-{number}", 1, 2)
    starts, reads = parts.store.starts, 0

    async def fails_once(keys: list[str], count: int) -> list[bytes]:
        nonlocal reads
        reads += 1
        if reads == 3:
            raise Refused("store-unavailable")
        return await starts(keys, count)

    monkeypatch.setattr(parts.store, "starts", fails_once)
    with pytest.raises(Refused) as refused:
        await page(players, 1)
    assert refused.value.code == "store-unavailable"
    assert (await page(players, 1)).scores.races == 7


async def test_folding_many_races_lets_other_tasks_run(
    parts: Process, players: Players, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two turns of the event loop, the process decodes at most one batch."""
    log = race_of("race-0", 1, 2)
    signature = parts.archive.signing_keys.sign(log.race.id, log.race.digest)
    with redis.pipeline() as pipeline:
        for number in range(1_000):
            pipeline.set(f"replay:{{race-{number}}}", stored_replays.encode(log.race, log.entries, signature))
            pipeline.zadd("replays:player:player-1", {f"race-{number}": number})
        pipeline.execute()
    turns, decoded = 0, Counter[int]()
    summary = stored_replays.summary

    def counted(start: bytes) -> object:
        decoded[turns] += 1
        return summary(start)

    async def ticking() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(stored_replays, "summary", counted)
    ticker = asyncio.create_task(ticking())
    found = await page(players, 1, limit=MOST_RACES)
    ticker.cancel()
    assert (found.scores.races, len(found.races), decoded.total()) == (1_000, MOST_RACES, 1_000)
    assert max(decoded.values()) <= player_races.BATCH


async def test_a_record_over_200_races_reads_only_those_of_10_000(
    parts: Process, players: Players, redis: Redis
) -> None:
    """The two race against others as well, in listed and in unlisted races."""
    with redis.pipeline() as pipeline:
        other = b""
        for number in range(10_000):
            race_id, both, unlisted = f"race-{number}", number % 50 == 0, number % 100 >= 50
            pair = (1, 2) if both else (1 + number % 2, 3)
            if both or not other:  # the others are never read, so that they can be copies
                log = race_of(race_id, *pair[:: 1 if number % 3 else -1], unlisted=unlisted)
                signature = parts.archive.signing_keys.sign(log.race.id, log.race.digest)
                data = stored_replays.encode(log.race, log.entries, signature)
                other = other or data
            pipeline.set(f"replay:{{{race_id}}}", data if both else other)
            for player in pair:
                pipeline.zadd(f"replays:{'unlisted' if unlisted else 'player'}:player-{player}", {race_id: number})
        pipeline.execute()
        for viewer, count in ((1, 200), (2, 200), (None, 100), (3, 100)):
            redis.config_resetstat()
            found = await record(players, 1, 2, viewer)
            assert found
            assert (found.races, found.ahead + found.behind, found.tied) == (count, count, 0)
            assert calls(redis, "getrange") <= count
            assert calls(redis, "get") == 0
