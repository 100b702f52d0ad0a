"""Finished races are archived as replays, and can be found."""

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Moved
from samedeal.wire.views import view
from samedeal_server.store import stored_replays
from samedeal_server.store.archive import Search
from samedeal_server.store.chained_logs import LINGER_S
from samedeal_server.work import finished_race
from support.finished_races import finished as played
from support.rooms import LATER_MS, finished, listed, opened
from support.stores import process, seat_for, that, until

pytestmark = pytest.mark.tier(2)


async def test_a_finished_race_is_archived_as_a_replay_that_verifies(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        room = await finished(parts)
        race = room.race
        entries = await parts.log.read(race.id)
        replay = await parts.archive.replay(race.id)
        assert replay
        assert [fact.name for fact in verify(replay) if not fact.holds] == []
        assert (replay.header, list(replay.entries), replay.standings) == (race.header, entries, race.standings())
        assert await parts.archive.has(race.id)
        assert all(0 < redis.ttl(f"race:{{{race.id}}}:{part}") <= LINGER_S for part in ("log", "head"))
        assert redis.ttl(f"replay:{{{race.id}}}") == -1
        assert await listed(parts) == []
        assert not redis.exists("races:due")
    async with process(redis_url) as later:
        redis.delete(*(f"race:{{{race.id}}}:{part}" for part in ("log", "head")))
        assert (await later.registry.room(race.id)).race == race
        with pytest.raises(Refused) as refused:
            await (await later.registry.room(race.id)).submit(that(Moved(seat=1, move="draw")))
        assert refused.value.code == "race-over"


async def test_a_cancelled_race_is_archived_but_not_listed(redis_url: str) -> None:
    async with process(redis_url) as before:
        room = await opened(before)
        await room.submit(seat_for(1))
    async with process(redis_url, ahead_ms=LATER_MS) as after:
        again = await after.registry.room(room.race.id)
        await until(lambda: again.is_archived)
        assert again.race.stage == "cancelled"
        assert await after.archive.has(room.race.id)
        for search in (Search(), Search(player="player-1")):
            assert await after.archive.search(search, after.clock.now()) == []


@pytest.mark.tier(1)
@pytest.mark.parametrize("slug", GAMES)
def test_a_finished_race_looks_the_same_wherever_its_log_was_folded(slug: str) -> None:
    replay = played(slug)
    *_, race = replay.races()
    stored = stored_replays.encode(race, replay.entries, replay.signature)
    again = finished_race.decode(finished_race.encode(finished_race.folded(stored)))
    for seat in (None, 1, 2):
        assert view(again, seat, race.at, header=True) == view(race, seat, race.at, header=True)
    assert [seat.player for seat in again.seats] == [seat.player for seat in race.seats]


async def test_replays_expire_after_the_configured_days(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, replay_days=3) as parts:
        room = await finished(parts)
        assert 3 * 86_400 - 60 < redis.ttl(f"replay:{{{room.race.id}}}") <= 3 * 86_400
        newer = [await finished(parts) for _ in range(3)]
        redis.delete(*(f"replay:{{{expired.race.id}}}" for expired in newer))
        for search in (Search(limit=1), Search(game="corners", limit=1)):
            assert [ended.race for ended in await parts.archive.search(search, parts.clock.now())] == [room.race.id]
        assert redis.zcard("replays") == redis.zcard("replays:game:corners") == 1
        lists = [f"replays{kind}" for kind in ("", ":game:corners", f":deal:{room.race.deal}", ":player:player-1")]
        for key in lists:
            redis.zadd(
                key, {"expired": room.race.at - 3 * 86_400_000 - 1, "not expired": room.race.at - 2 * 86_400_000}
            )
        await parts.archive.index(room.race)
        for key in lists:
            assert (redis.zscore(key, "expired"), redis.zscore(key, "not expired") is None) == (None, False), key
