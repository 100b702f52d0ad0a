"""The hall: races are created, found again, looked after when nobody is there, and kept when they are over."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs
from redis import Redis

from finished import nonce
from racing import opened as opened_by_hand
from samedeal.catalogue import GAMES
from samedeal.errors import Refused
from samedeal.log import Closed, Moved, Options, Resigned
from samedeal.race import OPEN_MS
from samedeal.verification import verify
from samedeal_server import hall as halls
from samedeal_server.archive import Search
from samedeal_server.clock import Clock
from samedeal_server.hall import RACE_ID, Hall, checked_game
from samedeal_server.live_races import RaceFilter
from samedeal_server.log import LINGER_S
from samedeal_server.room import Room
from stores import KEY, Process, contents, holds, process, run, seat_for, that, until


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as redis:
        yield redis


async def opened(parts: Process, slug: str = "corners", seed: str | None = None, **options: Any) -> Room:
    chosen = Options(**{"limit_ms": 60_000, "start_delay_ms": 30, **options})
    return await parts.hall.create(GAMES[slug], {}, seed, chosen)


async def finished(parts: Process, slug: str = "corners", seed: str | None = None, **options: Any) -> Room:
    """A race of two that is over and kept."""
    room = await opened(parts, slug, seed, **options)
    await run(room)
    for seat in (1, 2):
        await room.submit(that(Moved(seat=seat, move=GAMES[slug].from_seed(room.race.seed or "").moves()[0])))
        await room.submit(that(Resigned(seat=seat)))
    await until(lambda: room.kept)
    return room


class Later(Clock):
    """A clock that is a day and an hour ahead: for everything to be long overdue."""

    def now(self) -> int:
        return super().now() + OPEN_MS + 3_600_000


async def refusal(race: str, hall: Hall) -> str:
    with pytest.raises(Refused) as refused:
        await hall.room(race)
    return refused.value.code


# Creating.


async def test_a_new_race_has_a_name_one_can_say_and_a_secret_of_its_own(redis_url: str) -> None:
    async with process(redis_url) as parts:
        one, other = await opened(parts), await opened(parts)
        for room in (one, other):
            assert re.fullmatch(r"[a-z]+-[a-z]+-\d{4}", room.race.id)
            assert RACE_ID.fullmatch(room.race.id)
            assert await parts.log.header(room.race.id) == room.race.header
            assert await parts.log.head(room.race.id) == (0, room.race.digest)
        assert one.race.id != other.race.id
        assert one.race.secret != other.race.secret
        assert one.race.header.commitment != other.race.header.commitment


async def test_the_store_never_holds_the_secret_of_a_race_that_is_not_over(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        await run(room)
        await room.submit(that(Moved(seat=1, move="draw")))
        assert holds(redis, nonce(1).hex())
        assert holds(redis, room.race.header.commitment)
        for secret in (room.race.secret, KEY):
            assert not holds(redis, secret)
            assert not holds(redis, secret.hex())
        for seat in (1, 2):
            await room.submit(that(Resigned(seat=seat)))
        await until(lambda: holds(redis, room.race.secret.hex()))


async def test_an_id_that_is_taken_is_not_given_again(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(redis_url) as parts:
        numbers = iter([1, 1, 2, 2, 2, 3])
        monkeypatch.setattr(halls, "choice", lambda words: words[0])
        monkeypatch.setattr(halls, "randbelow", lambda limit: next(numbers))
        first, second = await opened(parts), await opened(parts)
        kept = second.race.id
        await run(second)
        for seat in (1, 2):
            await second.submit(that(Resigned(seat=seat)))
        await until(lambda: second.kept)
        await parts.store.ask("DEL", f"race:{{{kept}}}:head", f"race:{{{kept}}}:log")
        third = await opened(parts)
        assert [room.race.id[-4:] for room in (first, second, third)] == ["1001", "1002", "1003"]


@pytest.mark.parametrize(
    ("slug", "variant", "seed"),
    [
        ("corners", {"cap": True}, None),
        ("corners", {"refill": "bin"}, None),
        ("corners", {"refill": True}, None),
        ("gallery", {"cap": "True"}, None),
        ("gallery", {"cap": 1}, None),
        ("corners", {}, "a|b"),
    ],
)
async def test_what_a_game_does_not_have_is_refused(
    redis_url: str, redis: Redis, slug: str, variant: dict[str, Any], seed: str | None
) -> None:
    async with process(redis_url) as parts:
        with pytest.raises(Refused) as refused:
            await parts.hall.create(GAMES[slug], variant, seed, Options(limit_ms=60_000))
        assert refused.value.code == "bad-request"
        assert redis.keys() == []


def test_a_game_is_known_by_its_slug() -> None:
    assert checked_game("corners") is GAMES["corners"]
    with pytest.raises(Refused, match="whist") as refused:
        checked_game("whist")
    assert refused.value.code == "not-found"


# Finding.


async def test_a_race_is_found_by_every_process_as_it_stands(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        room = await opened(here)
        assert await here.hall.room(room.race.id) is room
        await run(room)
        found = await there.hall.room(room.race.id)
        assert found.race == room.race
        assert await there.hall.room(room.race.id) is found


async def test_who_asks_at_once_gets_the_same_room(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        race = (await opened(here)).race.id
        rooms = await asyncio.gather(*(there.hall.room(race) for _ in range(10)))
        assert len(set(rooms)) == 1


async def test_who_stops_waiting_for_a_room_takes_it_from_nobody(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        race = (await opened(here)).race.id
        first, second = (asyncio.create_task(there.hall.room(race)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).race.id == race
        assert first.cancelled()


@pytest.mark.parametrize(
    "race",
    [
        *("", "*", "calm-otter-9999", "x" * 64, "x" * 65, "Calm-Otter-1000", "calm_otter", "calm otter"),
        *("a}", "{a", "a}:log", "}:head\r\nFLUSHALL\r\n", "a\n", "../a", "a:b", "é", "\0", "[a-z]", "?"),
    ],
)
async def test_there_is_no_race_of_that_name(redis_url: str, redis: Redis, race: str) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        redis.set("race:{}:head", "bait")
        redis.set("bait", "bait")
        redis.config_resetstat()
        assert await refusal(race, parts.hall) == "not-found"
        asked = "cmdstat_hget" in redis.info("commandstats")
        assert asked == (re.fullmatch("[a-z0-9-]{1,64}", race) is not None)
        assert redis.get("bait") == b"bait"
        assert await parts.hall.room(room.race.id) is room


async def test_a_race_of_another_key_is_not_opened(redis_url: str) -> None:
    """A server that was given a wrong master key refuses, and writes nothing of its own into the log."""
    async with process(redis_url) as parts:
        foreign = opened_by_hand(race_id="foreign-race-1").race
        assert await parts.log.create(foreign.header, foreign.digest)
        assert await refusal("foreign-race-1", parts.hall) == "bad-replay"
        assert await parts.log.head("foreign-race-1") == (0, foreign.digest)


# Looking after.


async def listed(parts: Process, **wanted: Any) -> list[str]:
    """The ids of the live races in a list."""
    found, _ = await parts.hall.live.listed(RaceFilter(**wanted))
    return [race.race for race in found]


async def test_a_race_whose_time_passed_while_nobody_was_there_is_closed(redis_url: str) -> None:
    async with process(redis_url) as before:
        ended = await opened(before)
        await run(ended)
        await ended.submit(that(Moved(seat=1, move="draw")))
        waiting = await opened(before)
        await waiting.submit(seat_for(1))
        races = ended.race, waiting.race
    async with process(redis_url, started=True, clock=Later) as after:
        rooms = [await after.hall.room(race.id) for race in races]
        await until(lambda: all(room.race.closed for room in rooms))
        assert [room.race.stage for room in rooms] == ["over", "cancelled"]
        await until(lambda: all(room.kept for room in rooms))
        assert await listed(after) == []


async def test_a_running_race_that_nobody_follows_needs_no_room(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halls, "SWEPT_EVERY_S", 0.02)
    async with process(redis_url, started=True) as here:
        room = await opened(here)
        await run(room)
        await until(lambda: room.race.id not in here.hall._rooms)
        again = await here.hall.room(room.race.id)
        assert again is not room
        assert again.race == room.race


async def test_overdue_races_are_found_without_anybody_asking_for_them(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as before:
        room = await opened(before)
        await run(room)
        race = room.race.id
    assert not redis.exists(f"replay:{{{race}}}")
    async with process(redis_url, started=True, clock=Later) as after:
        await until(lambda: redis.exists(f"replay:{{{race}}}"))
        await until(lambda: not redis.exists("races:due"))
        replay = await after.archive.replay(race)
        assert replay
        assert isinstance(replay.entries[-1].event, Closed)
        assert [racer.outcome for racer in replay.standings] == ["timeout", "timeout"]


async def test_two_processes_that_close_the_same_race_write_one_closing(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as before:
        room = await opened(before)
        await run(room)
        race = room.race.id
    async with process(redis_url, started=True, clock=Later), process(redis_url, started=True, clock=Later) as after:
        await until(lambda: redis.exists(f"replay:{{{race}}}"))
        await until(lambda: redis.ttl(f"race:{{{race}}}:log") > 0)
        entries = await after.log.read(race)
        assert [isinstance(entry.event, Closed) for entry in entries[-2:]] == [False, True]
        replay = await after.archive.replay(race)
        assert replay
        assert list(replay.entries) == entries


async def test_an_overdue_race_that_cannot_be_opened_is_forgotten(
    redis_url: str, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis.zadd("races:due", {"no-such-race-1": 1})
    async with process(redis_url, started=True) as parts:
        await until(lambda: not redis.exists("races:due"))
        room = await opened(parts)
        await room.submit(seat_for(1))
    assert "no-such-race-1" in [getattr(record, "race", None) for record in caplog.records]


async def test_a_race_that_is_kept_and_noted_as_live_again_by_a_late_command_is_taken_from_the_live_ones(
    redis_url: str, redis: Redis
) -> None:
    async with process(redis_url, started=True) as parts:
        race = (await finished(parts)).race.id
        redis.zadd("races:due", {race: 1})
        await until(lambda: not redis.exists("races:due"))
        assert await parts.archive.has(race)


@pytest.mark.parametrize("lost", ["all of it", "the replay"])
async def test_a_store_that_went_back_behind_the_end_of_a_race_is_given_it_again_before_it_is_forgotten(
    lost: str, redis_url: str, redis: Redis
) -> None:
    async with process(redis_url, started=True) as parts:
        room = await finished(parts)
        race, text = room.race.id, redis.get(f"replay:{{{room.race.id}}}")
        redis.delete(*(redis.keys() if lost == "all of it" else [f"replay:{{{race}}}"]))
        await until(lambda: redis.exists(f"replay:{{{race}}}"))
        assert redis.get(f"replay:{{{race}}}") == text


async def test_a_race_that_is_kept_is_over_even_where_the_end_of_its_log_is_lost(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as before:
        race = (await finished(before)).race
        head = await before.log.head(race.id)
        entries = await before.log.read(race.id)
        redis.xdel(f"race:{{{race.id}}}:log", f"{head[0]}-0")
        redis.hset(f"race:{{{race.id}}}:head", mapping={"n": head[0] - 1, "h": entries[-2].h})
    async with process(redis_url) as after:
        room = await after.hall.room(race.id)
        assert room.race == race
        assert room.kept


async def test_a_race_that_waits_and_was_lost_is_written_again_before_its_room_is_forgotten(
    redis_url: str, redis: Redis
) -> None:
    async with process(redis_url, started=True) as parts:
        room = await opened(parts)
        await room.submit(seat_for(1))
        redis.flushall()
        await until(lambda: redis.exists(f"race:{{{room.race.id}}}:log"))
        assert await parts.log.head(room.race.id) == (1, room.race.digest)


async def test_a_race_that_cannot_be_read_stops_no_other(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, started=True) as parts:
        bad, good = await opened(parts), await opened(parts)
        await until(lambda: redis.zcard("races:due") == 2)
        redis.xadd(f"race:{{{bad.race.id}}}:log", {"e": '[1,1,{"t":"unheard-of"}]', "h": "0" * 64}, id="1-0")
        redis.hset(f"race:{{{bad.race.id}}}:head", mapping={"n": 1, "h": "0" * 64})
        redis.zadd("races:due", {bad.race.id: 1})
        async with process(redis_url, started=True) as other:
            assert (await other.hall.room(good.race.id)).race.n == 0
            await good.submit(seat_for(1))
            there = await other.hall.room(good.race.id)
            await until(lambda: there.race.n == 1)
            assert good.race.id in await listed(other)
            with pytest.raises(Refused) as refused:
                await other.hall.room(bad.race.id)
            assert refused.value.code == "unsupported-version"
            await until(lambda: (redis.zscore("races:due", bad.race.id) or 0) > 1)


async def test_a_process_follows_what_another_does(redis_url: str) -> None:
    async with process(redis_url, started=True) as here, process(redis_url, started=True) as there:
        mine = await opened(here)
        theirs = await there.hall.room(mine.race.id)
        await run(mine)
        await until(lambda: theirs.race == mine.race)
        for seat in (1, 2):
            await theirs.submit(that(Resigned(seat=seat)))
        await until(lambda: mine.race.closed)
        await until(lambda: mine.kept and theirs.kept)


# Lists.


async def test_the_newest_live_races_are_listed_but_not_the_unlisted(redis_url: str) -> None:
    async with process(redis_url) as here, process(redis_url) as there:
        rooms = []
        for unlisted in (False, True, False, False):
            rooms.append(await opened(here, unlisted=unlisted))
            await until(lambda: here.clock.now() > rooms[-1].race.header.opened_at)
        names = [room.race.id for room in rooms]
        for parts in (here, there):
            assert await listed(parts) == [names[3], names[2], names[0]]
            assert await listed(parts, limit=2) == [names[3], names[2]]


async def test_a_finished_race_is_kept_as_a_replay_that_proves_it(redis_url: str, redis: Redis) -> None:
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
        assert (await later.hall.room(race.id)).race == race
        with pytest.raises(Refused) as refused:
            await (await later.hall.room(race.id)).submit(that(Moved(seat=1, move="draw")))
        assert refused.value.code == "race-over"


async def test_finished_races_are_found_by_game_player_and_deal(redis_url: str) -> None:
    async with process(redis_url) as parts:
        corners = await finished(parts)
        again = await finished(parts, seed="42")
        gallery = await finished(parts, "gallery", seed="42")
        hidden = await finished(parts, unlisted=True)
        names = [room.race.id for room in (gallery, again, corners)]

        async def found(**by: Any) -> list[str]:
            return [ended.race for ended in await parts.archive.search(Search(**by), parts.clock.now())]

        assert await found() == names
        assert await found(game="corners") == names[1:]
        assert await found(game="gallery") == names[:1]
        assert await found(game="the-edge") == await found(game="*") == []
        assert await found(deal="corners:42") == [again.race.id]
        assert await found(deal=corners.race.deal) == [corners.race.id]
        assert await found(player="player-1") == await found(player="player-2") == names
        assert await found(player="player-3") == []
        assert await found(limit=2) == names[:2]
        assert await found(before=corners.race.id) == []
        assert await found(before=gallery.race.id, limit=1) == [again.race.id]
        with pytest.raises(Refused) as refused:
            await found(game="corners", player="player-1")
        assert refused.value.code == "bad-request"
        (ended,) = await parts.archive.search(Search(deal=corners.race.deal), parts.clock.now())
        assert (ended.game, ended.deal, ended.ended_at) == ("corners", corners.race.deal, corners.race.at)
        assert ended.standings == corners.race.standings()
        assert await parts.archive.has(hidden.race.id)


async def test_keeping_a_race_again_changes_nothing(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        room = await finished(parts)
        before = contents(redis)
        await parts.archive.keep(room.race, await parts.log.read(room.race.id))
        assert contents(redis) == before


async def test_a_race_that_was_called_off_is_kept_but_not_listed(redis_url: str) -> None:
    async with process(redis_url) as before:
        room = await opened(before)
        await room.submit(seat_for(1))
    async with process(redis_url, clock=Later) as after:
        again = await after.hall.room(room.race.id)
        await until(lambda: again.kept)
        assert again.race.stage == "cancelled"
        assert await after.archive.has(room.race.id)
        for search in (Search(), Search(player="player-1")):
            assert await after.archive.search(search, after.clock.now()) == []


async def test_replays_may_be_kept_for_a_time_only(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, replay_days=3) as parts:
        room = await finished(parts)
        assert 3 * 86_400 - 60 < redis.ttl(f"replay:{{{room.race.id}}}") <= 3 * 86_400
        newer = [await finished(parts) for _ in range(3)]
        redis.delete(*(f"replay:{{{expired.race.id}}}" for expired in newer))
        for search in (Search(limit=1), Search(game="corners", limit=1)):
            assert [ended.race for ended in await parts.archive.search(search, parts.clock.now())] == [room.race.id]
        assert redis.zcard("replays") == redis.zcard("replays:game:corners") == 1


async def test_a_header_is_not_believed_with_another_races_log(redis_url: str) -> None:
    """Entries belong to their race: a log that was put under another header is refused."""
    async with process(redis_url) as parts:
        room, other = await opened(parts), await opened(parts)
        await run(room)
        entries = await parts.log.read(room.race.id)
        await parts.log.append(other.race.id, other.race.digest, [structs.replace(entry) for entry in entries])
    async with process(redis_url) as later:
        assert await refusal(other.race.id, later.hall) == "bad-replay"


# The clock.


async def test_the_clock_is_the_stores(redis_url: str, redis: Redis) -> None:
    async with process(redis_url) as parts:
        seconds, micros = redis.time()
        assert abs(parts.clock.now() - (seconds * 1000 + micros // 1000)) < 200
        times = [parts.clock.now() for _ in range(1000)]
        assert times == sorted(times)
